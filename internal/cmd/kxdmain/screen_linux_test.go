package kxdmain_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// screen is a terminal with a shell in it, which shows what a person would see.
type screen struct {
	*user
	socket string
}

// prompt is what the shell shows when it waits.
const prompt = "ready>"

func (u *user) screen() *screen {
	u.t.Helper()
	s := &screen{u, filepath.Join(u.dir, "tmux")}
	u.env = append(u.env, "TERM=xterm-256color", "LC_ALL=C.UTF-8")
	u.write("home/bashrc", "PS1='"+prompt+"'\n")
	s.tmux("-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "30", "-c", u.ws, "bash --rcfile "+u.dir+"/home/bashrc")
	u.t.Cleanup(func() { s.tmux("kill-server") })
	s.shows("a prompt", func(text string) bool { return text == prompt })
	return s
}

func (s *screen) tmux(args ...string) string {
	s.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-S", s.socket}, args...)...)
	cmd.Env = s.env
	b, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("tmux %q: %v\n%s", args, err, b)
	}
	return string(b)
}

// text is what stands on the screen, with what scrolled off it.
func (s *screen) text() string {
	s.t.Helper()
	return strings.TrimRight(s.tmux("capture-pane", "-p", "-S", "-"), "\n ")
}

func (s *screen) types(line string) {
	s.t.Helper()
	s.tmux("send-keys", "-l", line)
	s.key("Enter")
}

// anew types a line on an empty screen.
func (s *screen) anew(line string) {
	s.t.Helper()
	s.types("clear")
	s.shows("an empty screen", func(text string) bool { return text == prompt })
	s.types(line)
}

// key presses one, such as C-c.
func (s *screen) key(name string) { s.t.Helper(); s.tmux("send-keys", name) }

// shows waits until the screen is like that.
func (s *screen) shows(what string, is func(text string) bool) string {
	s.t.Helper()
	text := ""
	for deadline := time.Now().Add(soon); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if text = s.text(); is(text) {
			return text
		}
	}
	s.t.Fatalf("it does not come to this: %s\n%s", what, text)
	return ""
}

// matches waits until the screen matches.
func (s *screen) matches(expr string) string {
	s.t.Helper()
	return s.shows(expr, regexp.MustCompile(`(?m)`+expr).MatchString)
}

// status is what every status line begins with.
const status = `^[0-9]+s( · turn [0-9]+)?`

// stubborn is a script with a command that nothing but KILL ends, and one after it.
func (u *user) stubborn() string {
	u.write("home/ws/stubborn.sh", "trap '' INT TERM HUP\necho half\nsleep 1000\nsleep 1000\n")
	return u.script(`{"say":"I run it.","calls":[{"tool":"bash","input":{"command":"sh stubborn.sh"}}]}`, done)
}

// What a person sees of a run: what the model says before its calls run, a line that
// tells what runs, and in the end one line a call and nothing else.
func TestScreen(t *testing.T) {
	u := newUser(t)
	u.write("home/ws/a.txt", "hello\n")
	path := u.script(
		`{"say":"I look: 世界.","calls":[{"tool":"read_file","input":{"path":"a.txt"}},{"tool":"bash","input":{"command":"until test -e go; do sleep 0.02; done; : `+strings.Repeat("世", 60)+`"}}]}`,
		`{"say":"Now what fails.","calls":[{"tool":"bash","input":{"command":"exit 3"}}]}`, done)
	s := u.screen()
	s.types("kx agent run x --script " + path + " --new-session r; echo \"[$?]\"")
	text := s.matches(status + ` · bash until test .*… [1-9][0-9]*s$`)
	if !strings.Contains(took.ReplaceAllString(text, ""), "I look: 世界.\n  read_file   a.txt\n") || strings.Count(text, " · turn ") != 1 {
		t.Errorf("while the command runs\n%s", text)
	}
	u.write("home/ws/go", "")
	text = s.shows("the end", func(text string) bool { return strings.HasSuffix(text, prompt) && strings.Contains(text, "[0]") })
	_, text, _ = strings.Cut(text, "\n")
	text = took.ReplaceAllString(text, "")
	text = regexp.MustCompile(`(世+)… *`).ReplaceAllString(text, "世…")
	want := "I look: 世界.\n  read_file   a.txt\n  bash        until test -e go; do sleep 0.02; done; : 世…\nNow what fails.\n  bash        exit 3 exit 3\nDone.\n[0]\n" + prompt
	if text != want {
		t.Errorf("in the end\n%s\nwant\n%s", text, want)
	}
}

