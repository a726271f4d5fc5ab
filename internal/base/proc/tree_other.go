//go:build !linux

package proc

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// adopt does nothing: this system has no subreaper.
func adopt() error { return nil }

// Spawn starts cmd as a child that no command's end may touch.
func Spawn(cmd *exec.Cmd) error { return cmd.Start() }

// mortal does nothing: this system ends no child with its parent.
func mortal(*syscall.SysProcAttr) {}

// forget does nothing: only the group of a command is ended here.
func forget(int) {}

// tree is the process group of a command. What leaves it by setsid is not
// found here.
type tree struct{ leader int }

func (t *tree) alive() []int {
	if errors.Is(unix.Kill(-t.leader, 0), unix.ESRCH) {
		return nil
	}
	return []int{t.leader}
}

func (t *tree) signal(sig unix.Signal) { _ = unix.Kill(-t.leader, sig) }

// Memory is not told here.
func Memory(int) int64 { return 0 }

// Kill ends the process group of a process at once, and returns it if that failed.
func Kill(pid int) (left []int) {
	t := &tree{leader: pid}
	t.signal(unix.SIGKILL)
	if !t.gone(giveUp) {
		return []int{pid}
	}
	return nil
}
