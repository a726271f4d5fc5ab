package host

import (
	"os"
	"syscall"

	"golang.org/x/mod/semver"
)

// compare tells which of two versions of kx is newer, as semver does. What is no
// version, such as one that somebody has built, is as good as any other.
func compare(client, host string) int {
	a, b := "v"+client, "v"+host
	if !semver.IsValid(a) || !semver.IsValid(b) {
		return 0
	}
	return semver.Compare(a, b)
}

// program is the file of a program as it was when the process started.
type program struct {
	path string
	file identity
}

// identity tells a file from the one that takes its place.
type identity struct {
	dev, inode      uint64
	size, sec, nsec int64
}

// self is the program of this process.
func self() program {
	path, err := os.Executable()
	if err != nil {
		return program{}
	}
	p := program{path: path}
	p.file, _ = identify(path)
	return p
}

// replaced reports whether there is another file in its place, or none.
func (p program) replaced() bool {
	if p.path == "" {
		return false
	}
	now, err := identify(p.path)
	return err != nil || now != p.file
}

func identify(path string) (identity, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return identity{}, err
	}
	id := identity{size: fi.Size(), sec: fi.ModTime().Unix(), nsec: int64(fi.ModTime().Nanosecond())}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		id.dev, id.inode = uint64(st.Dev), st.Ino
	}
	return id, nil
}
