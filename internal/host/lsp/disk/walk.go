package disk

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kxtools/kx/internal/base/paths"
)

const (
	// chunk is how many folders are read between two looks at the limits.
	chunk = 1024

	// maxWorkers is where more of them only wait for the disk's locks.
	maxWorkers = 8
)

// system is what a test has another one of.
type system struct {
	now            func() time.Time
	tick           int64 // the steps in which the clock of the disk goes, 0 for none
	files, folders int
}

// tree is a snapshot with what the next look stands on.
type tree struct {
	snap    *Snapshot
	folders map[string]*folder
}

// visit is a folder to be read.
type visit struct {
	path    string
	link    bool // the path is a symlink
	outside bool // of the root
}

// walk is one look. It goes level by level, each in the order of paths, so that what
// is left out beyond the limits is the same each time.
type walk struct {
	*Scanner
	tree
	files   int
	changed bool // any file, against the last look
	links   []string
	seen    map[id]bool // folders outside, which many links may lead to
}

func (s *Scanner) walk(ctx context.Context) (*tree, error) {
	w := &walk{Scanner: s, seen: map[id]bool{}}
	w.snap = &Snapshot{At: s.sys.now(), marks: map[string]string{}}
	w.folders = map[string]*folder{}
	if s.was != nil {
		w.folders = make(map[string]*folder, len(s.was.folders))
	}
	if err := w.below(ctx, visit{path: s.root, link: true}); err != nil {
		return nil, err
	}
	for i := 0; i < len(w.links); i++ { // more are found on the way
		if !w.leadsOut(w.links[i]) {
			continue
		}
		if err := w.below(ctx, visit{path: w.links[i], link: true, outside: true}); err != nil {
			return nil, err
		}
	}
	w.finish()
	return &w.tree, nil
}

// leadsOut reports whether a symlink leads to a folder that is not in the root, where
// it is walked anyway, nor around it, which would be a loop.
func (w *walk) leadsOut(link string) bool {
	to, err := filepath.EvalSymlinks(link)
	return err == nil && !paths.Inside(w.root, to) && !paths.Inside(to, w.root)
}

// below reads a folder and all below it.
func (w *walk) below(ctx context.Context, from visit) error {
	for level := []visit{from}; len(level) > 0; {
		var next []visit
		for len(level) > 0 {
			if len(w.folders) >= w.sys.folders || w.files >= w.sys.files {
				w.snap.Partial = true
				return nil
			}
			part := level[:min(len(level), chunk, w.sys.folders-len(w.folders))]
			level = level[len(part):]
			found, err := w.read(ctx, part)
			if err != nil {
				return err
			}
			for i, f := range found {
				next = append(next, w.take(part[i], f)...)
			}
		}
		level = next
	}
	return nil
}

// read reads some folders at once.
func (w *walk) read(ctx context.Context, part []visit) ([]reading, error) {
	found := make([]reading, len(part))
	var index atomic.Int64
	work := func() {
		var r reader
		r.sys = &w.sys
		for ctx.Err() == nil {
			i := int(index.Add(1)) - 1
			if i >= len(part) {
				return
			}
			var was *folder
			if w.was != nil {
				was = w.was.folders[part[i].path]
			}
			found[i] = r.read(part[i], was)
		}
	}
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), maxWorkers, len(part)) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, f := range found {
		if f.err != nil {
			return nil, f.err
		}
	}
	return found, nil
}

// take adds a folder that was read, and returns the ones in it.
func (w *walk) take(v visit, f reading) []visit {
	if f.folder == nil { // deleted since
		return nil
	}
	if v.outside {
		if w.seen[f.id] {
			return nil
		}
		w.seen[f.id] = true
	}
	w.folders[v.path] = f.folder
	w.changed = w.changed || f.changed
	if f.unreadable {
		w.snap.Unreadable = append(w.snap.Unreadable, v.path)
	}
	var dirs []visit
	for i := range f.entries {
		switch e := &f.entries[i]; e.kind {
		case file:
			if w.files == w.sys.files {
				w.snap.Partial = true
				w.folders[v.path] = &folder{entries: f.entries[:i]}
				return dirs
			}
			w.files++
		case directory:
			dirs = append(dirs, visit{path: e.path, outside: v.outside})
		case linked:
			w.links = append(w.links, e.path)
		case skipped:
			w.snap.Skipped = append(w.snap.Skipped, e.path)
			if e.mark != "" {
				w.snap.marks[e.path] = e.mark
			}
		}
	}
	return dirs
}

// finish makes the snapshot of the folders.
func (w *walk) finish() {
	s := w.snap
	s.Folders = len(w.folders)
	slices.Sort(s.Skipped)
	slices.Sort(s.Unreadable)
	if w.was != nil && !w.changed && !s.Partial && !w.was.snap.Partial && len(w.folders) == len(w.was.folders) {
		s.Files = w.was.snap.Files // most looks find nothing new
		return
	}
	s.Files = make(map[string]File, w.files)
	for _, f := range w.folders {
		for _, e := range f.entries {
			if e.kind == file {
				s.Files[e.path] = e.file
			}
		}
	}
	if s.Partial && w.was != nil {
		w.keep()
	}
}

// keep adds the files of the last look that fell out of this one by the limits alone:
// they were not deleted.
func (w *walk) keep() {
	for path, was := range w.was.snap.Files {
		if _, ok := w.snap.Files[path]; ok {
			continue
		}
		var link, st unix.Stat_t
		if unix.Lstat(path, &link) != nil || unix.Stat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
			continue
		}
		is := fileOf(&st, &link)
		is.Edit = was.Edit
		w.snap.Files[path] = is
	}
}

// passing reports whether a folder is gone, and unreadable whether it can't be read
// while others can. All other errors end the look: what it would not see would count
// as deleted.
func passing(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}

func unreadable(err error) bool {
	return errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENAMETOOLONG)
}
