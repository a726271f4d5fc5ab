package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pty opens a terminal.
func pty(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

// hangup as what is typed after the question closes the terminal.
const hangup = "hangup"

// typing runs kx on a terminal on which something is typed before it starts, and
// something when it asks. It returns the exit status and what was shown.
func (c *house) typing(before, after string, args ...string) (exit int, shown string) {
	c.Helper()
	master, slave := pty(c.T)
	if _, err := master.WriteString(before); err != nil {
		c.Fatal(err)
	}
	if before != "" {
		there := []unix.PollFd{{Fd: int32(slave.Fd()), Events: unix.POLLIN}}
		if n, err := unix.Poll(there, 10_000); n != 1 || err != nil {
			c.Fatalf("what was typed does not come: %d, %v", n, err)
		}
	}
	cmd := c.command("", args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		c.Fatal(err)
	}
	slave.Close() // only kx has it
	late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	asked := false
	var all bytes.Buffer
	for b := make([]byte, 4096); ; {
		n, err := master.Read(b)
		all.Write(b[:n])
		if !asked && bytes.Contains(all.Bytes(), []byte(" [y/N] ")) {
			asked = true
			if after == hangup {
				master.Close()
				break
			}
			if _, err := master.WriteString(after); err != nil {
				c.Fatal(err)
			}
		}
		if err != nil { // it has ended
			break
		}
	}
	var ended *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &ended) {
		c.Fatal(err)
	}
	if !asked {
		c.Errorf("kx %s does not ask:\n%s", strings.Join(args, " "), &all)
	}
	return cmd.ProcessState.ExitCode(), all.String()
}

// parks makes a request and returns its id.
func (c *house) parks(tool, input string) string {
	c.Helper()
	out, err := c.command("", "call", tool, input).Output()
	var r struct {
		ApprovalID string `json:"approval_id"`
	}
	if json.Unmarshal(out, &r) != nil || r.ApprovalID == "" {
		c.Fatalf("%s %v", out, err)
	}
	return r.ApprovalID
}

// No key that was typed before a question answers it, whoever asks; what is typed
// when it is there does.
func TestTypedAhead(t *testing.T) {
	c := newHouse(t, built(t))
	if err := os.MkdirAll(filepath.Join(c.work, ".kx"), 0o700); err != nil {
		t.Fatal(err)
	}
	policy := filepath.Join(c.work, ".kx/policy.toml")
	if err := os.WriteFile(policy, []byte("[[rule]]\ntool = \"bash\"\ndecision = \"deny\"\nreason = \"\\u001b\" # \u202e\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	write := c.parks("write_file", `{"path":"a\u001b[2K\u202e","content":"\r\u009b"}`)
	other := c.parks("write_file", `{"path":"b","content":""}`)
	ask := c.parks("ask_user_question", `{"questions":[{"question":"Which?\u001b[2K","options":[{"label":"a\r"},{"label":"b"}]}]}`)
	var a struct{ Session string }
	if out, err := c.command("", "approve", "show", write).Output(); json.Unmarshal(out, &a) != nil {
		t.Fatalf("%s %v", out, err)
	}
	for _, line := range [][]string{
		{"approve", "allow", write}, {"approve", "deny", other}, {"approve", "answer", ask, "--option", "1"},
		{"approve", "deny-all", "--session", a.Session}, {"approve", "allow-all", "--session", a.Session}, {"trust", "add"},
	} {
		name := strings.Join(line, " ")
		for before, after := range map[string]string{"y\n": "\n", "yes\ny\ny\n": "n\n", "": "\x04", "y\ny\n": "\x04", "yes\n": hangup} {
			exit, shown := c.typing(before, after, line...)
			if exit != 3 && (after != hangup || exit == 0) {
				t.Errorf("kx %s with %q before the question and %q after it exits with %d:\n%s", name, before, after, exit, shown)
			}
			if at := wild.FindString(strings.ReplaceAll(shown, "\r\n", "\n")); at != "" {
				t.Errorf("kx %s shows %q of\n%q", name, at, shown)
			}
		}
	}
	for _, id := range []string{write, other, ask} {
		if out, err := c.command("", "approve", "show", id).Output(); err != nil || !bytes.Contains(out, []byte(`"state":"pending"`)) {
			t.Errorf("request %s was answered: %s %v", id, out, err)
		}
	}
	for _, line := range [][]string{{"approve", "deny", other}, {"approve", "answer", ask, "--option", "1"}, {"approve", "allow-all", "--session", a.Session}, {"trust", "add"}, {"trust", "rm"}} {
		if exit, shown := c.typing("n\nn\n", "y\n", line...); exit != 0 {
			t.Errorf("kx %s with a yes exits with %d:\n%s", strings.Join(line, " "), exit, shown)
		}
	}
}

// The command that tells a person of requests writes to their terminal, too.
func TestNotifyIsTame(t *testing.T) {
	c := newHouse(t, built(t))
	c.parks("write_file", `{"path":"a\u001b]0;pwn\u0007\u202e","content":""}`)
	cmd := c.command("", "approve", "watch", "--notify", "jq -r .input.path >&2", "-o", "table")
	cmd.Env = append(cmd.Env, "PATH="+os.Getenv("PATH"))
	errs, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var got string
	for b := make([]byte, 4096); err == nil && !strings.Contains(got, "\n"); {
		var n int
		n, err = errs.Read(b)
		got += string(b[:n])
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	if wild.MatchString(got) || !strings.HasSuffix(got, `/a\x1b]0;pwn\x07\u202e`+"\n") {
		t.Errorf("%q", got)
	}
}
