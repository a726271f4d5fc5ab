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
		c.end(exited)
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
			err = fmt.Errorf("the first process of the sandbox was ended (exit status %d)", res.ExitCode)
		}
	}
	c.finish(&res)
	return res, err
}

// end ends the command, softly at first: the first process passes TERM on.
func (c *command) end(exited <-chan struct{}) {
	_ = c.cmd.Process.Signal(unix.SIGTERM)
	select {
	case <-exited:
		return
	case <-time.After(killGrace):
	}
	_ = c.cmd.Process.Kill()
	<-exited // the kernel has ended the namespace by then
}
