package proc

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kxtools/kx/internal/base/jail"
)

// Child is a process of Start.
type Child struct {
	cmd    *exec.Cmd
	cell   *jail.Cell // nil without walls
	walled bool       // it has a pid namespace of its own
}

// Start starts cmd in a session of its own, as a child that lives beside
// commands: no command's end touches it or its session. It does not outlive this
// process, even if that is killed; behind full walls, neither does what came from it
// (on Linux). With a plan the program and the folder are the plan's. The caller waits
// for cmd itself, and has closed or does not need its streams.
func Start(cmd *exec.Cmd, plan *jail.Plan) (*Child, error) {
	c := &Child{cmd: cmd, walled: plan != nil && plan.Kind == jail.Full}
	if plan != nil {
		var err error
		if c.cell, err = jail.Prepare(cmd, plan); err != nil {
			return nil, err
		}
	}
	err := c.start(mortal)
	if c.cell != nil {
		c.cell.Started(err)
	}
	if err == nil {
		leaders.Store(cmd.Process.Pid, c) // also if the caller forgets it: its walls fall with what it holds open
	}
	return c, err
}

// Detach starts cmd as Start does, but leaves it to itself when this process ends,
// however that is.
func Detach(cmd *exec.Cmd) (*Child, error) {
	c := &Child{cmd: cmd}
	return c, c.start(func(*syscall.SysProcAttr) {})
}

func (c *Child) start(bind func(*syscall.SysProcAttr)) error {
	if c.walled {
		return c.cmd.Start()
	}
	if err := adopt(); err != nil {
		return err
	}
	if c.cmd.SysProcAttr == nil {
		c.cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	c.cmd.SysProcAttr.Setsid = true
	bind(c.cmd.SysProcAttr)
	return Spawn(c.cmd)
}

// End ends all that came from the child, as at the end of a command, and returns
// what it could not end.
func (c *Child) End() (left []int) {
	defer leaders.Delete(c.cmd.Process.Pid)
	if c.walled {
		return c.endWalled()
	}
	turn <- struct{}{} // a command's tree can't be told from this one then
	defer func() { <-turn }()
	pid := c.cmd.Process.Pid
	forget(pid)
	return (&tree{leader: pid}).end(0)
}

// endWalled ends the first process of the namespace, with which all others end.
func (c *Child) endWalled() []int {
	if c.ended(0) {
		return nil
	}
	_ = c.cmd.Process.Signal(unix.SIGTERM)
	if c.ended(killGrace) {
		return nil
	}
	_ = c.cmd.Process.Kill()
	if c.ended(giveUp) {
		return nil
	}
	return []int{c.cmd.Process.Pid}
}

// ended reports whether the caller has waited for the child, within d.
func (c *Child) ended(d time.Duration) bool {
	for deadline := time.Now().Add(d); ; time.Sleep(time.Millisecond) {
		if errors.Is(c.cmd.Process.Signal(syscall.Signal(0)), os.ErrProcessDone) {
			return true
		}
		if !time.Now().Before(deadline) {
			return false
		}
	}
}

// Failure says, once the child has ended, why its program was not started; nil if
// it was.
func (c *Child) Failure() error {
	if c.cell == nil {
		return nil
	}
	if r, ok := c.cell.Report(); ok {
		return r.Err()
	}
	return nil
}
