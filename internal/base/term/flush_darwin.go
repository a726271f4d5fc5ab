package term

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushRead is FREAD of <sys/fcntl.h>: the input queue.
const flushRead = 1

// discardInput throws away what was typed ahead on the terminal f.
func discardInput(f *os.File) error {
	return unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, flushRead)
}
