package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kxtools/kx/pkg/wire"
)

// patient bounds what takes a moment, on a machine that is busy with other things.
const patient = 2 * time.Minute

// terminal is a window of tmux, on a server of its own.
type terminal struct {
	*house
	socket string
}

// opens opens a terminal in which a shell runs a line.
func (c *house) opens(width, height int, line string) *terminal {
	c.Helper()
	s := &terminal{c, filepath.Join(c.runtime, "tmux")}
	c.Cleanup(func() { _ = exec.Command("tmux", "-S", s.socket, "kill-server").Run() })
	s.tmux("-f", "/dev/null", "-u", "new-session", "-d", "-x", strconv.Itoa(width), "-y", strconv.Itoa(height), "sh", "-c", line)
	return s
}

func (s *terminal) tmux(args ...string) string {
	s.Helper()
	cmd := exec.Command("tmux", append([]string{"-S", s.socket}, args...)...)
	cmd.Dir = s.work
	cmd.Env = append(s.command("").Env, "PATH="+s.bin+":"+os.Getenv("PATH"), "LC_ALL=C.UTF-8", "TERM=xterm", "SHELL=/bin/sh")
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.Fatalf("tmux %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// types presses keys, as tmux calls them.
func (s *terminal) types(keys ...string) { s.tmux(append([]string{"send-keys", "--"}, keys...)...) }

// writes types a text.
func (s *terminal) writes(text string) { s.tmux("send-keys", "-l", "--", text) }

// screen is what stands on it.
func (s *terminal) screen() string { return s.tmux("capture-pane", "-p") }

// until waits for texts on the screen.
func (s *terminal) until(texts ...string) string {
	s.Helper()
	for deadline := time.Now().Add(patient); ; time.Sleep(10 * time.Millisecond) {
		shown, missing := s.screen(), ""
		for _, text := range texts {
			if !strings.Contains(shown, text) {
				missing = text
			}
		}
		if missing == "" {
			return shown
		}
		if time.Now().After(deadline) {
			s.Fatalf("%q does not come:\n%s", missing, shown)
		}
	}
}

// decides presses a key that decides until the screen says so: on a busy machine what
// is under it may have changed just now.
func (s *terminal) decides(key, says string) {
	s.Helper()
	for deadline := time.Now().Add(patient); ; {
		time.Sleep(400 * time.Millisecond) // what the quiet rule asks of a person
		s.types(key)
		for look := time.Now().Add(3 * time.Second); time.Now().Before(look); time.Sleep(10 * time.Millisecond) {
			shown := s.screen()
			if strings.Contains(shown, says) {
				return
			}
			if strings.Contains(shown, "too quick") || strings.Contains(shown, "wait: ") {
				break
			}
		}
		if time.Now().After(deadline) {
			s.Fatalf("%s does not come to %q:\n%s", key, says, s.screen())
		}
	}
}

// What is another one each time.
var masks = []struct{ what, with string }{
	{`(?m)^(▸ |  )\d+[sm] +`, "${1}AGE   "},
	{`asked \d+[sm] ago ─+`, "asked AGE ago ──"},
	{`(?m)^expires  at .*$`, "expires  at TIME"},
	{`cli-[0-9a-f]+…?`, "SESSION"},
	{`(?m)^sandbox  .*$`, "sandbox  SANDBOX"},
	{`(?m)^(── |✓ |✗ |allow |deny )[a-z2-9]{4,6}\b`, "${1}ID"},
	{`(?m) +$`, ""},
}

// golden compares the screen with a file.
func (s *terminal) golden(name string) {
	s.Helper()
	got := s.screen()
	for _, m := range masks {
		got = regexp.MustCompile(m.what).ReplaceAllString(got, m.with)
	}
	file := filepath.Join("testdata", "live", name+".golden")
	if os.Getenv("KX_UPDATE") != "" {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			s.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			s.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		s.Fatal(err)
	}
	if got != string(want) {
		s.Errorf("%s is\n%s\nwant\n%s", name, got, want)
	}
}

// call is a call that waits in another terminal.
type call struct {
	cmd *exec.Cmd
	out bytes.Buffer
}

// calls makes a call that waits for a person.
func (c *house) calls(tool, input string) *call {
	c.Helper()
	k := &call{cmd: c.command("", "call", "--wait", "5m", tool, input)}
	k.cmd.Stdout, k.cmd.Stderr = &k.out, &k.out
	if err := k.cmd.Start(); err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { _ = k.cmd.Process.Kill() })
	return k
}

// ends expects the exit status of a call and something in what it printed.
func (c *house) ends(k *call, exit int, says string) {
	c.Helper()
	_ = k.cmd.Wait() // the state says it all
	if got := k.cmd.ProcessState.ExitCode(); got != exit || !strings.Contains(k.out.String(), says) {
		c.Errorf("%s exits with %d, want %d and %q:\n%s", k.cmd, got, exit, says, &k.out)
	}
}

func (c *house) file(name, want string) {
	c.Helper()
	if got, err := os.ReadFile(filepath.Join(c.work, name)); string(got) != want {
		c.Errorf("%s has %q, want %q: %v", name, got, want, err)
	}
}

// Two terminals: calls wait in one, a person answers in the other.
func TestApproveOnATerminal(t *testing.T) {
	c := newHouse(t, built(t))
	editor := filepath.Join(c.home, "edit")
	if err := os.WriteFile(editor, []byte("#!/bin/sh\n[ \"$1\" = --quick ] && sed -i s/three/edited/g \"$2\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := c.opens(80, 24, "VISUAL='"+editor+" --quick' kx approve; echo exit $?; stty -a | grep -o ' icanon'; exec cat")
	s.until("Nothing waits. New requests appear here.")
	s.golden("empty")

	one := c.calls("bash", `{"command":"echo one > one"}`)
	s.until("1 waiting", "echo one > one", "decided")
	s.golden("asks")
	s.decides("a", "allowed once")
	c.ends(one, 0, "")
	c.file("one", "one\n")

	if err := os.WriteFile(filepath.Join(c.work, "two.txt"), []byte("a\nb\nc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	two := c.calls("edit_file", `{"path":"two.txt","old_string":"b","new_string":"B\u202e\u001b[2J "}`)
	s.until("1 waiting", `+B\u202e\x1b[2J`)
	s.golden("diff")
	s.decides("n", "with a note:")
	s.writes("use the staging bucket")
	s.until("with a note: use the staging bucket")
	s.decides("Enter", "denied")
	c.ends(two, 3, "use the staging bucket")
	c.file("two.txt", "a\nb\nc\n")

	three := c.calls("bash", `{"command":"echo three > three"}`)
	s.until("1 waiting", "echo three > three", "decided")
	s.decides("e", "edited; would be: ask")
	s.golden("edited")
	s.decides("a", "allowed with the edited input")
	c.ends(three, 0, "")
	c.file("edited", "edited\n")

	four := c.calls("bash", `{"command":"uname -s"}`)
	s.until("1 waiting", "uname -s", "decided")
	s.decides("A", "add these rules to policy.toml?")
	s.golden("always")
	s.decides("y", "allowed always, with")
	c.ends(four, 0, "")
	policy, err := os.ReadFile(filepath.Join(c.home, "config/policy.toml"))
	if err != nil || !bytes.Contains(policy, []byte("uname -s")) {
		t.Errorf("the policy is %s, %v", policy, err)
	}

	ask := c.calls("ask_user_question", `{"questions":[{"question":"Which database?","options":[{"label":"PostgreSQL"},{"label":"SQLite"}]}]}`)
	s.until("1 waiting", "PostgreSQL")
	s.decides("a", "( ) 1 PostgreSQL")
	s.types("2")
	s.until("(x) 2 SQLite")
	s.decides("Enter", "✓ SQLite")
	s.golden("answers")
	s.decides("Enter", "answered")
	c.ends(ask, 0, "SQLite")

	s.tmux("resize-window", "-x", "120", "-y", "30")
	late := c.calls("bash", `{"command":"echo late > late"}`)
	s.until("SANDBOX", "echo late > late", "decided")
	s.tmux("resize-window", "-x", "50", "-y", "12")
	s.until("1 waiting", "more lines (space)")
	s.tmux("resize-window", "-x", "20", "-y", "5")
	s.until("too small")
	s.tmux("resize-window", "-x", "80", "-y", "24")
	s.until("1 waiting", "[d]eny")
	s.types("h")
	s.until("history, 5 answered")
	s.types("/")
	s.writes("denied")
	s.until("1 of 5")
	s.types("Escape")
	s.until("h] back")
	s.types("h")
	s.until("1 waiting")
	c.killHost() // the next answer starts another one
	s.decides("d", "denied")
	c.ends(late, 3, "")
	next := c.calls("bash", `{"command":"echo next > next"}`)
	s.until("1 waiting", "echo next > next", "decided")
	s.decides("a", "allowed once")
	c.ends(next, 0, "")

	s.types("C-c")
	s.until("exit 130", " icanon", "interrupted")
}

// The terminal is given back as it was, however the screen ends.
func TestApproveGivesTheTerminalBack(t *testing.T) {
	for name, end := range map[string]struct {
		sig  syscall.Signal
		exit string
	}{"terminated": {syscall.SIGTERM, "exit 143"}, "hung up": {syscall.SIGHUP, "exit 143"}, "interrupted": {syscall.SIGINT, "exit 130"}, "left": {0, "exit 0"}} {
		t.Run(name, func(t *testing.T) {
			c := newHouse(t, built(t))
			s := c.opens(80, 24, `echo before; sh -c 'echo $$ >pid; exec kx approve'; echo exit $?; stty -a | grep -o ' icanon'; exec cat`)
			s.until("Nothing waits")
			raw, err := os.ReadFile(filepath.Join(c.work, "pid"))
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
			if err != nil || pid <= 1 {
				t.Fatal(pid, err)
			}
			if end.sig == 0 {
				s.types("q")
			} else if err := syscall.Kill(pid, end.sig); err != nil {
				t.Fatal(err)
			}
			s.until("before", end.exit, " icanon")
		})
	}
}

// Whoever presses a key all the time while requests come answers none that has not
// been under the cursor for 300 ms.
func TestNoKeyHitsWhatHasJustCome(t *testing.T) {
	c := newHouse(t, built(t))
	s := c.opens(80, 24, "kx approve; exec cat")
	s.until("Nothing waits")
	stop := make(chan bool)
	pressed := make(chan bool)
	go func() {
		defer close(pressed)
		for {
			select {
			case <-stop:
				return
			default:
				_ = exec.Command("tmux", "-S", s.socket, "send-keys", "a").Run() // the server may be gone
				time.Sleep(20 * time.Millisecond)
			}
		}
	}()
	const requests = 12
	for i := range requests {
		c.parks("bash", fmt.Sprintf(`{"command":"echo %d"}`, i))
		time.Sleep(50 * time.Millisecond)
	}
	close(stop)
	<-pressed
	out, err := c.command("", "approve", "list", "--all").Output()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range bytes.Lines(out) {
		var a wire.Approval
		if err := json.Unmarshal(line, &a); err != nil {
			t.Fatal(err)
		}
		n++
		if a.DecidedAt != nil && a.DecidedAt.Sub(a.CreatedAt) < 300*time.Millisecond {
			t.Errorf("%s was answered %v after it had come", a.ID, a.DecidedAt.Sub(a.CreatedAt))
		}
	}
	if n != requests {
		t.Errorf("%d requests, want %d", n, requests)
	}
	s.decides("a", "allowed once") // it was no deaf screen
}
