package term

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushRead is FREAD of <sys/fcntl.h>: the input queue.
const flushRead = 1

// These read and set how a terminal takes what is typed.
const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
)

// discardInput waits until all is on the screen that was written to the terminal
// f, then throws away what was typed meanwhile.
func discardInput(f *os.File) error {
	return control(f, func(fd int) error {
		if err := unix.IoctlSetInt(fd, unix.TIOCDRAIN, 0); err != nil {
			return err
		}
		return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, flushRead)
	})
}
