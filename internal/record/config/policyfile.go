package config

import (
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

// WritePolicy replaces the user's policy file as a whole and returns its path and
// the sha256 of what it says now. A link that a person made there stays, and so
// does the mode.
func WritePolicy(dir string, text []byte) (path, digest string, err error) {
	path = filepath.Join(dir, UserPolicy)
	mode := fs.FileMode(0o600)
	switch real, err := filepath.EvalSymlinks(path); {
	case err == nil:
		path = real
		if fi, err := os.Stat(path); err == nil {
			mode = fi.Mode().Perm()
		}
	case !errors.Is(err, fs.ErrNotExist):
		return path, "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return path, "", err
	}
	sum := sha256.Sum256(text)
	return path, hex.EncodeToString(sum[:]), fsx.WriteFile(path, text, mode)
}
