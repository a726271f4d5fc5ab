package kxdmain_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/kxdmain"
	"github.com/kxtools/kx/internal/cmd/root"
	"github.com/kxtools/kx/pkg/wire"
)

// soon bounds what takes milliseconds, on a slow machine.
const soon = 30 * time.Second

// bin is a folder with this test binary as kx and as kxd, so that the one finds the
// other as it does when installed.
var bin string

func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "kx":
		os.Exit(root.Main(context.Background(), os.Args[1:], term.System(), os.Getenv, "test"))
	case "kxd":
		os.Exit(kxdmain.Main(context.Background(), os.Args[1:], term.System(), os.Getenv, "test"))
	case "model":
		answerFromRules()
		return
	}
	os.Exit(withPrograms(m))
}

func withPrograms(m *testing.M) int {
	var err error
	if bin, err = os.MkdirTemp("", "kx"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(bin)
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"kx", "kxd", "model"} {
		if err := copyFile(self, filepath.Join(bin, name)); err != nil {
			panic(err)
		}
	}
	return m.Run()
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// answerFromRules is a model: a small program that reads the file that the prompt
// names, writes what it found to another one, and says how that went.
func answerFromRules() {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var r struct {
			Messages []struct{ Role, Content, Tool, Status string }
		}
		if in.Decode(&r) != nil {
			return
		}
		last := r.Messages[len(r.Messages)-1]
		call := func(tool string, input map[string]string) {
			out.Encode(map[string]any{"calls": []any{map[string]any{"tool": tool, "input": input}}})
		}
		switch {
		case last.Role == "user":
			call("read_file", map[string]string{"path": strings.TrimPrefix(last.Content, "copy ")})
		case last.Tool == "read_file":
			_, text, _ := strings.Cut(last.Content, "\t")
			call("write_file", map[string]string{"path": "copy.txt", "content": text})
		default:
			out.Encode(map[string]string{"say": last.Tool + ": " + last.Status})
		}
	}
}

// user is somebody with a home, a workspace and directories of kx's.
type user struct {
	t       *testing.T
	dir, ws string
	env     []string
}

func newUser(t *testing.T) *user {
	t.Helper()
	dir, err := os.MkdirTemp("", "kx") // short: a socket's name has 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	u := &user{t: t, dir: dir, ws: filepath.Join(dir, "home/ws")}
	u.env = []string{"PATH=" + bin + ":/usr/bin:/bin", "HOME=" + dir + "/home", "TMPDIR=" + dir, "KX_STATE_DIR=" + dir + "/state", "KX_CONFIG_DIR=" + dir + "/config", "KX_RUNTIME_DIR=" + dir + "/run"}
	for _, d := range []string{"home/ws/.git", "config"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	u.write("config/config.toml", "[experimental]\nunsandboxed_bash = true\n")
	u.write("config/policy.toml", "[[rule]]\ntool = \"bash\"\ndecision = \"allow\"\n")
	t.Cleanup(func() {
		if pid := u.host(); pid > 1 {
			syscall.Kill(pid, syscall.SIGTERM)
			u.until("the host ends", func() bool { return u.host() == 0 })
		}
		os.RemoveAll(dir)
	})
	return u
}

// host is the pid of the approval host, 0 if there is none.
func (u *user) host() (pid int) {
	b, _ := os.ReadFile(filepath.Join(u.dir, "state/approvals/host.lock"))
	fmt.Sscan(string(b), &pid)
	if pid > 1 && syscall.Kill(pid, 0) != nil {
		return 0
	}
	return pid
}

func (u *user) write(name, text string) {
	u.t.Helper()
	if err := os.WriteFile(filepath.Join(u.dir, name), []byte(text), 0o600); err != nil {
		u.t.Fatal(err)
	}
}

func (u *user) read(name string) string {
	b, _ := os.ReadFile(filepath.Join(u.dir, name))
	return string(b)
}

func (u *user) until(what string, is func() bool) {
	u.t.Helper()
	for deadline := time.Now().Add(soon); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if is() {
			return
		}
	}
	u.t.Fatalf("it does not come to this: %s", what)
}

// job is a running kx.
type job struct {
	u        *user
	cmd      *exec.Cmd
	out, err bytes.Buffer
}

func (u *user) start(args ...string) *job {
	u.t.Helper()
	j := &job{u: u, cmd: exec.Command(filepath.Join(bin, "kx"), args...)}
	j.cmd.Dir, j.cmd.Env, j.cmd.Stdout, j.cmd.Stderr = u.ws, u.env, &j.out, &j.err
	if err := j.cmd.Start(); err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(func() { j.cmd.Process.Kill() })
	return j
}

// ends expects the exit status.
func (j *job) ends(exit int) *job {
	j.u.t.Helper()
	_ = j.cmd.Wait() // the state says it all
	if got := j.cmd.ProcessState.ExitCode(); got != exit {
		j.u.t.Fatalf("kx %s exits with %d, want %d\n%s%s", strings.Join(j.cmd.Args[1:], " "), got, exit, &j.out, &j.err)
	}
	return j
}

func (u *user) kx(exit int, args ...string) *job {
	u.t.Helper()
	return u.start(args...).ends(exit)
}

// took is how long a call took: a slow machine says so.
var took = regexp.MustCompile(`(?m) [0-9.]+m?s(:|$)`)

// later is when something happened in a run.
var later = regexp.MustCompile(`\+[0-9hms]+`)

// says compares what was printed.
func (j *job) says(out, err string) {
	j.u.t.Helper()
	if got := took.ReplaceAllString(j.out.String(), "$1"); got != out {
		j.u.t.Errorf("it prints\n%swant\n%s", got, out)
	}
	if got := j.err.String(); got != err {
		j.u.t.Errorf("on the standard error\n%swant\n%s", got, err)
	}
}

func (u *user) session(id string) (s wire.Session) {
	u.t.Helper()
	first, _, _ := strings.Cut(u.kx(0, "agent", "show", id, "-o", "jsonl").out.String(), "\n")
	if err := json.Unmarshal([]byte(first), &s); err != nil {
		u.t.Fatal(err)
	}
	return s
}

// events of a session, as "event" or "event data" of those that are named.
func (u *user) events(id string, with ...string) []string {
	u.t.Helper()
	var list []string
	for _, line := range strings.Split(strings.TrimSpace(u.kx(0, "agent", "show", id, "-o", "jsonl").out.String()), "\n")[1:] {
		var e wire.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			u.t.Fatal(err)
		}
		text := e.Event
		if slices.Contains(with, e.Event) {
			text += " " + string(e.Data)
		}
		list = append(list, text)
	}
	return list
}

func (u *user) answer(verb, id string) {
	u.t.Helper()
	key := strings.TrimSpace(u.kx(0, "config", "path", "approver-key", "-o", "table").out.String())
	u.kx(0, "approve", verb, id, "--key", key)
}

// script writes a script and returns its path.
func (u *user) script(turns ...string) string {
	u.t.Helper()
	u.write("script.jsonl", strings.Join(turns, "\n")+"\n")
	return filepath.Join(u.dir, "script.jsonl")
}

const (
	asks = `{"say":"I write.","calls":[{"tool":"write_file","input":{"path":"b.txt","content":"x"}}]}`
	done = `{"say":"Done.","stop":true}`
)
