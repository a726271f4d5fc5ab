package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/base/signals"
	"github.com/kxtools/kx/internal/base/sock"
	"github.com/kxtools/kx/internal/record/resident"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/socket"
)

// soon bounds what takes milliseconds, on a slow machine.
const soon = 20 * time.Second

var key = []byte("a key")

// TestMain lets the test binary be the program that is started: its first argument
// says what it does.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || programs[os.Args[1]] == nil {
		os.Exit(m.Run())
	}
	arg := map[string]string{}
	for i := 2; i+1 < len(os.Args); i += 2 {
		arg[strings.TrimPrefix(os.Args[i], "--")] = os.Args[i+1]
	}
	if err := programs[os.Args[1]](arg); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

var programs = map[string]func(arg map[string]string) error{
	"resident": func(arg map[string]string) error {
		ctx, stop := signals.Until(context.Background())
		defer stop()
		idle, err := time.ParseDuration(arg["idle"])
		if err != nil {
			return err
		}
		at := Place{Lock: arg["lock"], Socket: arg["socket"], Said: os.Stdout, End: func() { os.WriteFile(arg["lock"]+".ended", nil, 0o600) }}
		return Live(ctx, at, &sock.Server{
			Name: "test", Version: arg["version"], Idle: idle, Handle: tell,
			Keys: map[string]func() ([]byte, error){"host": func() ([]byte, error) { return key, nil }},
		})
	},
	"framed":    framed,
	"complains": func(map[string]string) error { return errors.New("the state directory is on fire") },
	"dies":      func(map[string]string) error { os.Exit(3); return nil },
	"hangs": func(arg map[string]string) error {
		os.WriteFile(arg["lock"], fmt.Appendf(nil, "%d", os.Getpid()), 0o600)
		time.Sleep(time.Hour)
		return nil
	},
}

// told is what a resident tells of itself.
type told struct {
	PID, Session int
	Cwd          string
	Env          []string
	Umask        int
	Stdin        string
}

func tell(ctx context.Context, r *sock.Request, _ func(any) error) (any, error) {
	switch r.Verb {
	case "hang": // until it is told to end
		<-ctx.Done()
		return nil, ctx.Err()
	case "deaf": // whatever it is told
		time.Sleep(time.Hour)
	}
	var d told
	d.PID, d.Env = os.Getpid(), os.Environ()
	d.Cwd, _ = os.Getwd()
	d.Umask = syscall.Umask(0o077)
	stat, _ := os.ReadFile("/proc/self/stat")
	if f := strings.Fields(string(stat)); len(f) > 5 {
		fmt.Sscan(f[5], &d.Session)
	}
	d.Stdin, _ = os.Readlink("/proc/self/fd/0")
	return d, nil
}

// home is a state directory and where its sockets are.
type home struct {
	t        *testing.T
	lock     string
	dir      string // of sockets
	Resident Resident
}

