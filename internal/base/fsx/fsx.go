// Package fsx writes files so that a crash at any moment leaves the old or the
// new content, never a mixture: small records by write, fsync and rename; lines
// by one write each, with the torn end of a killed writer moved aside; locks
// whose file is never removed. The record packages stand on it.
//
// Temporary files begin with a dot, so whoever lists a directory of records
// passes over names that do.
package fsx

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/google/renameio/v2"
	"github.com/kxtools/kx/internal/base/fail"
)

// WriteFile replaces the content of path, all or nothing, and returns when it
// is on disk. perm is the mode of the file whatever the umask is; 0 means 0600.
func WriteFile(path string, data []byte, perm os.FileMode) error {
	tmp, err := prepare(path, data, perm)
	if err != nil {
		return err
	}
	defer tmp.Cleanup()
	if err := tmp.CloseAtomicallyReplace(); err != nil {
		return writeError(path, err)
	}
	return SyncDir(filepath.Dir(path))
}

// CreateExcl is WriteFile for a path that must not exist yet: of several
// callers one wins, and nobody ever sees a part of its content. For the others
// errors.Is(err, fs.ErrExist) holds.
func CreateExcl(path string, data []byte, perm os.FileMode) error {
	tmp, err := prepare(path, data, perm)
	if err != nil {
		return err
	}
	defer tmp.Cleanup()
	if err := tmp.Sync(); err != nil {
		return writeError(path, err)
	}
	switch err := os.Link(tmp.Name(), path); {
	case errors.Is(err, fs.ErrExist):
		return fail.Conflict("exists", "%s exists already", path).Because(fs.ErrExist)
	case err != nil:
		return writeError(path, err)
	}
	return SyncDir(filepath.Dir(path))
}

// prepare writes data to a temporary file beside path.
func prepare(path string, data []byte, perm os.FileMode) (*renameio.PendingFile, error) {
	if perm == 0 {
		perm = 0o600
	}
	tmp, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithStaticPermissions(perm))
	if err != nil {
		return nil, writeError(path, err)
	}
	if _, err := tmp.Write(data); err != nil {
		tmp.Cleanup()
		return nil, writeError(path, err)
	}
	return tmp, nil
}

// SyncDir makes the names in dir durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return writeError(dir, err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return writeError(dir, err)
	}
	return nil
}

// ReadRegular reads a file that somebody else may have put there: it does not
// wait for a pipe, nor read a device or more than max bytes. A missing file is
// fs.ErrNotExist. The caller judges owner and mode by the FileInfo, which is of
// the file that was read.
func ReadRegular(path string, max int64) ([]byte, os.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	return ReadOpen(f, max)
}

// ReadOpen is ReadRegular for an open file.
func ReadOpen(f *os.File, max int64) ([]byte, os.FileInfo, error) {
	fi, err := f.Stat()
	switch {
	case err != nil:
		return nil, nil, err
	case !fi.Mode().IsRegular():
		return nil, nil, fail.Failed("not_regular", "%s is not a regular file", f.Name())
	}
	data, err := io.ReadAll(io.LimitReader(f, max+1))
	if err != nil {
		return nil, nil, err
	}
	if int64(len(data)) > max {
		return nil, nil, fail.Limit("too_large", "%s is larger than %d KiB", f.Name(), max>>10)
	}
	return data, fi, nil
}

// Owner returns the uid that a file belongs to.
func Owner(fi os.FileInfo) int {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

// Inode returns the number by which a file system knows a file.
func Inode(fi os.FileInfo) uint64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}

// writeError says what could not be written and why. A full disk is named.
func writeError(path string, err error) error {
	hint := "ls -ld " + filepath.Dir(path)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		hint = "df -h " + filepath.Dir(path)
	}
	return fail.Failed("write", "%s can't be written: %v", path, Reason(err)).WithHint("%s", hint).Because(err)
}

// Reason is err without the operation and the path, for a message that names
// them itself.
func Reason(err error) error {
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &pe):
		return pe.Err
	case errors.As(err, &le):
		return le.Err
	}
	return err
}
