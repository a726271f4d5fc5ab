package proc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// runJailed runs a command that has a pid namespace of its own: what came from it
// ends with the first process there, so several run at once and nothing has to be
// looked for.
func runJailed(ctx context.Context, s Spec) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	c, err := start(s)
	if err != nil {
		return Result{}, err
	}
	exited := make(chan struct{})
	go func() {
		_ = c.cmd.Wait() // the report and the state have all there is to know
		close(exited)
	}()
	select {
	case <-exited:
	case <-ctx.Done():
		err = ctx.Err()
		if !c.end(exited) { // stuck in the kernel: nobody can wait for that
			return Result{TimedOut: errors.Is(err, context.DeadlineExceeded), ExitCode: 128 + int(unix.SIGKILL), Left: []int{c.cmd.Process.Pid}, Duration: time.Since(c.began)}, err
		}
	}
	res := Result{TimedOut: errors.Is(err, context.DeadlineExceeded)}
	r, ok := c.cell.Report()
	switch {
	case ok:
		res.ExitCode, res.Signal = r.Exit, r.Signal
		if err == nil {
			err = r.Err()
		}
	default:
		res.ExitCode, res.Signal = status(c.cmd.ProcessState)
		if err == nil {
			err = fmt.Errorf("%w (exit status %d)", ErrLost, res.ExitCode)
		}
	}
	c.finish(&res)
	return res, err
}

// ErrLost says that the walls were ended from outside while a command ran: nobody
// knows how far it came.
var ErrLost = errors.New("the first process of the sandbox was ended")

// end ends the command, softly at first: the first process passes TERM on. It
// reports whether all of it has gone.
func (c *command) end(exited <-chan struct{}) bool {
	_ = c.cmd.Process.Signal(unix.SIGTERM)
	select {
	case <-exited:
		return true
	case <-time.After(killGrace):
	}
	_ = c.cmd.Process.Kill()
	select {
	case <-exited: // the kernel has ended the namespace by then
		return true
	case <-time.After(giveUp):
		return false
	}
}
