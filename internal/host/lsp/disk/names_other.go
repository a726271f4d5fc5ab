//go:build !linux

package disk

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// readNames reads the names of the open folder.
func (r *reader) readNames() error {
	fd, err := unix.FcntlInt(uintptr(r.dir), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	d := os.NewFile(uintptr(fd), "")
	defer d.Close()
	entries, err := d.ReadDir(-1)
	for _, e := range entries {
		k := unknown
		switch e.Type() {
		case 0:
			k = file
		case fs.ModeDir:
			k = directory
		case fs.ModeSymlink:
			k = symlink
		}
		r.add([]byte(e.Name()), k)
	}
	return err
}

// ofKernel reports whether the open folder has no files but what the kernel tells.
func (r *reader) ofKernel() bool { return false }