func newHome(t *testing.T, dir string, program string, args ...string) *home {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if dir == "" {
		if dir, err = os.MkdirTemp("", "kx"); err != nil { // short: a socket's name has 100 bytes
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
	}
	h := &home{t: t, lock: filepath.Join(t.TempDir(), "host.lock"), dir: dir}
	h.Resident = Resident{
		Kxd: exe, Args: append([]string{program, "--lock", h.lock}, args...), Socket: filepath.Join(dir, "r.sock"), Lock: h.lock,
		Version: "1.0.0", KeyName: "host", Key: key,
	}
	t.Cleanup(func() {
		data, _ := os.ReadFile(h.lock)
		var pid int
		if fmt.Sscan(string(data), &pid); pid > 1 {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return h
}

func newResident(t *testing.T, dir string) *home {
	t.Helper()
	return newHome(t, dir, "resident", "--version", "1.0.0", "--idle", "1h")
}

func (h *home) connect() (d told, socket string) {
	h.t.Helper()
	d, socket, err := h.try(context.Background())
	if err != nil {
		h.t.Fatal(err)
	}
	return d, socket
}

// try asks the resident what it has, and where it listens.
func (h *home) try(ctx context.Context) (d told, path string, err error) {
	c, err := h.Resident.Connect(ctx)
	if err != nil {
		return d, "", err
	}
	defer c.Close()
	if err := c.Ask(ctx, "tell", nil, &d); err != nil {
		return d, "", err
	}
	_, path, _ = resident.Read(h.lock)
	return d, path, nil
}

// held is a connection that stays open until the end of the test.
func (h *home) held() *socket.Client {
	h.t.Helper()
	c, err := h.Resident.Connect(context.Background())
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { c.Close() })
	return c
}

// gone waits until a process has ended.
func gone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(soon); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if !alive(pid) {
			return
		}
	}
	t.Fatalf("process %d goes on", pid)
}

func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// A resident has nothing of the client that happened to start it.
func TestResidentInheritsNothing(t *testing.T) {
	t.Setenv("KX_SECRET", "1")
	h := newResident(t, "")
	syscall.Umask(0o022)
	d, socket := h.connect()
	if len(d.Env) > 0 || d.Cwd != "/" || d.Session != d.PID || d.Umask != 0o077 || d.Stdin != "/dev/null" {
		t.Errorf("it has %+v", d)
	}
	if socket != h.Resident.Socket {
		t.Errorf("it listens on %s", socket)
	}
	if fi, err := os.Lstat(socket); err != nil || fi.Mode() != os.ModeSocket|0o600 {
		t.Errorf("the socket: %v, %v", fi.Mode(), err)
	}
	if text, _ := os.ReadFile(h.lock); string(text) != fmt.Sprintf("%d %s\n", d.PID, socket) {
		t.Errorf("the lock says %q", text)
	}
	if again, _ := h.connect(); again.PID != d.PID {
		t.Errorf("process %d, then %d", d.PID, again.PID)
	}
}

func TestManyClientsStartOne(t *testing.T) {
	h := newResident(t, "")
	var wg sync.WaitGroup
	pids := make([]int, 10)
	for i := range pids {
		wg.Go(func() {
			d, _, err := h.try(context.Background())
			if err != nil {
				t.Error(err)
			}
			pids[i] = d.PID
		})
	}
	wg.Wait()
	if slices.Min(pids) != slices.Max(pids) {
		t.Errorf("processes %v", pids)
	}
}

// Killed at any moment, it is started again by the next client.
func TestKilledIsStartedAgain(t *testing.T) {
	h := newResident(t, "")
	last := 0
	for range 3 {
		d, socket := h.connect()
		if d.PID == last {
			t.Fatalf("process %d answers after its end", last)
		}
		last = d.PID
		syscall.Kill(d.PID, syscall.SIGKILL)
		gone(t, d.PID)
		if _, err := os.Lstat(socket); err != nil {
			t.Errorf("a killed one left no socket: %v", err)
		}
	}
}

// One that waits for its turn ends when it is told to.
func TestWaitEnds(t *testing.T) {
	h := newResident(t, "")
	h.connect()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	var said strings.Builder
	go func() {
		ended <- Live(ctx, Place{Lock: h.lock, Socket: h.Resident.Socket, Said: &said, Waits: true}, nil)
	}()
	select {
	case err := <-ended:
		t.Fatalf("it does not wait: %q, %v", &said, err)
	case <-time.After(100 * time.Millisecond):
	}
	cancel()
	select {
	case err := <-ended:
		if err != nil || said.Len() > 0 {
			t.Errorf("%q, %v", &said, err)
		}
	case <-time.After(soon):
		t.Fatal("it does not end")
	}
}

// A client with another runtime directory finds the one that lives.
func TestOtherRuntimeDirectory(t *testing.T) {
	h := newResident(t, "")
	d, socket := h.connect()
	other := *h
	other.Resident.Socket = filepath.Join(t.TempDir(), "r.sock")
	if got, where := other.connect(); got.PID != d.PID || where != socket {
		t.Errorf("process %d at %s, want %d at %s", got.PID, where, d.PID, socket)
	}
}

// Two state directories in one runtime directory have a resident each, and a
// client never meets the other's.
func TestOtherStateDirectory(t *testing.T) {
	a := newResident(t, "")
	b := newResident(t, a.dir)
	da, sa := a.connect()
	db, sb := b.connect()
	if da.PID == db.PID || sa == sb {
		t.Fatalf("process %d at %s, and %d at %s", da.PID, sa, db.PID, sb)
	}
	// The place of a killed one is taken over, and not believed to be its own.
	syscall.Kill(da.PID, syscall.SIGKILL)
	gone(t, da.PID)
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		conn, err := net.Dial("unix", sa) // its last thread may still hold the socket
		if err != nil {
			break
		}
		conn.Close()
		if time.Now().After(deadline) {
			t.Fatal("somebody listens in its place")
		}
	}
	c := newResident(t, a.dir)
	dc, sc := c.connect()
	if sc != sa {
		t.Errorf("the third listens at %s, want %s", sc, sa)
	}
	again, where := a.connect()
	if again.PID == dc.PID || where == sc {
		t.Errorf("the first is process %d at %s, the third's", again.PID, where)
	}
	if got, _ := b.connect(); got.PID != db.PID {
		t.Errorf("the second is process %d, was %d", got.PID, db.PID)
	}
}

