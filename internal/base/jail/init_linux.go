package jail

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A process named Name is the first one behind the walls and nothing else. It
// branches off here, and not in main, so that a call does not pay for the
// initialisation of all the rest of kx.
func init() {
	if len(os.Args) > 0 && os.Args[0] == Name {
		os.Exit(first())
	}
}

const (
	// linger is what is left of a program after its end may go on by itself:
	// `> >(tee log)` is still writing its last lines then.
	linger = 100 * time.Millisecond
	// grace is what is left then has between TERM and the end.
	grace = 800 * time.Millisecond
	// statusFailed is the exit status if the walls could not be built; the
	// report says why.
	statusFailed = 125
)

// step is a failure to build the walls.
type step struct {
	what string
	err  error
}

func (s *step) Error() string { return s.what + ": " + s.err.Error() }

func (s *step) Unwrap() error { return s.err }

func at(what string, err error) error {
	if err == nil {
		return nil
	}
	return &step{what, err}
}

// first is the life of the first process.
func first() int {
	keepFiles()
	out := os.NewFile(reportFD, "report")
	p, err := readPlan()
	var r Report
	if err == nil {
		if p.Kind == Full {
			r, err = live(p)
		} else {
			err = become(p)
		}
	}
	if err != nil {
		r = Report{Exit: statusFailed, Failed: err.Error()}
		var s *step
		var no unix.Errno
		if errors.As(err, &s) && errors.As(s.err, &no) {
			r.Failed, r.Errno = s.what, int(no)
		}
	}
	if json.NewEncoder(out).Encode(r) != nil {
		return statusFailed
	}
	return r.Exit
}

// keepFiles closes to the program what this process was given: its own pipes, and
// whatever kx has inherited from who started it.
func keepFiles() {
	if unix.CloseRange(specFD, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	open, _ := os.ReadDir("/proc/self/fd") // kernels before 5.11
	for _, e := range open {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= specFD {
			unix.CloseOnExec(fd)
		}
	}
}

func readPlan() (*Plan, error) {
	spec := os.NewFile(specFD, "plan")
	defer spec.Close()
	raw, err := io.ReadAll(spec)
	var p Plan
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if err == nil && len(p.Argv) == 0 {
		err = errors.New("it names no program")
	}
	if err != nil {
		return nil, fmt.Errorf("%s is started by kx; users never type it: the plan can't be read: %w", Name, err)
	}
	return &p, nil
}

// live builds the walls, runs the program and ends what is left of it.
func live(p *Plan) (Report, error) {
	go func() { // the other end closes when the process that started us ends
		_, _ = os.NewFile(lifelineFD, "lifeline").Read(make([]byte, 1))
		os.Exit(statusFailed)
	}()
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2, unix.SIGQUIT)
	b := &builder{Plan: p}
	if err := b.build(); err != nil {
		return Report{}, err
	}
	child, err := p.start()
	if err != nil {
		return Report{}, err
	}
	go func() {
		for s := range signals {
			_ = unix.Kill(-child, s.(unix.Signal))
		}
	}()
	r := wait(child)
	r.OwnProc = b.ownProc
	finish()
	return r, nil
}

// start starts the program on a thread of its own, which alone is bound by
// Landlock: its domain is the program's, and this process must be able to signal
// it. Capabilities go on that same thread, since a program that links C can't take
// them from the others. The thread ends with the goroutine.
func (p *Plan) start() (pid int, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if err = dropCapabilities(); err != nil {
			return
		}
		if err = p.bind(); err != nil {
			return
		}
		cmd := &exec.Cmd{
			Path: p.Argv[0], Args: p.Argv, Env: os.Environ(), Dir: p.Dir,
			Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
			SysProcAttr: &syscall.SysProcAttr{Setsid: true},
		}
		if err = cmd.Start(); err == nil {
			pid = cmd.Process.Pid
		}
		err = at("start "+p.Argv[0], err)
	}()
	<-done
	return pid, err
}

// bind applies what holds for the calling thread and for what it starts.
func (p *Plan) bind() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return at("set no_new_privs", err)
	}
	if err := noKeys(); err != nil && !errors.Is(err, unix.EINVAL) { // a kernel without filters
		return at("take the keys away", err)
	}
	if p.Kind == None {
		return nil
	}
	return p.landlock()
}

// become turns this process into the program, behind what walls there are.
func become(p *Plan) error {
	runtime.LockOSThread()
	if os.Geteuid() == 0 {
		// The superuser of a container may not be allowed to give them up.
		if err := dropCapabilities(); err != nil && !errors.Is(err, unix.EPERM) {
			return err
		}
	}
	if err := p.bind(); err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return at("forbid core dumps", err)
	}
	return at("start "+p.Argv[0], unix.Exec(p.Argv[0], p.Argv, os.Environ()))
}

// wait reaps until the program has ended.
func wait(child int) Report {
	for {
		var st unix.WaitStatus
		pid, err := unix.Wait4(-1, &st, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR) || err == nil && pid != child:
			continue
		case err != nil:
			return Report{Exit: statusFailed, Failed: "wait for the program: " + err.Error()}
		case st.Signaled():
			return Report{Exit: 128 + int(st.Signal()), Signal: unix.SignalName(st.Signal())}
		}
		return Report{Exit: st.ExitStatus()}
	}
}

// finish ends what is left. The kernel kills whatever is still there when this
// process ends.
func finish() {
	if alone(linger) {
		return
	}
	_ = unix.Kill(-1, unix.SIGTERM)
	_ = unix.Kill(-1, unix.SIGCONT) // a stopped process would not hear of the TERM
	alone(grace)
}

// alone reports whether this process has no children any more, waiting for it at
// most d.
func alone(d time.Duration) bool {
	const slowest = 16 * time.Millisecond
	deadline := time.Now().Add(d)
	for pause := 250 * time.Microsecond; ; pause = min(2*pause, slowest) {
		for {
			pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
			if errors.Is(err, unix.ECHILD) {
				return true
			}
			if err != nil && !errors.Is(err, unix.EINTR) || err == nil && pid <= 0 {
				break
			}
		}
		if !time.Now().Before(deadline) {
			return false
		}
		time.Sleep(pause)
	}
}
