package disk

import (
	"cmp"
	"slices"
)

// Kind is what happened to a file.
type Kind int

// The kinds; a rename is Deleted and Created.
const (
	Created Kind = iota + 1
	Changed
	Deleted
)

func (k Kind) String() string { return [...]string{"none", "created", "changed", "deleted"}[k] }

// Change is a file that two snapshots don't agree on.
type Change struct {
	Path string
	Kind Kind
}

// Diff is what happened between two snapshots of one Scanner, sorted by path. Without
// an old one, all files are Created.
func Diff(old, new *Snapshot) []Change {
	var list []Change
	var was map[string]File
	if old != nil {
		was = old.Files
	}
	for path, f := range new.Files {
		if before, ok := was[path]; !ok {
			list = append(list, Change{path, Created})
		} else if before != f {
			list = append(list, Change{path, Changed})
		}
	}
	for path := range was {
		if _, ok := new.Files[path]; !ok {
			list = append(list, Change{path, Deleted})
		}
	}
	slices.SortFunc(list, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	return list
}
