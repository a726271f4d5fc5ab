package kxdmain_test

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/man"
	"github.com/kxtools/kx/pkg/wire"
)

// page is kx-approvals(7) as a person copies from it.
func page(t *testing.T) string {
	t.Helper()
	text, err := fs.ReadFile(man.FS, "kx-approvals.7")
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(`\-`, "-", `\(aq`, "'", `\\`, `\`).Replace(string(text))
}

// line is what stands behind a beginning of a line of the page.
func line(t *testing.T, start string) string {
	t.Helper()
	for l := range strings.Lines(page(t)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(l), start); ok {
			return rest
		}
	}
	t.Fatalf("the page has no line %s", start)
	return ""
}

// plain is somebody who has set nothing: all is where it is by default.
func plain(t *testing.T) *user {
	u := newUser(t)
	u.env = []string{"PATH=" + bin + ":/usr/bin:/bin", "HOME=" + u.dir + "/home", "TMPDIR=" + u.dir, "XDG_RUNTIME_DIR=" + u.dir + "/run"}
	if err := os.Mkdir(filepath.Join(u.dir, "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	return u
}

// resident is a host that a service manager has started.
type resident struct {
	u     *user
	cmd   *exec.Cmd
	said  *bufio.Reader
	ended bool
}

// unit is the argv of a line of the page's unit, for this user.
func (u *user) unit(start string) []string {
	u.t.Helper()
	argv := strings.Fields(strings.NewReplacer("%h", u.dir+"/home", "%t", u.dir+"/run").Replace(line(u.t, start)))
	argv[0] = filepath.Join(bin, filepath.Base(argv[0]))
	return argv
}

// keep starts a host with the argv of the unit, as a service manager does.
func (u *user) keep(argv []string) *resident {
	u.t.Helper()
	r := &resident{u: u, cmd: exec.Command(argv[0], argv[1:]...)}
	r.cmd.Dir, r.cmd.Env = "/", u.env
	out, err := r.cmd.StdoutPipe()
	if err == nil {
		err = r.cmd.Start()
	}
	if err != nil {
		u.t.Fatal(err)
	}
	r.said = bufio.NewReader(out)
	u.t.Cleanup(func() { r.ends(syscall.SIGTERM) })
	return r
}

// ready waits until it says that it listens.
func (r *resident) ready() {
	r.u.t.Helper()
	said := make(chan string, 1)
	go func() {
		line, _ := r.said.ReadString('\n')
		said <- line
	}()
	select {
	case line := <-said:
		if line != "ready\n" {
			r.u.t.Fatalf("it says %q", line)
		}
	case <-time.After(soon):
		r.u.t.Fatal("it does not listen")
	}
}

// ends sends it a signal, unless that is 0, and expects its end in order.
func (r *resident) ends(sig syscall.Signal) {
	r.u.t.Helper()
	if r.ended {
		return
	}
	r.ended = true
	_ = r.cmd.Process.Signal(sig)
	hung := time.AfterFunc(soon, func() { r.cmd.Process.Kill() })
	defer hung.Stop()
	if err := r.cmd.Wait(); err != nil {
		r.u.t.Errorf("the host ends with %v", err)
	}
}

// lock is what the host's lock says: its pid and its socket.
func (u *user) lock() (pid int, socket string) {
	fmt.Sscan(u.read("home/.local/state/kx/approvals/host.lock"), &pid, &socket)
	return pid, socket
}

// asks makes a request and returns its id.
func (u *user) asks(content string) string {
	u.t.Helper()
	var res wire.Result
	out := u.kx(4, "call", "write_file", `{"path":"f","content":"`+content+`"}`).out.Bytes()
	if err := json.Unmarshal(out, &res); err != nil || res.ApprovalID == "" {
		u.t.Fatalf("%s, %v", out, err)
	}
	return res.ApprovalID
}

// The unit of the page starts a host that answers, stays, and makes room for a newer
// client, after which the service manager starts it again.
func TestUnitOfThePage(t *testing.T) {
	u := plain(t)
	if got, want := u.unit("ExecStartPre="), []string{filepath.Join(bin, "kx"), "config", "path", "runtime"}; strings.Join(got, " ") != strings.Join(want, " ") {
		t.Fatalf("the unit begins with %q", got)
	}
	u.kx(0, "config", "path", "runtime")
	argv := u.unit("ExecStart=")
	r := u.keep(argv)
	r.ready()
	if pid, socket := u.lock(); pid != r.cmd.Process.Pid || socket != filepath.Join(u.dir, "run/kx/approve.sock") {
		t.Errorf("%d listens on %s", pid, socket)
	}
	u.answer("allow", u.asks("a"))
	u.kx(0, "call", "write_file", `{"path":"f","content":"a"}`)
	u.answer("deny", u.asks("b"))
	u.kx(3, "call", "write_file", `{"path":"f","content":"b"}`)
	if pid, _ := u.lock(); pid != r.cmd.Process.Pid {
		t.Errorf("it was process %d that answered, not %d", pid, r.cmd.Process.Pid)
	}

	if code := u.newer(); code != "older_host" {
		t.Errorf("a newer client hears %s", code)
	}
	r.ends(0)
	again := u.keep(argv)
	again.ready()
	u.answer("allow", u.asks("c"))
	if pid, _ := u.lock(); pid != again.cmd.Process.Pid {
		t.Errorf("it was process %d that answered, not %d", pid, again.cmd.Process.Pid)
	}
}

// newer speaks to the host as the client of a later kx, and returns the error.
func (u *user) newer() string {
	u.t.Helper()
	_, socket := u.lock()
	c, err := net.Dial("unix", socket)
	if err != nil {
		u.t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(soon))
	dec := json.NewDecoder(c)
	var hello struct{ Nonce string }
	if err := dec.Decode(&hello); err != nil {
		u.t.Fatal(err)
	}
	nonce, _ := hex.DecodeString(hello.Nonce)
	key, err := state.ReadKey(filepath.Join(u.dir, "home/.local/state/kx/approver.key"))
	if err != nil {
		u.t.Fatal(err)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(nonce)
	fmt.Fprintf(c, `{"type":"auth","v":%d,"key":"approver","mac":"%x"}`+"\n", wire.Version+1, mac.Sum(nil))
	var answer struct{ Error wire.Error }
	if err := dec.Decode(&answer); err != nil {
		u.t.Fatal(err)
	}
	return answer.Error.Code
}

// A host that is to stay waits for one that lives, and takes over when it ends.
func TestStayWaitsForItsTurn(t *testing.T) {
	u := plain(t)
	u.kx(0, "config", "path", "runtime")
	argv := u.unit("ExecStart=")
	var short []string
	for _, a := range argv {
		if a != "--stay" {
			short = append(short, a)
		}
	}
	first := u.keep(short)
	first.ready()
	second := u.keep(argv)
	// One that is not to stay leaves; the second, which came before it, would have left.
	if b, err := exec.Command(short[0], short[1:]...).Output(); err != nil || string(b) != "busy\n" {
		t.Errorf("beside another one: %q, %v", b, err)
	}
	u.answer("allow", u.asks("a"))
	if pid, _ := u.lock(); pid != first.cmd.Process.Pid {
		t.Errorf("%d answered", pid)
	}
	first.ends(syscall.SIGTERM)
	second.ready()
	if pid, _ := u.lock(); pid != second.cmd.Process.Pid {
		t.Errorf("%d has the lock", pid)
	}
}

// The status line of the page counts what waits.
func TestStatusLineOfThePage(t *testing.T) {
	u := plain(t)
	u.write("tmux.conf", "set -g status-interval "+line(t, "set -g status-interval ")+"\nset -g status-right "+line(t, "set -g status-right ")+"\n")
	outer, inner := filepath.Join(u.dir, "o"), filepath.Join(u.dir, "i")
	tmux := func(socket string, args ...string) string {
		cmd := exec.Command("tmux", append([]string{"-S", socket, "-f", "/dev/null"}, args...)...)
		cmd.Dir, cmd.Env = u.ws, append(u.env, "TERM=screen", "LC_ALL=C.UTF-8")
		b, _ := cmd.CombinedOutput() // a server that is still starting is asked again
		return string(b)
	}
	t.Cleanup(func() { tmux(inner, "kill-server"); tmux(outer, "kill-server") })
	tmux(outer, "new-session", "-d", "-x", "100", "-y", "10", "tmux -S "+inner+" -f "+u.dir+"/tmux.conf new-session cat")
	shows := func(want string) {
		t.Helper()
		seen := regexp.MustCompile(`(?m) ` + want + `\s*$`)
		u.until("the status line says "+want, func() bool { return seen.MatchString(tmux(outer, "capture-pane", "-p")) })
	}
	shows("0 waiting")
	id := u.asks("a")
	u.asks("b")
	shows("2 waiting")
	u.answer("deny", id)
	shows("1 waiting")
}
