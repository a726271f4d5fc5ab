package judge

import (
	"path/filepath"

	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/gate/sandbox"
)

// Files is the Resolver of the file system, as programs of a session see it.
type Files struct {
	Temp sandbox.Temp

	folders map[string]string // what they are, if that is remembered
}

// Resolve follows the links of a path.
func (f Files) Resolve(path string) (string, error) {
	if !f.Temp.Holds(filepath.Clean(path)) {
		return f.canonical(path)
	}
	real, err := f.canonical(f.Temp.Real(path))
	return f.Temp.Name(real), err
}

func (f Files) canonical(path string) (string, error) {
	dir, name := filepath.Split(path)
	if f.folders == nil || name == "" || filepath.Clean(path) != path || len(path) > maxRemembered {
		return paths.Canonical("/", path)
	}
	real, ok := f.folders[dir]
	if !ok {
		var err error
		if real, err = paths.Canonical("/", dir); err != nil {
			return "", err
		}
		f.folders[dir] = real
	}
	return paths.Below(real, name)
}

// maxRemembered is the longest path whose folder is remembered; of longer ones the
// length itself may be wrong.
const maxRemembered = 1 << 10

// Glob lists what a pattern matches.
func (f Files) Glob(pattern string) ([]string, error) {
	real := f.Temp.Real(pattern)
	found, err := filepath.Glob(real)
	for i, name := range found {
		if real != pattern {
			found[i] = f.Temp.Name(name)
		}
	}
	return found, err
}

// once is Files, but what it said of a path it says again. One call has it, and
// that looks at one path after the other.
type once struct {
	Files
	seen map[string]resolved
}

type resolved struct {
	path string
	err  error
}

func (o *once) Resolve(path string) (string, error) {
	r, ok := o.seen[path]
	if !ok {
		r.path, r.err = o.Files.Resolve(path)
		o.seen[path] = r
	}
	return r.path, r.err
}
