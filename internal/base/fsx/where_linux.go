package fsx

import (
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// gone is what the kernel puts behind the path of a file that was deleted.
const gone = " (deleted)"

// Where is the path of an open file, without links: of this very file, whatever its name
// leads to by now. It is fs.ErrNotExist of one that was deleted.
func Where(f *os.File) (string, error) {
	path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
	if err != nil || !strings.HasSuffix(path, gone) {
		return path, err
	}
	own, err := f.Stat()
	if err != nil {
		return "", err
	}
	if named, err := os.Lstat(path); err != nil || !os.SameFile(own, named) {
		return "", fs.ErrNotExist
	}
	return path, nil
}
