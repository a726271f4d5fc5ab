package jail

import (
	"errors"
	"syscall"
	"unsafe"
)

// everyThread makes a system call on all threads. A program that links C can't:
// there the calling thread is all, which is locked to the goroutine that starts
// the program; that the others keep their capabilities is of no use to anybody
// who can't reach into this process.
func everyThread(trap, a, b, c uintptr) error {
	_, _, no := syscall.AllThreadsSyscall(trap, a, b, c)
	if errors.Is(no, syscall.ENOTSUP) {
		_, _, no = syscall.RawSyscall(trap, a, b, c)
	}
	if no != 0 {
		return no
	}
	return nil
}

func pointer[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }
