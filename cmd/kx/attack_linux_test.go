package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/jail"
)

// TestAnAgentCantApproveItself makes every attempt of the table on every machine, and
// looks at each from outside. What gets through has to be what the table says is
// open: a hole fails, and so does one that is not there any more.
func TestAnAgentCantApproveItself(t *testing.T) {
	t.Parallel()
	kx := installed(t)
	for _, w := range grounds(os.Getuid()) {
		if testing.Short() && w.long {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			s := begin(t, kx, w)
			for i, a := range attempts {
				if testing.Short() && i%4 != 0 {
					continue
				}
				for _, as := range w.chosen(i) {
					s.attempt(a, as, w.open(a))
				}
			}
			s.recorded()
		})
	}
}

// way is how a command reaches kx: as it is, or in a file of the workspace, whose
// name is all that the gate sees; and in which mode.
type way struct {
	file bool
	mode string
}

// ground is a machine with certain walls, and who uses it.
type ground struct {
	name   string
	uid    int
	prefix []string // before kx
	label  string   // what results call the walls
	policy string
	open   func(attempt) string
	ways   int  // in how many each attempt is made, in one after the other of them all
	exact  bool // also that what is open is
	long   bool
}

// every way, those that differ in both beside each other.
var every = []way{{false, "default"}, {true, "bypassPermissions"}, {false, "bypassPermissions"}, {true, "default"}}

// chosen are the ways of an attempt. A rule for the host names the file alone.
func (g *ground) chosen(i int) []way {
	switch {
	case g.policy == onHost:
		return every[1:2]
	case os.Getenv("KX_STRESS") != "":
		return every
	}
	first := i * g.ways % len(every)
	return every[first : first+g.ways]
}

const (
	allowAll = "[[rule]]\ntool = \"bash\"\ndecision = \"allow\"\n"
	onHost   = "[[rule]]\ntool = \"bash\"\ncommand = \"bash try.sh\"\ndecision = \"allow\"\nsandbox = \"host\"\n\n[[rule]]\ntool = \"bash\"\ncommand = \"true\"\ndecision = \"allow\"\n"
	somebody = 65534
)

// grounds are an ordinary user's, and the superuser's if the tests are. A kernel
// without walls is had by a filter of system calls, which only the superuser sets
// without a namespace, a wall of its own.
func grounds(uid int) []ground {
	user := uid
	as := []string{}
	if uid == 0 {
		user = somebody
		as = []string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"}
	}
	list := []ground{
		{name: "full walls", uid: user, label: "network_enabled", policy: allowAll, open: func(a attempt) string { return a.full }, ways: 2, exact: true},
		{name: "Landlock alone", uid: user, prefix: append([]string{"without", "userns"}, as...), label: "partial", policy: allowAll, open: landlocked, ways: 1, exact: uid == 0},
		{name: "no walls", uid: user, prefix: append([]string{"without", "walls"}, as...), label: "none", policy: allowAll, open: func(a attempt) string { return a.none }, ways: 1, exact: uid == 0},
		{name: "host", uid: user, label: "host", policy: onHost, open: func(a attempt) string { return a.host }, exact: true},
	}
	if uid == 0 {
		list = append(list, ground{name: "full walls of the superuser", label: "network_enabled", policy: allowAll, open: func(a attempt) string { return a.full }, ways: 1, exact: true, long: true})
	}
	return list
}

// landlocked is what is open behind Landlock alone, by what this kernel's has.
func landlocked(a attempt) string {
	if a.landlock == sockets && jail.LandlockABI() >= 9 {
		return ""
	}
	return a.landlock
}

// installed is the test binary where each user may start it.
func installed(t *testing.T) string {
	t.Helper()
	dir := place(t, 0o755)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(filepath.Join(dir, "kx"), os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Name()
}

// place is a folder with a short name: a socket's has 100 bytes.
func place(t *testing.T, mode fs.FileMode) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "kx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
	return dir
}

// siege is a person's home on a machine, an agent's kx in it, and a request that
// waits for the person all the while.
type siege struct {
	*testing.T
	ground
	bin, dir, home, ws, state, config, run string
	env                                    []string

	kx      *exec.Cmd
	calls   io.WriteCloser
	results *bufio.Reader

	request string          // that waits
	asked   int             // how many requests have waited
	known   map[string]bool // requests that the person has answered
	made    map[string]int  // calls by their command

	secrets  map[string]string // what nobody may read, by what it is
	screen   int               // the other side of the person's terminal
	outside  *exec.Cmd         // a process of the person's
	watching *exec.Cmd         // and one that waits for requests
	memory   string            // the number of its shared memory
	tmp      string            // a file in /tmp
	tty      string
	port     string            // of this machine, where somebody listens
	words    *strings.Replacer // of the table

	listeners map[string]syscall.Conn

	before  map[string]entry // the files outside, as they have to stay
	there   map[int]bool     // processes that are no attempt's
	others  map[int]bool     // and those of other homes
	hostWas int
}

