//go:build !linux

package fsx

import (
	"os"
	"path/filepath"
)

// Where is the path of an open file, without links. It is what the name leads to now:
// where there are no walls nothing is kept from programs for certain.
func Where(f *os.File) (string, error) { return filepath.EvalSymlinks(f.Name()) }