// A request is told of once; how long it waits, and how to answer, stands in the
// status line.
func TestScreenWaits(t *testing.T) {
	u := newUser(t)
	path := u.script(asks, done)
	s := u.screen()
	s.types("kx agent run x --script " + path + " --new-session r --wait 10m; echo \"[$?]\"")
	text := s.matches(status + ` · 1 waiting [1-9][0-9]*s \(kx approve\)$`)
	if strings.Count(text, "⏸") != 1 {
		t.Errorf("while it waits\n%s", text)
	}
	_, id, _ := strings.Cut(text, "kx approve allow ")
	id, _, _ = strings.Cut(id, "\n")
	u.answer("allow", id)
	text = s.matches(`^\[0\]$`)
	if _, text, _ := strings.Cut(text, "\n"); !regexp.MustCompile(`^I write\.\n  ⏸ waiting for approval   kx approve allow \w+\n  write_file  b.txt \+1 -0.*\nDone\.\n\[0\]`).MatchString(text) {
		t.Errorf("in the end\n%s", text)
	}
}

// The first ^C ends the command and parks, with what it is to be told meanwhile; the
// model, which ^C does not reach, is still there when the run goes on.
func TestScreenInterrupt(t *testing.T) {
	u := newUser(t)
	path := u.stubborn()
	s := u.screen()
	s.types("kx agent run x --script " + path + " --new-session r; echo \"[$?]\"")
	s.matches(status + ` · bash sh stubborn.sh`)
	pids := u.sleepers(1)
	s.key("C-c")
	s.matches(`stopping; Ctrl-C again to kill`)
	text := s.matches(`^\[130\]$`)
	if !regexp.MustCompile(`\n  bash        sh stubborn\.sh error \S+: interrupted\nkx: parked: interrupted\nhint: kx agent resume r\n\[130\]`).MatchString(text) || strings.Contains(text, "stopping") {
		t.Errorf("it shows\n%s", text)
	}
	u.gone(pids)
	if got := u.session("r"); got.State != "parked" {
		t.Errorf("session %+v", got)
	}
	s.anew("kx agent resume r; echo \"[$?]\"")
	s.matches(`^Done\.\n\[0\]$`)
}

// The second ^C ends everything at once: the command and the model, whatever they do
// against it. The session can be resumed all the same.
func TestScreenKill(t *testing.T) {
	for _, walls := range []string{"", "sandbox = \"host\"\n"} {
		kills(t, walls)
	}
}

func kills(t *testing.T, walls string) {
	u := newUser(t)
	u.write("config/policy.toml", "[[rule]]\ntool = \"bash\"\ndecision = \"allow\"\n"+walls)
	u.stubborn()
	u.write("home/ws/model.sh", `trap '' INT TERM HUP
read -r line
echo '{"calls":[{"tool":"bash","input":{"command":"sh stubborn.sh"}}]}'
read -r line
sleep 1000
`)
	s := u.screen()
	s.types("kx agent run x --exec 'sh model.sh' --new-session r")
	s.matches(status + ` · bash sh stubborn.sh`)
	pids := append(u.sleepers(1), u.models()...)
	s.key("C-c")
	s.matches(`stopping; Ctrl-C again to kill`)
	s.key("C-c")
	s.matches(prompt + `$`)
	s.types("echo \"[$?]\"")
	text := s.matches(`^\[130\]$`)
	if !regexp.MustCompile(`\nkx: (killed|parked: interrupted)\nhint: kx agent resume r\n\n?`+prompt).MatchString(text) || strings.Contains(text, "stopping") {
		t.Errorf("it shows\n%s", text)
	}
	u.gone(pids)
	if left := inside(u.ws); len(left) != 1 { // the shell on the screen
		t.Errorf("processes %v are left in the workspace", left)
	}
	s.types("stty -a; echo over")
	if text := s.matches(`^over$`); !regexp.MustCompile(`(^|\s)echo\s`).MatchString(text) || !strings.Contains(text, " icanon") {
		t.Errorf("the terminal is left like this:\n%s", text)
	}
	if got := u.session("r"); got.State == "running" || got.State == "completed" {
		t.Errorf("session %+v", got)
	}
	u.write("home/ws/model.sh", "read -r line\necho '{\"say\":\"Back.\",\"stop\":true}'\n")
	u.kx(0, "agent", "resume", "r")
}

