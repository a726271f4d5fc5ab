// Package proc runs a command and leaves nothing of it behind.
//
// A command gets a session of its own without a terminal, the environment it
// is given and no other, /dev/null or given bytes as its input, and no file
// descriptor beyond the first three. When it returns, or when its context
// ends, every process that came from it is ended too: TERM, and KILL after a
// grace. Neither a background job nor a daemon makes Run wait for ever.
//
// To find daemons this process becomes a child subreaper at the first Run: an
// orphan of a command becomes our own child. So commands run one at a time,
// and whoever starts a child in a session of its own that shall outlive a
// command does it with Spawn. Children of our own session (those of os/exec
// as it is) are never touched.
//
// The bash tool runs here, and whatever else runs a command to its end.
package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kxtools/kx/internal/base/jail"
	"github.com/kxtools/kx/internal/base/redact"
)

const (
	// killGrace is what a tree has between TERM and KILL: enough to remove a
	// lock file, too short to be waited for.
	killGrace = 800 * time.Millisecond
	// linger is what is left of a command after it has returned may end by
	// itself: `> >(tee log)` is still writing its last lines then.
	linger = 100 * time.Millisecond
	// giveUp bounds the KILL loop. Only what can't be killed (another user's
	// process, one stuck in the kernel) is left by then.
	giveUp = 2 * time.Second
	// drain is how long the pipes are read on after the tree has ended.
	drain = 200 * time.Millisecond
	// defaultOutCap is kept of each stream where Spec.OutCap is 0.
	defaultOutCap = 64 << 10
)

// Spec is a command to run.
type Spec struct {
	Argv   []string // Argv[0] is the path of the program; PATH is not searched
	Dir    string
	Env    []string // the whole environment, see Env
	Stdin  []byte   // nil is /dev/null
	OutCap int      // bytes kept of each stream, half from its start, half from its end

	// Secrets are taken out of both streams before anything is left out; nil for
	// none.
	Secrets *redact.Redactor

	// Jail has the walls around the command, whose program and folder it names;
	// nil for none.
	Jail *jail.Plan
}

// Result is how a command ended. Where a stream was longer than Spec.OutCap, a
// line in its middle says how many bytes are left out.
type Result struct {
	ExitCode  int    // 128+n where signal n ended it
	Signal    string // the name of that signal, or ""
	Stdout    []byte
	Stderr    []byte
	Truncated bool
	TimedOut  bool // the deadline of the context ended it
	Duration  time.Duration
	Left      []int // processes that could not be ended
}

// turn holds the one command of this process: a subreaper can't tell the
// orphans of two commands apart.
var turn = make(chan struct{}, 1)

// Run runs s to its end. The error says that the command could not be started,
// or is the error of ctx where that ended it (the Result is filled then too).
// A command that exits with another status than 0 is no error.
func Run(ctx context.Context, s Spec) (Result, error) {
	if s.OutCap <= 0 {
		s.OutCap = defaultOutCap
	}
	if s.Jail != nil && s.Jail.Kind == jail.Full {
		return runJailed(ctx, s)
	}
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return Result{}, ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	if err := adopt(); err != nil {
		return Result{}, fmt.Errorf("prepare to run a command: %w", err)
	}
	c, err := start(s)
	if err != nil {
		return Result{}, err
	}
	st, left, err := await(ctx, c.cmd)
	res := Result{Left: left, TimedOut: errors.Is(err, context.DeadlineExceeded)}
	res.ExitCode, res.Signal = status(st)
	if c.cell != nil {
		if r, ok := c.cell.Report(); ok && err == nil {
			err = r.Err() // with a report the command did not run
		}
	}
	c.finish(&res)
	return res, err
}

// command is a command that runs.
type command struct {
	cmd   *exec.Cmd
	pipes *pipes
	cell  *jail.Cell // nil without walls
	began time.Time
}

func start(s Spec) (*command, error) {
	c := &command{began: time.Now()}
	c.cmd = &exec.Cmd{Env: append([]string{}, s.Env...)} // never nil, which would be ours
	var err error
	if c.pipes, err = connect(c.cmd, s); err != nil {
		return nil, fmt.Errorf("open pipes: %w", err)
	}
	if s.Jail != nil {
		c.cell, err = jail.Prepare(c.cmd, s.Jail)
	} else {
		c.cmd.Path, c.cmd.Args, c.cmd.Dir = s.Argv[0], s.Argv, s.Dir
		c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	if err == nil {
		err = c.cmd.Start()
	}
	c.pipes.started()
	if c.cell != nil {
		c.cell.Started(err)
	}
	if err != nil {
		c.pipes.close()
		return nil, err
	}
	leaders.Store(c.cmd.Process.Pid, true)
	return c, nil
}

func (c *command) finish(res *Result) {
	leaders.Delete(c.cmd.Process.Pid)
	c.pipes.finish(res)
	res.Duration = time.Since(c.began)
}

// await waits for cmd, then ends what is left of its tree. It returns the
// error of ctx where that came first, and no state where cmd can't be killed.
func await(ctx context.Context, cmd *exec.Cmd) (st *os.ProcessState, left []int, err error) {
	exited := make(chan *os.ProcessState, 1)
	go func() {
		_ = cmd.Wait() // the state has all there is to know
		exited <- cmd.ProcessState
	}()
	t := &tree{leader: cmd.Process.Pid}
	select {
	case st = <-exited:
		return st, t.end(linger), nil
	case <-ctx.Done():
		left = t.end(0)
	}
	select {
	case st = <-exited:
	case <-time.After(giveUp):
	}
	return st, left, ctx.Err()
}

func status(st *os.ProcessState) (code int, signal string) {
	if st == nil { // it was waited for elsewhere, or can't be: KILL was the last word
		return 128 + int(unix.SIGKILL), unix.SignalName(unix.SIGKILL)
	}
	ws, ok := st.Sys().(syscall.WaitStatus)
	if ok && ws.Signaled() {
		return 128 + int(ws.Signal()), unix.SignalName(ws.Signal())
	}
	return st.ExitCode(), ""
}

// end ends the tree, softly at first, and returns what it could not end.
// The tree may end by itself for as long as patience says.
func (t *tree) end(patience time.Duration) []int {
	if t.gone(patience) {
		return nil
	}
	t.signal(unix.SIGTERM)
	t.signal(unix.SIGCONT) // a stopped process would not hear of the TERM
	if t.gone(killGrace) {
		return nil
	}
	for deadline := time.Now().Add(giveUp); time.Now().Before(deadline); {
		t.signal(unix.SIGSTOP) // what is stopped can't fork between the list and the KILL
		t.signal(unix.SIGKILL)
		if t.gone(20 * time.Millisecond) {
			return nil
		}
	}
	return t.alive()
}

// gone reports whether nothing is alive any more, waiting for it at most d.
func (t *tree) gone(d time.Duration) bool {
	const slowest = 16 * time.Millisecond
	deadline := time.Now().Add(d)
	for pause := time.Millisecond; ; pause = min(2*pause, slowest) {
		// A walk can miss a process that was made while it was on its way, with a
		// number that it had passed; it is a child of this process by the next.
		if len(t.alive()) == 0 && len(t.alive()) == 0 {
			return true
		}
		if !time.Now().Before(deadline) {
			return false
		}
		time.Sleep(pause)
	}
}
