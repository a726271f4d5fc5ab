package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kxtools/kx/internal/base/fsx"
)

// ReadPolicy returns the user's policy file as it is, nil if there is none.
func ReadPolicy(dir string, uid int) ([]byte, error) {
	f, err := readOwn(filepath.Join(dir, UserPolicy), maxPolicy, uid)
	if f == nil {
		return nil, err
	}
	return f.Data, err
}

// policyLock keeps two that change the user's policy file apart. It lies beside it.
const policyLock = ".policy.lock"

// EditPolicy replaces the user's policy file by what edit makes of it, while
// nobody else does, and returns its path. What edit returns is on disk then; an
// error of it changes nothing, and neither does the text that it was given.
func EditPolicy(dir string, uid int, edit func(old []byte, path string) (text []byte, err error)) (path string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	unlock, err := fsx.Lock(filepath.Join(dir, policyLock))
	if err != nil {
		return "", err
	}
	defer unlock()
	old, err := ReadPolicy(dir, uid)
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, UserPolicy)
	text, err := edit(old, path)
	if err != nil || bytes.Equal(text, old) {
		return path, err
	}
	return path, writePolicy(path, text)
}

// Digest is the sha256 by which the record names a policy file.
func Digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// writePolicy replaces the user's policy file as a whole. A link that a person made
// there stays, and so does the mode.
func writePolicy(path string, text []byte) error {
	mode := fs.FileMode(0o600)
	switch real, err := filepath.EvalSymlinks(path); {
	case err == nil:
		path = real
		if fi, err := os.Stat(path); err == nil {
			mode = fi.Mode().Perm()
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return fsx.WriteFile(path, text, mode)
}
