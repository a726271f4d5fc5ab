package term

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// suspend stops this process if its parent is a shell that can continue it.
func suspend() (resume func()) {
	parent := os.Getppid()
	group, errGroup := unix.Getpgid(parent)
	session, errSession := unix.Getsid(parent)
	own, err := unix.Getsid(0)
	if errGroup == nil && errSession == nil && err == nil && session == own && group != unix.Getpgrp() {
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	}
	return func() {}
}

// stopped reports whether a child is stopped by a signal. Here nobody can tell without
// taking the news from who waits for its end.
func stopped(int) bool { return true }
