package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/jail"
	"github.com/kxtools/kx/internal/base/proc"
	"github.com/kxtools/kx/internal/base/signals"
	"github.com/kxtools/kx/internal/base/sock"
	"github.com/kxtools/kx/internal/record/resident"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/socket"
	"github.com/kxtools/kx/pkg/wire"
)

// strays is what is left without walls of the child of a child when a resident is killed.
const strays = "sleep 1001"

// framed is a resident with children, one without walls and one behind them; each has
// started another one.
func framed(arg map[string]string) error {
	ctx, stop := signals.Until(context.Background())
	defer stop()
	idle, err := time.ParseDuration(arg["idle"])
	if err != nil {
		return err
	}
	return Run(ctx, Frame{
		Name: arg["name"], State: arg["state"], Socket: arg["socket"], Version: "1.0.0", Idle: idle,
		Begin: func(_ context.Context, _ *state.State, log zerolog.Logger) (sock.Handler, func(), error) {
			log.Info().Msg("it begins")
			plain := exec.Command("/bin/sh", "-c", "setsid "+strays+" & exec sleep 1000")
			if _, err := proc.Start(plain, nil); err != nil {
				return nil, nil, err
			}
			go plain.Wait()
			walled := &exec.Cmd{Env: []string{}}
			if _, err := proc.Start(walled, &jail.Plan{
				Kind: jail.Full, Argv: []string{"/bin/sh", "-c", "setsid sleep 1000 & sleep 1000"}, Dir: "/", Network: true, Minimal: os.Getuid() == 0,
			}); err != nil {
				return nil, nil, err
			}
			go walled.Wait()
			answer := func(ctx context.Context, r *sock.Request, send func(any) error) (any, error) {
				if r.Verb == "crash" {
					for range 3 << 10 { // more than the log and the one before it hold
						log.Info().Msg(strings.Repeat("x", 1<<10))
					}
					panic("these are the last words")
				}
				return tell(ctx, r, send)
			}
			return answer, func() { log.Info().Msg("it ends") }, nil
		},
	}, os.Stdout)
}

// frame is a state directory with residents of the test's own.
type frame struct {
	*testing.T
	st  *state.State
	run string
}

func newFrame(t *testing.T) *frame {
	t.Helper()
	dir, err := os.MkdirTemp("", "kx") // short: a socket's name has 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	st, err := state.Open(filepath.Join(dir, "state"))
	if err != nil {
		t.Fatal(err)
	}
	f := &frame{t, st, dir}
	t.Cleanup(func() {
		for _, e := range resident.List(st.Dir()) {
			if left := proc.Kill(e.PID); len(left) > 0 {
				t.Errorf("processes %v can't be ended", left)
			}
		}
		os.RemoveAll(dir)
	})
	return f
}

// resident is one of a name, which may have another idle time than an hour.
func (f *frame) resident(name string, idle time.Duration) Resident {
	f.Helper()
	exe, err := os.Executable()
	if err != nil {
		f.Fatal(err)
	}
	key, err := f.st.HostKey()
	if err != nil {
		f.Fatal(err)
	}
	return Resident{
		Kxd: exe, Args: []string{"framed", "--name", name, "--state", f.st.Dir(), "--idle", idle.String()},
		Socket: filepath.Join(f.run, name+".sock"), Lock: resident.Lock(f.st.Dir(), name), Version: "1.0.0", KeyName: "host", Key: key,
	}
}

func (f *frame) connect(r Resident) *socket.Client {
	f.Helper()
	c, err := r.Connect(context.Background())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { c.Close() })
	return c
}

// begin makes a request, and returns where it tells how that ended, once it is under
// way.
func (f *frame) begin(c *socket.Client, verb string) <-chan error {
	f.Helper()
	ended := make(chan error, 1)
	go func() { ended <- c.Ask(context.Background(), verb, nil, &told{}) }()
	if err := c.Ask(context.Background(), "tell", nil, &told{}); err != nil { // requests are begun in their order
		f.Fatal(err)
	}
	return ended
}

// closed expects a request to have ended with its host.
func closed(t *testing.T, ended <-chan error) {
	t.Helper()
	select {
	case err := <-ended:
		if !errors.Is(err, socket.ErrClosed) {
			t.Errorf("the request ended with %v", err)
		}
	case <-time.After(soon):
		t.Error("the request hangs")
	}
}

