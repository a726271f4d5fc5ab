package jail

import (
	"bytes"
	"encoding/json"
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

// world is a folder for plans, with what the walls are about.
type world struct {
	t   *testing.T
	dir string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "kx-jail-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = os.Chmod(filepath.Join(dir, "work/work"), 0o700) // overlayfs leaves it to nobody
		os.RemoveAll(dir)
	})
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	w := &world{t, dir}
	for _, d := range []string{"ws/git/hooks", "ws/deep/er", "secret", "cache", "upper", "work", "temp", "run"} {
		if err := os.MkdirAll(w.at(d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"ws/file": "ws\n", "ws/fixed": "fixed\n", "ws/deep/er/env": "s3cret\n", "secret/key": "s3cret\n", "cache/warm": "warm\n", "plain": "plain\n"} {
		if err := os.WriteFile(w.at(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *world) at(name string) string { return filepath.Join(w.dir, name) }

// plan is one with everything in it that runs a script.
func (w *world) plan(kind Kind, script string) *Plan {
	return &Plan{
		Kind: kind, Argv: []string{"/bin/bash", "-c", script, "bash", w.dir}, Dir: w.at("ws"), Network: true, Minimal: os.Getuid() == 0,
		Mounts: []Mount{
			{Source: w.at("ws"), Target: w.at("ws")},
			{Source: w.at("temp"), Target: w.at("run")},
			{Source: w.at("cache"), Target: w.at("cache"), Upper: w.at("upper"), Work: w.at("work")},
		},
		Pinned: []string{w.at("ws/git"), w.at("ws/deep"), w.at("ws/deep/er")},
		Fixed:  []string{w.at("ws/git/hooks"), w.at("ws/fixed"), w.at("ws/none")},
		Masked: []string{w.at("secret"), w.at("ws/deep/er/env"), w.at("none")},
	}
}

// run runs a plan and returns what it prints on both streams, and its report.
func (w *world) run(p *Plan) (string, Report) {
	w.t.Helper()
	var out bytes.Buffer
	cmd := &exec.Cmd{Env: []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}, Stdout: &out, Stderr: &out}
	c, err := Prepare(cmd, p)
	if err != nil {
		w.t.Fatal(err)
	}
	err = cmd.Start()
	c.Started(err)
	if err != nil {
		w.t.Fatal(err)
	}
	_ = cmd.Wait() // the report says how it ended
	r, ok := c.Report()
	if !ok {
		r = Report{Exit: cmd.ProcessState.ExitCode()}
	}
	if r.Exit != cmd.ProcessState.ExitCode() {
		w.t.Errorf("the report says %d, the process %d", r.Exit, cmd.ProcessState.ExitCode())
	}
	return out.String(), r
}

// attempts are what a program tries, and what comes of it behind each kind of
// walls: "yes", "no", or a text.
var attempts = []struct {
	name, script         string
	full, landlock, none string
}{
	{"write in the workspace", `echo x >ws/made`, "yes", "yes", "yes"},
	{"read that beside a folder with a masked file", `cat ws/made >/dev/null`, "yes", "no", "yes"},
	{"read and write elsewhere in it", `echo x >ws/git/new && cat ws/git/new >/dev/null`, "yes", "yes", "yes"},
	{"write beside it", `echo x >beside`, "no", "no", "yes"},
	{"write to a file outside", `echo x >>plain`, "no", "no", "yes"},
	{"change a mode outside", `chmod 600 plain && chmod 644 plain`, "no", "yes", "yes"},
	{"change a time outside", `touch -d 2001-01-01 plain`, "no", "yes", "yes"},
	{"read outside", `grep -q plain plain`, "yes", "yes", "yes"},
	{"read a masked file", `grep -q s3cret secret/key`, "no", "no", "yes"},
	{"list a masked folder", `ls secret | grep -q key`, "no", "no", "yes"},
	{"read a masked file in the workspace", `grep -q s3cret ws/deep/er/env`, "no", "no", "yes"},
	{"move a masked file", `mv ws/deep/er/env ws/env2 && mv ws/env2 ws/deep/er/env`, "no", "no", "yes"},
	{"move the folder of a masked file", `mv ws/deep/er ws/er2 && mv ws/er2 ws/deep/er`, "no", "", "yes"},
	{"change what is fixed", `echo x >>ws/fixed`, "no", "", "yes"},
	{"remove what is fixed", `rm ws/fixed && echo fixed >ws/fixed`, "no", "", "yes"},
	{"plant a hook", `echo x >ws/git/hooks/pre-commit && rm ws/git/hooks/pre-commit`, "no", "", "yes"},
	{"replace a pinned folder", `mv ws/git ws/git2 && mv ws/git2 ws/git`, "no", "", "yes"},
	{"write in a pinned folder", `echo x >ws/git/index`, "yes", "", "yes"},
	{"write where another folder is seen", `echo x >run/made`, "yes", "no", "yes"},
	{"read a cache", `grep -q warm cache/warm`, "yes", "yes", "yes"},
	{"change a cache", `echo x >cache/made && echo x >cache/warm`, "yes", "no", "yes"},
	{"have a capability", `! grep -q '^CapEff:\s*0000000000000000$' /proc/self/status`, "no", "", ""},
	{"gain rights", `! grep -q '^NoNewPrivs:\s*1$' /proc/self/status`, "no", "no", "no"},
	{"be somebody else", `[ "$(id -u)" != "$UID" ]`, "no", "no", "no"},
	{"see other processes", `ls -d /proc/[0-9]* | grep -qx "/proc/$OUTSIDE"`, "no", "yes", "yes"},
	{"signal another process", `kill -0 $OUTSIDE`, "no", "", "yes"},
	{"end the first process", `[ $PPID = 1 ] && kill -9 1`, "no", "no", "no"},
	{"read the first process", `[ $PPID != 1 ] || cat /proc/1/environ >/dev/null`, "no", "", ""},
	{"mount", `mount -t tmpfs none ws/deep`, "no", "no", ""},
	{"undo a mask", `umount secret`, "no", "no", ""},
	{"undo a mask as another root", `unshare -Urm umount secret`, "no", "no", ""},
	{"make everything writable", `unshare -Urm mount -o remount,rw /`, "no", "no", ""},
	{"have a terminal", `: </dev/tty`, "no", "no", "no"},
	{"open a terminal of its own", `script -qec true /dev/null </dev/null >/dev/null`, "yes", "yes", "yes"},
	{"leave shared memory", `echo x >/dev/shm/kx-jail-$$ && [ -e /dev/shm/kx-jail-$$ ] && rm /dev/shm/kx-jail-$$`, "yes", "no", "yes"},
	{"use devices", `head -c 8 /dev/urandom >/dev/null && echo x >/dev/null && : </dev/zero`, "yes", "yes", "yes"},
	{"dump core", `[ "$(ulimit -c)" != 0 ]`, "no", "no", "no"},
}

func TestWalls(t *testing.T) {
	for _, kind := range []Kind{Full, Landlock, None} {
		t.Run(string(kind), func(t *testing.T) {
			w := newWorld(t)
			outside := exec.Command("/bin/sleep", "60")
			if err := outside.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { outside.Process.Kill(); outside.Wait() }()
			var script strings.Builder
			fmt.Fprintf(&script, "cd \"$1\"; OUTSIDE=%d; UID_=%d\n", outside.Process.Pid, os.Getuid())
			for i, a := range attempts {
				fmt.Fprintf(&script, "if ( %s ) 2>/dev/null; then echo %d yes; else echo %d no; fi\n", strings.ReplaceAll(a.script, "$UID", "$UID_"), i, i)
			}
			p := w.plan(kind, script.String())
			if kind != Full { // nothing can be mounted
				p.Mounts = p.Mounts[:1]
			}
			out, r := w.run(p)
			if r.Failed != "" || r.Exit != 0 {
				t.Fatalf("report %+v\n%s", r, out)
			}
			got := map[string]string{}
			for _, line := range strings.Split(out, "\n") {
				i, what, _ := strings.Cut(line, " ")
				got[i] = what
			}
			for i, a := range attempts {
				want := map[Kind]string{Full: a.full, Landlock: a.landlock, None: a.none}[kind]
				if g := got[fmt.Sprint(i)]; want != "" && g != want {
					t.Errorf("%s: %s, want %s", a.name, g, want)
				}
			}
			if b, _ := os.ReadFile(w.at("cache/warm")); kind == Full && string(b) != "warm\n" {
				t.Errorf("the cache outside holds %q", b)
			}
			if _, err := os.Stat(w.at("temp/made")); kind == Full && err != nil {
				t.Error("what was written to another folder is not there")
			}
		})
	}
}

// How a program ends is reported, and nothing of it is left.
func TestEnds(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct {
		script string
		want   Report
	}{
		{"exit 7", Report{Exit: 7}},
		{"kill -9 $$", Report{Exit: 137, Signal: "SIGKILL"}},
		{"trap 'exit 9' TERM; kill $$; sleep 5", Report{Exit: 9}},
		{"sleep 60 & setsid sleep 60 & (setsid sleep 60 &) ; exit 3", Report{Exit: 3}},
		{"(trap '' TERM; while :; do sleep 1; done) & exit 4", Report{Exit: 4}},
	} {
		began := time.Now()
		_, r := w.run(w.plan(Full, tt.script))
		if r.OwnProc = false; r != tt.want {
			t.Errorf("%s: %+v", tt.script, r)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s: took %v", tt.script, took)
		}
		if left := inside(w.at("ws")); len(left) > 0 {
			t.Errorf("%s: processes %v are left", tt.script, left)
		}
	}
}

// inside lists the processes whose folder is dir.
func inside(dir string) (pids []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range all {
		if to, _ := os.Readlink(link); to == dir {
			pids = append(pids, link)
		}
	}
	return pids
}

// The last words of what a program leaves behind are still heard, if they come
// soon; on a busy machine they may come too late.
func TestLastWords(t *testing.T) {
	w := newWorld(t)
	var out string
	for range 50 {
		if out, _ = w.run(w.plan(Full, "echo first; (sleep 0.01; echo last) & exit 0")); out == "first\nlast\n" {
			return
		}
	}
	t.Errorf("it says %q", out)
}

// Without a network there is none but the loopback, which works.
func TestNetwork(t *testing.T) {
	w := newWorld(t)
	const script = `sed '1,2d; s/:.*//' /proc/net/dev | tr -d ' ' | sort | tr '\n' ' '; python3 -c '
import socket
s = socket.create_server(("127.0.0.1", 0)); c = socket.create_connection(s.getsockname()); print("talks")' 2>&1 || true`
	p := w.plan(Full, script)
	p.Network = false
	if out, r := w.run(p); r.Exit != 0 || out != "lo talks\n" && !strings.Contains(out, "python3: command not found") {
		t.Errorf("it sees %q, %+v", out, r)
	}
}

// What is exposed is there inside of a mask, and nothing else.
func TestExposed(t *testing.T) {
	w := newWorld(t)
	p := w.plan(Full, `cat "$1"/secret/key; ls "$1"/secret; echo x >"$1"/secret/new`)
	if err := os.WriteFile(w.at("secret/other"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	p.Exposed = []string{w.at("secret/key"), w.at("gone")}
	if out, _ := w.run(p); !strings.HasPrefix(out, "s3cret\nkey\n") || !strings.Contains(out, "Read-only file system") {
		t.Errorf("it sees %q", out)
	}
}

// What can't be built is told, and nothing runs.
func TestFails(t *testing.T) {
	w := newWorld(t)
	for name, change := range map[string]func(*Plan){
		"clone " + w.at("gone"):  func(p *Plan) { p.Mounts = append(p.Mounts, Mount{Source: w.at("gone"), Target: w.at("gone")}) },
		"enter " + w.at("gone"):  func(p *Plan) { p.Dir = w.at("gone") },
		"start " + w.at("gone"):  func(p *Plan) { p.Argv = []string{w.at("gone")} },
		"clone " + w.at("cache"): func(p *Plan) { p.Mounts[2].Work = w.at("gone") },
	} {
		p := w.plan(Full, "echo x >ran")
		change(p)
		if _, r := w.run(p); r.Failed != name || r.Errno == 0 || r.Exit == 0 || r.Err() == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if _, err := os.Stat(w.at("ws/ran")); err == nil {
		t.Error("the program ran")
	}
	for _, plan := range []string{"", "{}", "[1]", `{"Argv":[]}`} {
		cmd := &exec.Cmd{Path: "/proc/self/exe", Args: []string{Name}}
		r, spec, _ := os.Pipe()
		life, _, _ := os.Pipe()
		report, theirs, _ := os.Pipe()
		cmd.ExtraFiles = []*os.File{r, life, theirs}
		spec.WriteString(plan)
		spec.Close()
		if err := cmd.Run(); err == nil {
			t.Errorf("the plan %q is taken", plan)
		}
		theirs.Close()
		var got Report
		if err := json.NewDecoder(report).Decode(&got); err != nil || !strings.Contains(got.Failed, "users never type it") {
			t.Errorf("the plan %q: %+v, %v", plan, got, err)
		}
	}
}

// Everything ends with the process that started it.
func TestLifeline(t *testing.T) {
	if os.Getenv("JAIL_PARENT") != "" {
		w := &world{t, os.Getenv("JAIL_PARENT")}
		w.run(w.plan(Full, "echo >ready; setsid sleep 60 & wait"))
		return
	}
	w := newWorld(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestLifeline$")
	cmd.Env = append(os.Environ(), "JAIL_PARENT="+w.dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the program runs", func() bool { _, err := os.Stat(w.at("ws/ready")); return err == nil })
	cmd.Process.Kill()
	cmd.Wait()
	until(t, "it is gone", func() bool { return len(inside(w.at("ws"))) == 0 })
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it does not come to this: %s", what)
		}
	}
}

// The same holds for a user without any rights.
func TestOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("this user is one: the other tests are this one")
		return
	}
	dir, err := os.MkdirTemp("", "kx-user-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "jail.test")
	text, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(program, text, 0o755)
	}
	if err == nil {
		err = os.Chmod(dir, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run=^Test(Walls|Ends|Exposed|Network)$", "-test.v")
	cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + dir, "PATH=/usr/bin:/bin"}
	const nobody = 65534
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || bytes.Count(out, []byte("\n--- PASS: Test")) != 4 {
		t.Errorf("%v\n%s", err, out)
	}
}

// readable leaves out what is masked, and nothing else.
func TestReadable(t *testing.T) {
	w := newWorld(t)
	if err := os.Symlink("secret", w.at("link")); err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, r := range readable(w.dir, []string{w.at("secret"), w.at("ws/deep/er/env"), "/elsewhere"}, nil) {
		if r.rights != mayRead {
			t.Errorf("%s: rights %b", r.path, r.rights)
		}
		got[strings.TrimPrefix(r.path, w.dir+"/")] = true
	}
	for name, want := range map[string]bool{
		"secret": false, "ws/deep/er/env": false, "ws": false, "ws/deep": false, "link": false,
		"ws/file": true, "ws/git": true, "cache": true, "plain": true,
	} {
		if got[name] != want {
			t.Errorf("%s: %v", name, got[name])
		}
	}
}

// Each ABI asks for what it knows, and for nothing that it does not.
func TestHandled(t *testing.T) {
	for abi, want := range map[int][2]uint64{0: {0, 0}, 1: {1<<13 - 1, 0}, 2: {1<<14 - 1, 0}, 3: {1<<15 - 1, 0}, 4: {1<<15 - 1, 0}, 5: {1<<16 - 1, 0}, 6: {1<<16 - 1, 3}, 8: {1<<16 - 1, 3}, 9: {1<<17 - 1, 3}, 11: {1<<17 - 1, 3}} {
		if f, s := handled(abi); f != want[0] || s != want[1] {
			t.Errorf("ABI %d: %b %b", abi, f, s)
		}
	}
	if mayWrite&(unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK|unix.LANDLOCK_ACCESS_FS_MAKE_CHAR) != 0 {
		t.Error("devices can be made")
	}
}
