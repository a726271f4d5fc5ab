package term

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// action has room for a struct sigaction of the kernel, of any architecture.
type action [8]uint64

// maskBytes is the size of a set of signals.
const maskBytes = 8

// suspend has the kernel do what it does at ^Z where nobody handles it: it knows
// whether anybody could continue this process. resume takes the signal back.
// signal.Reset does not give it back to the kernel.
func suspend() (resume func()) {
	var ours, byDefault action
	set := func(to, from *action) bool {
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(syscall.SIGTSTP), uintptr(unsafe.Pointer(to)), uintptr(unsafe.Pointer(from)), maskBytes, 0, 0)
		return errno == 0
	}
	if !set(&byDefault, &ours) {
		return func() {}
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGTSTP)
	return func() { set(&ours, nil) }
}

// stopped reports whether a child is stopped by a signal.
func stopped(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WNOWAIT|unix.WNOHANG, nil)
	return err == nil && info.Signo != 0
}
