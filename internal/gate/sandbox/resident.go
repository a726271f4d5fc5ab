package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/base/jail"
	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/record/scratch"
)

// warm are caches that a program which lives long changes on top. What is in them has
// its hash for a name, so that a layer may miss what is new below it. All others it
// reads as they are: in a layer it would not see what is installed meanwhile.
// The variable names the folder, or the one that it is in.
var warm = []struct{ name, path, env, value string }{
	{"go-build", ".cache/go-build", "GOCACHE", ".cache/go-build"},
	{"gopls", ".cache/gopls", "GOPLSCACHE", ".cache"},
}

// cacheFolder is the cache in the temp of a program.
const cacheFolder = ".cache"

// Resident makes the plan for a program of that name that lives for longer than a
// call: it reads the workspace and the caches of the user, has no network, and writes
// in a /tmp and a cache of its own, which stay for its next start.
func (s *Sandbox) Resident(at Place, name string, argv []string, dir string) (*Cell, error) {
	walls := s.Walls()
	p := &jail.Plan{Kind: walls.Kind, Argv: argv, Dir: dir, Minimal: s.Dirs.UID == 0}
	b := &build{Sandbox: s, place: at, prof: ReadOnly, plan: p}
	own, err := s.Scratch.Layers(at.Workspace + "\x00" + name)
	if err != nil {
		return nil, err
	}
	b.release = append(b.release, own.Release)
	temp, _, err := own.Layer("temp")
	put := putInto(temp)
	if err == nil {
		err = os.MkdirAll(filepath.Join(temp, cacheFolder), 0o700)
	}
	if err != nil {
		b.leave()
		return nil, fail.Failed("scratch", "%s has no place for its files: %v", name, fsx.Reason(err)).Because(err)
	}
	steps := []func() error{b.masks, b.hide}
	switch walls.Kind {
	case jail.Full:
		for _, t := range temps {
			if fi, err := os.Lstat(t); err == nil && fi.IsDir() {
				b.mount(jail.Mount{Source: temp, Target: t})
			}
		}
		temp = temps[0]
		steps = []func() error{b.keepInSight, func() error { return b.warm(own, walls.Layers) }, b.masks, b.sockets, b.hide}
	case jail.Landlock:
		b.mount(jail.Mount{Source: temp, Target: temp})
		steps = append(steps, b.real)
	default:
		steps = nil
	}
	for _, step := range steps {
		if err := step(); err != nil {
			b.leave()
			return nil, err
		}
	}
	cache := filepath.Join(temp, cacheFolder)
	env := append(b.env, "TMPDIR="+temp, "XDG_CACHE_HOME="+cache)
	return &Cell{
		Plan: p, Label: s.Label(ReadOnly), Env: env, Cache: cache, Put: put, Holds: at.holds(p.Masked),
		Leave: b.leave, Broken: s.Scratch.ForgetWalls,
	}, nil
}

// putInto returns what writes a program into the cache in a temp. A resident may have
// put anything there: it is never written through.
func putInto(temp string) func(name, text string) error {
	return func(name, text string) error {
		root, err := os.OpenRoot(temp)
		if err != nil {
			return err
		}
		defer root.Close()
		at := filepath.Join(cacheFolder, name)
		if err := root.RemoveAll(at); err != nil {
			return err
		}
		f, err := root.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
		if err != nil {
			return err
		}
		_, err = f.WriteString(text)
		return errors.Join(err, f.Close())
	}
}

// warm lays folders of the program over the caches that may have it.
func (b *build) warm(own *scratch.Layers, layers bool) error {
	for _, c := range warm {
		dir := filepath.Join(b.Dirs.Home, c.path)
		if fi, err := os.Lstat(dir); !layers || err != nil || !fi.IsDir() || paths.Inside(dir, b.place.Workspace) {
			continue
		}
		upper, work, err := own.Layer(c.name)
		if err != nil {
			return err
		}
		b.mount(jail.Mount{Source: dir, Target: dir, Upper: upper, Work: work})
		b.env = append(b.env, c.env+"="+filepath.Join(b.Dirs.Home, c.value))
	}
	return nil
}

// holds remembers what is masked. A mask is on a file, not on its name: one that is
// put in its place is in sight, and one that gets another name stays masked. Nor is a
// mask on what wasn't there.
func (p Place) holds(masked []string) func() bool {
	is := func(path string) (is file) {
		if fi, err := os.Lstat(path); err == nil {
			is = file{fsx.Inode(fi), fi.Mode().Type(), true}
		}
		return is
	}
	before := make([]file, len(masked))
	for i, path := range masked {
		before[i] = is(path)
	}
	had := p.few()
	return func() bool {
		for _, path := range p.few() {
			if !slices.Contains(had, path) {
				return false
			}
		}
		for i, path := range masked {
			if now := is(path); now != before[i] && (now.there || before[i].kind.IsRegular()) {
				return false
			}
		}
		return true
	}
}

// few are the files that hidden patterns without a ** match now: there are few to look
// at. What the others match in the workspace is found by whoever looks at all of it, and
// outside of it when a resident starts.
func (p Place) few() (list []string) {
	for _, pattern := range p.Hidden {
		if strings.Contains(pattern, "**") {
			continue
		}
		base, rest := doublestar.SplitPattern(pattern)
		found, _ := doublestar.Glob(os.DirFS(base), rest, doublestar.WithNoFollow()) // what can't be read nobody sees
		for _, path := range found {
			list = append(list, filepath.Join(base, path))
		}
	}
	return list
}

type file struct {
	inode uint64
	kind  fs.FileMode
	there bool
}

// Hides reports whether a path would be masked that was not there when the masks were
// made: by its own name, or with a folder above it.
func (p Place) Hides(path string) bool {
	for _, pattern := range p.Hidden {
		bases := []string{"/"}
		if strings.HasPrefix(pattern, "**/") {
			bases = append([]string{p.Workspace}, p.Writable...)
		}
		for _, base := range bases {
			for at := path; at != base && paths.Inside(base, at); at = filepath.Dir(at) {
				rel := strings.TrimPrefix(strings.TrimPrefix(at, base), "/")
				if ok, err := doublestar.Match(strings.TrimPrefix(pattern, "/"), rel); ok || err != nil {
					return true
				}
			}
		}
	}
	return false
}
