package term

import (
	"os"

	"golang.org/x/sys/unix"
)

// discardInput throws away what was typed ahead on the terminal f.
func discardInput(f *os.File) error {
	return unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH)
}