// family is a process with what it has started, once all of that runs, without what
// may stray.
func (f *frame) family(pid int) (pids []int, stray int) {
	f.Helper()
	for deadline := time.Now().Add(soon); ; time.Sleep(5 * time.Millisecond) {
		out, _ := exec.Command("ps", "-eo", "pid=,ppid=,args=").Output()
		sleeping := 0
		pids, stray = []int{pid}, 0
		for again := true; again; {
			again = false
			for _, line := range strings.Split(string(out), "\n") {
				var p, parent int
				_, _ = fmt.Sscan(line, &p, &parent)
				switch from := slices.Contains(pids, parent) && !slices.Contains(pids, p); {
				case from && strings.HasSuffix(line, strays) && !strings.Contains(line, "setsid"):
					stray = p
				case from:
					pids, again = append(pids, p), true
					if strings.HasSuffix(line, " sleep 1000") && !strings.Contains(line, "setsid") {
						sleeping++
					}
				}
			}
		}
		if sleeping == 3 && stray > 0 {
			return pids, stray
		}
		if time.Now().After(deadline) {
			f.Fatalf("process %d has %v with %d sleepers\n%s", pid, pids, sleeping, out)
		}
	}
}

// However a resident ends, all that came from it has gone before the next one starts,
// and the next one starts.
func TestEndTakesAllAlong(t *testing.T) {
	for name, c := range map[string]struct {
		idle time.Duration
		end  func(f *frame, c *socket.Client, pid int)
		hard bool
	}{
		"idle":       {idle: 50 * time.Millisecond, end: func(_ *frame, c *socket.Client, _ int) { c.Close() }},
		"terminated": {end: func(_ *frame, _ *socket.Client, pid int) { syscall.Kill(pid, syscall.SIGTERM) }},
		"stopped": {end: func(f *frame, _ *socket.Client, _ int) {
			if h, err := Stop(context.Background(), f.st, resident.List(f.st.Dir())[0], soon); err != nil || h.State != wire.HostStopped {
				f.Errorf("%+v, %v", h, err)
			}
		}},
		"killed": {hard: true, end: func(_ *frame, _ *socket.Client, pid int) { syscall.Kill(pid, syscall.SIGKILL) }},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFrame(t)
			if c.idle == 0 {
				c.idle = time.Hour
			}
			r := f.resident("one", c.idle)
			client := f.connect(r)
			pid, path, _ := resident.Read(r.Lock)
			all, stray := f.family(pid)
			if c.hard {
				defer syscall.Kill(stray, syscall.SIGKILL)
			} else {
				all = append(all, stray)
			}
			c.end(f, client, pid)
			if name == "stopped" && resident.List(f.st.Dir()) != nil {
				t.Error("it is not over yet")
			}
			for _, p := range all {
				gone(t, p)
			}
			_, left := os.Lstat(path)
			log, _ := os.ReadFile(filepath.Join(f.st.Dir(), "hosts/one.log"))
			if c.hard != (left == nil) || c.hard == strings.Contains(string(log), "it ends") || !strings.Contains(string(log), "it begins") {
				t.Errorf("the socket: %v, the log:\n%s", left, log)
			}
			var d told
			if err := f.connect(r).Ask(context.Background(), "tell", nil, &d); err != nil || d.PID == pid {
				t.Errorf("the next one: %+v, %v", d, err)
			}
		})
	}
}

// One that nobody finds any more makes room for the next one.
func TestNotFound(t *testing.T) {
	for name, lose := range map[string]func(r Resident, socket string) error{
		"socket":          func(_ Resident, socket string) error { return os.Remove(socket) },
		"folder":          func(_ Resident, socket string) error { return os.RemoveAll(filepath.Dir(socket)) },
		"another's place": func(_ Resident, socket string) error { return os.Rename(socket+".other", socket) },
		"lock":            func(r Resident, _ string) error { return os.Remove(r.Lock) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFrame(t)
			r := f.resident("one", time.Hour)
			r.Socket = filepath.Join(f.run, "r", "one.sock")
			if err := errors.Join(os.Mkdir(filepath.Dir(r.Socket), 0o700), os.WriteFile(r.Socket+".other", nil, 0o600)); err != nil {
				t.Fatal(err)
			}
			f.connect(r).Close()
			pid, path, _ := resident.Read(r.Lock)
			all, stray := f.family(pid)
			if err := lose(r, path); err != nil {
				t.Fatal(err)
			}
			for _, p := range append(all, stray) {
				gone(t, p)
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if name == "another's place" {
				if err := os.Remove(path); err != nil {
					t.Errorf("what took its place went with it: %v", err)
				}
			}
			var d told
			if err := f.connect(r).Ask(context.Background(), "tell", nil, &d); err != nil || d.PID == pid {
				t.Errorf("the next one: %+v, %v", d, err)
			}
		})
	}
}

