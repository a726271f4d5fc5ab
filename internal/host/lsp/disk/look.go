package disk

import (
	"slices"

	"golang.org/x/sys/unix"
)

// Look looks at one file, whose contents it does not compare.
func Look(path string) (File, error) {
	var st, link unix.Stat_t
	if err := retry(func() error { return unix.Lstat(path, &st) }); err != nil {
		return File{}, err
	}
	if kindOf(&st) == symlink {
		link = st
		if err := retry(func() error { return unix.Stat(path, &st) }); err != nil {
			return File{}, err
		}
	}
	return fileOf(&st, &link), nil
}

// Same reports whether two looks saw the same file with the same times and size. What
// only its contents showed does not count.
func (f File) Same(o File) bool {
	f.Edit, o.Edit = 0, 0
	return f == o
}

// Paths are those of all files, sorted.
func (s *Snapshot) Paths() []string {
	list := make([]string, 0, len(s.Files))
	for path := range s.Files {
		list = append(list, path)
	}
	slices.Sort(list)
	return list
}
