package approval

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kxtools/kx/pkg/wire"
)

// quiet is how long a folder must have been left alone before its time of change
// tells that nothing has come or gone since: clocks of file systems tick every few
// milliseconds, and a busy machine stamps late.
const quiet = time.Second

// never stands for the time of change of a folder that is not there.
var never = time.Unix(0, 0)

// Pending follows the requests that wait. It gives the same answer as List, but reads
// again only what has changed, so that asking often costs little however many requests
// wait or were answered before. One goroutine at a time may use it.
type Pending struct {
	store   *Store
	folders [2]time.Time // of change: pending/ and decided/; zero while anything may have come
	open    map[string]*unanswered
}

// unanswered is a request without an answer, as its file was last read.
type unanswered struct {
	file    os.FileInfo
	expires *time.Time
	a       *wire.Approval // nil where err is set, and of one that has expired
	err     error
}

// Follow returns a view of the requests that wait.
func (s *Store) Follow() *Pending { return &Pending{store: s, open: map[string]*unanswered{}} }

// List returns the requests that wait now, the oldest first, and an error for each
// that can't be read.
func (p *Pending) List() (out []wire.Approval, bad []error) {
	fresh, err := p.names()
	if err != nil {
		return nil, []error{err}
	}
	now := p.store.now()
	for id, u := range p.open {
		over := u.expires != nil && now.After(*u.expires)
		if !over || fresh {
			if u.read(p.store, id); errors.Is(u.err, fs.ErrNotExist) {
				delete(p.open, id)
				continue
			}
			over = u.expires != nil && now.After(*u.expires)
		}
		switch {
		case u.err != nil:
			bad = append(bad, u.err)
		case over:
			u.a = nil // it may be large, and is unlikely to be looked at again
		case u.a.State == wire.ApprovalPending:
			out = append(out, *u.a)
		}
	}
	slices.SortFunc(out, older)
	return out, bad
}

// read reads a request if its file is not as it was.
func (u *unanswered) read(s *Store, id string) {
	file, err := os.Lstat(s.path("pending", id))
	if err == nil && u.file != nil && (u.a != nil || u.err != nil) &&
		os.SameFile(u.file, file) && u.file.Size() == file.Size() && u.file.ModTime().Equal(file.ModTime()) {
		return
	}
	*u = unanswered{file: file, err: err}
	if err != nil {
		return
	}
	if u.a, u.err = s.load(id); u.err == nil {
		u.expires = u.a.ExpiresAt
	}
}

// names looks which requests have no answer, and reports whether it had to: not if
// both folders are as they were.
func (p *Pending) names() (looked bool, err error) {
	var folders [2]time.Time
	old := time.Now().Add(-quiet) // by the clock that stamps files
	for i, kind := range []string{"pending", "decided"} {
		info, err := os.Lstat(filepath.Dir(p.store.path(kind, "x")))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			folders[i] = never
		case err == nil && info.ModTime().Before(old):
			folders[i] = info.ModTime()
		}
	}
	if folders == p.folders && !folders[0].IsZero() && !folders[1].IsZero() {
		return false, nil
	}
	ids, err := p.store.ids()
	if err != nil {
		return false, err
	}
	decided, err := os.ReadDir(filepath.Dir(p.store.path("decided", "x")))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	p.folders = folders
	answered := make(map[string]bool, len(decided))
	for _, e := range decided {
		answered[strings.TrimSuffix(e.Name(), ".json")] = true
	}
	open := make(map[string]*unanswered, len(p.open))
	for _, id := range ids {
		if answered[id] {
			continue
		}
		if open[id] = p.open[id]; open[id] == nil {
			open[id] = &unanswered{}
		}
	}
	p.open = open
	return true, nil
}