// One whose lock was removed leaves that of the next one alone.
func TestLockRemoved(t *testing.T) {
	f := newFrame(t)
	r := f.resident("one", time.Hour)
	f.connect(r).Close()
	first, _, _ := resident.Read(r.Lock)
	all, stray := f.family(first)
	if err := os.Remove(r.Lock); err != nil {
		t.Fatal(err)
	}
	var second, now told
	if err := f.connect(r).Ask(context.Background(), "tell", nil, &second); err != nil || second.PID == first {
		t.Fatalf("the next one: %+v, %v", second, err)
	}
	for _, p := range append(all, stray) {
		gone(t, p)
	}
	if err := f.connect(r).Ask(context.Background(), "tell", nil, &now); err != nil || now.PID != second.PID {
		t.Errorf("%+v, then %+v, %v", second, now, err)
	}
}

// What is no file is not taken for a lock, nor written to.
func TestLockInTheWay(t *testing.T) {
	f := newFrame(t)
	r := f.resident("one", time.Hour)
	if err := resident.Prepare(f.st, "one"); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(f.run, "other")
	if err := errors.Join(os.WriteFile(other, []byte("mine"), 0o600), os.Symlink(other, r.Lock)); err != nil {
		t.Fatal(err)
	}
	_, err := r.Connect(context.Background())
	if text, _ := os.ReadFile(other); string(text) != "mine" || fail.Exit(err) != fail.ExitUnavailable || !strings.Contains(err.Error(), "is in the way") {
		t.Errorf("%q, %v", text, err)
	}
}

// The last words of one that crashes are in its log, however long that has become.
func TestLastWords(t *testing.T) {
	f := newFrame(t)
	r := f.resident("one", time.Hour)
	c := f.connect(r)
	pid, _, _ := resident.Read(r.Lock)
	_, stray := f.family(pid)
	defer syscall.Kill(stray, syscall.SIGKILL)
	if err := c.Ask(context.Background(), "crash", nil, &told{}); !errors.Is(err, socket.ErrClosed) {
		t.Errorf("the request ended with %v", err)
	}
	log, err := os.ReadFile(filepath.Join(f.st.Dir(), "hosts/one.log"))
	if err != nil || !strings.Contains(string(log), "these are the last words") {
		t.Errorf("%v, the log ends in %q", err, log[max(0, len(log)-100):])
	}
}

// A request that is under way when its resident is stopped may still end; one that
// doesn't is told, and one that listens to nothing is ended with the process.
func TestStopWhileAsked(t *testing.T) {
	f := newFrame(t)
	for verb, want := range map[string]string{"hang": wire.HostStopped, "deaf": wire.HostKilled} {
		r := f.resident(verb, time.Hour)
		ended := f.begin(f.connect(r), verb)
		list, err := List(context.Background(), f.st)
		if err != nil || len(list) != 1 || list[0].Clients != 1 || list[0].Name != verb {
			t.Fatalf("%+v, %v", list, err)
		}
		all, stray := f.family(list[0].PID)
		all = append(all, stray)
		patience := soon
		if want == wire.HostKilled {
			patience = 3 * time.Second // its requests have 2 s
		}
		if h, err := Stop(context.Background(), f.st, resident.List(f.st.Dir())[0], patience); err != nil || h.State != want {
			t.Errorf("%s: %+v, %v", verb, h, err)
		}
		closed(t, ended)
		for _, p := range all {
			gone(t, p)
		}
	}
}

// One that answers late, on a machine under load, still hears that it shall end.
func TestStopLate(t *testing.T) {
	f := newFrame(t)
	f.connect(f.resident("one", time.Hour)).Close()
	e := resident.List(f.st.Dir())[0]
	syscall.Kill(e.PID, syscall.SIGSTOP)
	time.AfterFunc(infoTime+200*time.Millisecond, func() { syscall.Kill(e.PID, syscall.SIGCONT) })
	if h, err := Stop(context.Background(), f.st, e, soon); err != nil || h.State != wire.HostStopped {
		t.Errorf("%+v, %v", h, err)
	}
}