func TestBusy(t *testing.T) {
	h := newResident(t, "")
	h.connect()
	var said strings.Builder
	if err := Live(context.Background(), Place{Lock: h.lock, Socket: h.Resident.Socket, Said: &said}, nil); err != nil || said.String() != "busy\n" {
		t.Errorf("it says %q, %v", &said, err)
	}
}

func TestStartFails(t *testing.T) {
	for program, want := range map[string]string{
		"complains": "kxd complains: the state directory is on fire",
		"dies":      "ended before it listened",
		"hangs":     "kxd hangs does not answer",
	} {
		t.Run(program, func(t *testing.T) {
			h := newHome(t, "", program)
			starting, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_, err := h.Resident.start(starting)
			if e := fail.As(err); err == nil || e.Exit != fail.ExitUnavailable || !strings.Contains(e.Msg, want) || e.Hint != "kx doctor" {
				t.Errorf("%v, want %s", err, want)
			}
			if program == "hangs" {
				var pid int
				text, _ := os.ReadFile(h.lock)
				fmt.Sscan(string(text), &pid)
				gone(t, pid)
			}
		})
	}
	h := newResident(t, "")
	h.Resident.Kxd = filepath.Join(t.TempDir(), "kxd")
	if _, _, err := h.try(context.Background()); fail.Exit(err) != fail.ExitUnavailable || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("without a program: %v", err)
	}
}

// What is known of a failure is told as it is.
func TestFailure(t *testing.T) {
	newer := fail.Unavailable("newer_host", "it is newer").WithHint("kx version")
	for name, c := range map[string]struct {
		err  error
		want *fail.Error
	}{
		"an answer":  {&socket.Error{Code: "not_pending", Exit: 7, Message: "it is answered", Hint: "kx approve list"}, fail.New("not_pending", 7, "it is answered").WithHint("kx approve list")},
		"of kx":      {fmt.Errorf("%w", newer), newer},
		"unexpected": {io.ErrUnexpectedEOF, fail.Unavailable("no_host", "the host can't be reached: unexpected EOF").WithHint("kx doctor")},
	} {
		got := fail.As(Failure("the host", c.err))
		if got == nil || got.Code != c.want.Code || got.Exit != c.want.Exit || got.Msg != c.want.Msg || got.Hint != c.want.Hint {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if err := Failure("the host", nil); err != nil {
		t.Errorf("without one: %v", err)
	}
	if err := Failure("the host", context.Canceled); err != context.Canceled {
		t.Errorf("of one who gave up: %v", err)
	}
}

// Whoever asks may stop waiting.
func TestConnectEndsWithItsContext(t *testing.T) {
	h := newHome(t, "", "hangs")
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for {
			if b, _ := os.ReadFile(h.lock); len(b) > 0 {
				cancel()
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if _, _, err := h.try(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	// The lock is held by somebody who never listens.
	unlock, ok, err := fsx.TryLock(h.lock)
	if err != nil || !ok {
		t.Fatal(err)
	}
	defer unlock()
	h.Resident.Args[0] = "resident"
	h.Resident.Args = append(h.Resident.Args, "--version", "1.0.0", "--idle", "1h")
	ctx, cancel = context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if _, _, err := h.try(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it ended with %v", err)
	}
}

func BenchmarkFreshStart(b *testing.B) {
	dir, err := os.MkdirTemp("", "kx")
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(dir)
	kxd := filepath.Join(dir, "kxd")
	build := exec.Command("go", "build", "-tags", "urfave_cli_no_docs", "-ldflags", "-s -w", "-o", kxd, "../../cmd/kxd")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	st, err := state.Open(filepath.Join(dir, "state"))
	if err != nil {
		b.Fatal(err)
	}
	key, err := st.HostKey()
	if err != nil {
		b.Fatal(err)
	}
	r := Resident{
		Kxd: kxd, Args: []string{"approve", "--state-dir", st.Dir()}, Socket: filepath.Join(dir, "r.sock"), Lock: resident.Lock(st.Dir(), resident.Approve),
		KeyName: "host", Key: key,
	}
	for b.Loop() {
		c, err := r.Connect(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		c.Close()
		pid, _, _ := resident.Read(r.Lock)
		syscall.Kill(pid, syscall.SIGKILL)
		for alive(pid) {
			time.Sleep(time.Millisecond)
		}
		b.StartTimer()
	}
}
