package term

import (
	"os"

	"golang.org/x/sys/unix"
)

// These read and set how a terminal takes what is typed.
const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS
)

// discardInput waits until all is on the screen that was written to the terminal
// f, then throws away what was typed meanwhile.
func discardInput(f *os.File) error {
	return control(f, func(fd int) error {
		if err := unix.IoctlSetInt(fd, unix.TCSBRK, 1); err != nil {
			return err
		}
		return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH)
	})
}