// What does not answer is told of, and can be ended.
func TestSilentOne(t *testing.T) {
	f := newFrame(t)
	r := f.resident("one", time.Hour)
	f.connect(r).Close()
	f.connect(f.resident("two", time.Hour)).Close()
	pid, path, _ := resident.Read(r.Lock)
	all, stray := f.family(pid)
	all = append(all, stray)
	syscall.Kill(pid, syscall.SIGSTOP)
	list, err := List(context.Background(), f.st)
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	if h := list[0]; h.Name != "one" || h.State != wire.HostSilent || h.PID != pid || h.Socket != path || h.Version != "" || h.MemoryBytes < 1<<20 {
		t.Errorf("the silent one is %+v", h)
	}
	if h := list[1]; h.Name != "two" || h.State != wire.HostRunning || h.Version != "1.0.0" || h.StartedAt == nil || h.MemoryBytes < 1<<20 || h.Clients != 0 {
		t.Errorf("the other one is %+v", h)
	}
	if _, err := r.Connect(context.Background()); fail.As(err) == nil || fail.As(err).Code != "no_resident" || fail.As(err).Msg != "kxd framed does not answer" || fail.As(err).Hint != "kx host list" {
		t.Errorf("who needs it is told %+v", fail.As(err))
	}
	if h, err := Stop(context.Background(), f.st, resident.List(f.st.Dir())[0], 100*time.Millisecond); err != nil || h.State != wire.HostKilled {
		t.Errorf("%+v, %v", h, err)
	}
	for _, p := range all {
		gone(t, p)
	}
	if list, err = List(context.Background(), f.st); err != nil || len(list) != 1 || list[0].Name != "two" {
		t.Errorf("%+v, %v", list, err)
	}
}

// A client never talks to an older kx, nor to a newer one.
func TestVersions(t *testing.T) {
	for _, c := range []struct {
		host, client string
		want         string // "same", "another", or the code of an error
	}{
		{"1.0.0", "1.0.0", "same"},
		{"1.0.0", "1.0.1", "another"},
		{"1.0.0-dev", "1.0.0", "another"},
		{"1.10.0", "1.9.0", "newer_host"},
		{"1.0.0", "1.0.0-dev", "newer_host"},
		{"dev", "1.0.0", "same"},
		{"1.0.0", "dev", "same"},
		{"one", "two", "same"},
		{"1.0.0+a", "1.0.0+b", "same"},
	} {
		t.Run(c.host+" and "+c.client, func(t *testing.T) {
			t.Parallel()
			h := newHome(t, "", "resident", "--version", c.host, "--idle", "1h")
			h.Resident.Version = c.host
			first, _ := h.connect()
			h.Resident.Version = c.client
			h.Resident.Args = []string{"resident", "--lock", h.lock, "--version", c.client, "--idle", "1h"}
			second, _, err := h.try(context.Background())
			got := "same"
			switch {
			case err != nil:
				got = fail.As(err).Code
			case second.PID != first.PID:
				got = "another"
			}
			if got != c.want {
				t.Errorf("%s, %v, want %s", got, err, c.want)
			}
			if err != nil && (fail.Exit(err) != fail.ExitUnavailable || fail.As(err).Hint != "kx version" || !alive(first.PID)) {
				t.Errorf("%+v, alive: %v", fail.As(err), alive(first.PID))
			}
		})
	}
	h := newHome(t, "", "resident", "--version", "1.0.0", "--idle", "1h")
	h.Resident.Version = "2.0.0" // whose kxd is an older one
	if _, _, err := h.try(context.Background()); fail.As(err) == nil || fail.As(err).Code != "older_kxd" {
		t.Errorf("an older kxd: %v", err)
	}
}

// replace puts another file in the place of a program, as an upgrade does.
func replace(t *testing.T, path string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(path+".new", os.O_CREATE|os.O_WRONLY, 0o755)
	if err == nil {
		_, err = io.Copy(out, in)
		err = errors.Join(err, out.Close(), os.Rename(path+".new", path))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A resident whose program was replaced ends with its last client, and makes room for
// a new one when one comes; a request that is under way may still be answered.
func TestProgramReplaced(t *testing.T) {
	h := newResident(t, "")
	h.Resident.Kxd = filepath.Join(t.TempDir(), "kxd")
	replace(t, h.Resident.Kxd)
	first, _ := h.connect()
	held := h.held()
	replace(t, h.Resident.Kxd)
	held.Close()
	gone(t, first.PID)

	second, _ := h.connect()
	replace(t, h.Resident.Kxd)
	third, _ := h.connect()
	if alive(second.PID) || third.PID == second.PID {
		t.Errorf("process %d, then %d", second.PID, third.PID)
	}

	f := &frame{T: t}
	asks := h.held()
	hangs := f.begin(asks, "hang")
	replace(t, h.Resident.Kxd)
	var about wire.Host
	if err := asks.Ask(context.Background(), "info", nil, &about); err != nil || about.PID != third.PID || about.Clients != 0 {
		t.Errorf("who only looks sees %+v, %v", about, err)
	}
	if fourth, _ := h.connect(); fourth.PID == third.PID {
		t.Errorf("process %d goes on", third.PID)
	}
	closed(t, hangs)
}
