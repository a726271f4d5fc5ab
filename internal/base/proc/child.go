package proc

import (
	"os/exec"
	"syscall"
)

// Start starts cmd in a session of its own, as a child that lives beside
// commands: no command's end touches it or its session. end ends all that came
// from it, as at the end of a command, and returns what it could not end. The
// caller waits for cmd itself, and has closed or does not need its streams.
func Start(cmd *exec.Cmd) (end func() (left []int), err error) {
	if err := adopt(); err != nil {
		return nil, err
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true
	if err := Spawn(cmd); err != nil {
		return nil, err
	}
	pid := cmd.Process.Pid
	return func() []int {
		turn <- struct{}{} // a command's tree can't be told from this one then
		defer func() { <-turn }()
		forget(pid)
		return (&tree{leader: pid}).end(0)
	}, nil
}