// ^Z leaves nothing of the line behind, nor does a terminal that is made narrower. In
// the background it is not drawn.
func TestScreenStops(t *testing.T) {
	u := newUser(t)
	path := u.stubborn()
	s := u.screen()
	s.types("kx agent run x --script " + path + " --new-session r")
	s.matches(status + ` · turn 1 · bash sh stubborn.sh [0-9]+s$`)
	s.key("C-z")
	text := s.matches(`Stopped .*\n` + prompt + `$`)
	if strings.Contains(text, " · ") {
		t.Errorf("stopped, it shows\n%s", text)
	}
	s.anew("bg; echo there")
	s.matches(`^there$`)
	s.types("fg")
	text = s.matches(status + ` · turn 1 · bash sh stubborn.sh`)
	if strings.Count(text, "turn 1") != 1 {
		t.Errorf("continued, it shows\n%s", text)
	}
	s.tmux("resize-window", "-x", "34", "-y", "30")
	s.matches(`^[0-9]+s · turn 1 · .*…`)
	once := func(text string) bool { return strings.Count(text, "turn 1") == 1 }
	s.shows("the line is drawn once", once)
	s.tmux("resize-window", "-x", "100", "-y", "30")
	s.matches(`^[0-9]+s · turn 1 · .*s$`)
	s.shows("the line is drawn once", once)
	u.kx(0, "agent", "stop", "r")
	text = s.matches(`^hint: kx agent resume r$`)
	if strings.Contains(text, "turn 1") {
		t.Errorf("in the end it shows\n%s", text)
	}
}

// sleepers waits for n processes of sleep in the workspace.
func (u *user) sleepers(n int) (pids []int) {
	u.t.Helper()
	u.until("the command runs", func() bool { pids = u.named("sleep\n"); return len(pids) == n })
	return pids
}

// models are the processes of model.sh.
func (u *user) models() (pids []int) {
	for _, pid := range inside(u.ws) {
		if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); strings.Contains(string(line), "model.sh") {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (u *user) named(comm string) (pids []int) {
	for _, pid := range inside(u.ws) {
		if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); string(name) == comm {
			pids = append(pids, pid)
		}
	}
	return pids
}

// bare runs kx on a terminal that nobody interprets, and returns all that was
// written to it.
func (u *user) bare(shell string, env ...string) string {
	u.t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		u.t.Fatal(err)
	}
	defer master.Close()
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		u.t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		u.t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", shell)
	cmd.Dir, cmd.Env = u.ws, append(append([]string{}, u.env...), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Start()
	slave.Close()
	if err != nil {
		u.t.Fatal(err)
	}
	late := time.AfterFunc(soon, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	var all strings.Builder
	for b := make([]byte, 4096); err == nil; {
		var n int
		n, err = master.Read(b)
		all.Write(b[:n])
	}
	_ = cmd.Wait()
	return all.String()
}

// Where there is no place for a status line there is none: a file, a pipe, a simple
// terminal, a quiet run, a format for programs.
func TestStatusInItsPlace(t *testing.T) {
	u := newUser(t)
	path := u.script(`{"say":"Hi.","calls":[{"tool":"bash","input":{"command":"sleep 0.2"}}]}`, done)
	const drawn = "\r\x1b[J"
	for _, c := range []struct {
		name, args, env string
		line            bool
		log             string
	}{
		{"a terminal", "", "TERM=xterm", true, ""},
		{"without colour", "", "TERM=xterm NO_COLOR=1", true, ""},
		{"simple", "", "TERM=dumb", false, ""},
		{"unknown", "", "TERM=", false, ""},
		{"quiet", "-q", "TERM=xterm", false, ""},
		{"records", "-o jsonl", "TERM=xterm", false, ""},
		{"a file", "-o table >log", "TERM=xterm", true, "Hi.\n"},
		{"records in a file", ">log", "TERM=xterm", false, `{"type":"event"`},
		{"a pipe", "-o table | cat", "TERM=xterm", false, ""},
		{"errors elsewhere", "2>log", "TERM=xterm", false, ""},
	} {
		u.write("home/ws/log", "")
		shown := u.bare("kx agent run x --script "+path+" "+c.args, strings.Fields(c.env)...)
		if got := strings.Contains(shown, drawn); got != c.line {
			t.Errorf("%s: a status line: %v in\n%q", c.name, got, shown)
		}
		if strings.Contains(c.env, "NO_COLOR") && strings.Contains(shown, "\x1b[2m") {
			t.Errorf("%s: colour in %q", c.name, shown)
		}
		if log := u.read("home/ws/log"); strings.Contains(log, "\x1b") || !strings.HasPrefix(log, c.log) {
			t.Errorf("%s: the file has %q", c.name, log)
		}
	}
}
