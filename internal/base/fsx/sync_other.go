//go:build !linux

package fsx

import "os"

func datasync(f *os.File) error { return f.Sync() }