func begin(t *testing.T, kx string, w ground) *siege {
	t.Helper()
	dir := place(t, 0o755)
	s := &siege{T: t, ground: w, bin: dir + "/bin", dir: dir, home: dir + "/home", ws: dir + "/home/ws", state: dir + "/home/.local/state/kx",
		config: dir + "/home/.config/kx", run: dir + "/run", known: map[string]bool{}, others: map[int]bool{}, made: map[string]int{}, secrets: map[string]string{}, listeners: map[string]syscall.Conn{}}
	s.env = []string{"HOME=" + s.home, "PATH=" + s.bin + ":/usr/bin:/bin", "XDG_RUNTIME_DIR=" + s.run, "LC_ALL=C.UTF-8", "SHELL=/bin/sh", "USER=somebody"}
	s.tmp = fmt.Sprintf("/tmp/%s.secret", filepath.Base(dir))
	t.Cleanup(func() { os.Remove(s.tmp); os.Remove(dir + ".up") })
	s.install(kx)
	s.furnish()
	s.listen()
	s.terminal()
	s.multiplexer()
	s.victim()
	s.secret("approver key", strings.TrimSpace(s.person("config", "path", "approver-key", "-o", "table")), "")
	s.start()
	s.ask()
	s.settle()
	return s
}

// start starts the kx that the agent's calls go through.
func (s *siege) start() {
	s.Helper()
	argv := append(slices.Clone(s.prefix), filepath.Join(s.bin, "kx"), "call", "-", "--mode", "bypassPermissions")
	cmd := s.command(argv[0], argv[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		s.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	f, err := os.Open(s.tmp) // which kx inherits, and nobody after it
	if err != nil {
		s.Fatal(err)
	}
	defer f.Close()
	cmd.ExtraFiles = []*os.File{f, f, f, f, f, f}
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	s.kx, s.calls, s.results = cmd, in, bufio.NewReader(out)
	s.Cleanup(func() { in.Close(); cmd.Wait(); endHost(s.state+"/approvals/host.lock", s.dir) })
	if r, ok := s.call("true", "default"); !ok || r.Status != "ok" { // from now on it is known as what runs tools
		s.Fatalf("true: %+v", r)
	}
}

// ask makes a request that waits.
func (s *siege) ask() {
	s.Helper()
	s.asked++
	cmd := s.command("kx", "call", "write_file", fmt.Sprintf(`{"path":"witness%d","content":"x"}`, s.asked))
	out, _ := cmd.Output()
	var r result
	if err := json.Unmarshal(out, &r); err != nil || r.Status != "pending" {
		s.Fatalf("no request: %s", out)
	}
	s.request = r.ApprovalID
}

// watch is the person's view of what is asked, for which the approval host is there.
func (s *siege) watch() {
	s.Helper()
	for deadline := time.Now().Add(20 * time.Second); s.hostPID() == 0; time.Sleep(5 * time.Millisecond) {
		if s.watching == nil || !running(s.watching.Process.Pid) {
			cmd := s.command("kx", "approve", "watch")
			if err := cmd.Start(); err != nil {
				s.Fatal(err)
			}
			s.watching = cmd
			s.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		}
		if time.Now().After(deadline) {
			s.Fatal("there is no approval host")
		}
	}
}

func (s *siege) hostPID() int {
	b, _ := os.ReadFile(s.state + "/approvals/host.lock")
	first, _, _ := strings.Cut(string(b), " ")
	pid, _ := strconv.Atoi(first)
	if pid <= 1 || !running(pid) {
		return 0
	}
	return pid
}

// result is what the tests read of one.
type result struct {
	Status     string
	ApprovalID string `json:"approval_id"`
	Output     struct{ Text, Sandbox string }
	Error      struct{ Code string }
}

// call makes a call of the agent's; the person allows what asks.
func (s *siege) call(command, mode string) (r result, ok bool) {
	s.Helper()
	line, err := json.Marshal(map[string]any{"tool": "bash", "input": map[string]any{"command": command, "timeout_ms": 20000}, "mode": mode})
	if err != nil {
		s.Fatal(err)
	}
	for range 2 {
		s.made[command]++
		if _, err := s.calls.Write(append(line, '\n')); err != nil {
			return r, false
		}
		out, err := s.results.ReadBytes('\n')
		if err != nil {
			return r, false
		}
		r = result{}
		if err := json.Unmarshal(out, &r); err != nil {
			s.Fatalf("%s: %v", out, err)
		}
		if r.Status != "pending" {
			return r, true
		}
		s.known[r.ApprovalID] = true
		s.person("approve", "allow", r.ApprovalID, "--key", s.state+"/approver.key")
	}
	s.Fatalf("%s is still pending", command)
	return r, false
}
