// Package disk knows what the files of a workspace are at this moment, and what has
// changed since another: a language server answers from what it was told, so it must be
// told all that happened outside.
//
// A snapshot is made by looking, never by being notified: each file is compared by
// size, times and inode, and one that was written so lately that another write could
// leave all of them equal is compared by its contents, too. What a snapshot doesn't
// cover it says: skipped folders, unreadable ones, and more files than it takes. Only
// the resident of language servers uses it.
package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"
)

const (
	// MaxFiles and MaxFolders are how much of a workspace is looked at: some seconds.
	MaxFiles   = 200_000
	MaxFolders = 20_000
)

// ErrMoved is that the root is gone, or that another directory has its name.
var ErrMoved = errors.New("the workspace was moved or deleted")

// File is what tells a file's contents apart; two are compared with ==. Of a symlink
// it is the file that the link leads to, and the link.
type File struct {
	Size, MTime, CTime int64 // the times in nanoseconds
	Inode, Dev         uint64
	LinkCTime          int64 // of the symlink, else 0
	LinkInode          uint64
	Edit               uint32 // counts the writes that only the contents showed
}

// Snapshot is the workspace at a moment. It doesn't change.
type Snapshot struct {
	At         time.Time       // when the look began
	Files      map[string]File // by absolute path, as seen through symlinks to folders outside
	Folders    int
	Skipped    []string // folders that are not looked into, sorted
	Unreadable []string // folders that could not be, sorted
	Partial    bool     // there is more than MaxFiles or MaxFolders

	marks map[string]string
}

// Markers has, for each skipped folder that packages are installed in, what changes
// when one is installed, updated or removed. An edit inside a package by hand doesn't
// show.
func (s *Snapshot) Markers() map[string]string { return s.marks }

// Scanner makes snapshots of a workspace. All its methods may be called at once.
type Scanner struct {
	root   string
	dir    *os.File // held open, or its inode could become that of another directory
	failed error    // why dir is not

	mu            sync.Mutex
	running, next *round

	was *tree // the last look, of the running round alone
	sys system
}

// round is a look that callers share.
type round struct {
	waiting int
	ctx     context.Context
	cancel  context.CancelFunc
	done    chan struct{}
	snap    *Snapshot
	err     error
}

// New begins to watch over a workspace, which is the directory that root is now.
func New(root string) *Scanner {
	s := &Scanner{root: root, sys: system{now: time.Now, files: MaxFiles, folders: MaxFolders}}
	s.dir, s.failed = os.OpenFile(root, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	return s
}

// Limit lets it look at less. It is called before the first Scan.
func (s *Scanner) Limit(files, folders int) { s.sys.files, s.sys.folders = files, folders }

// Close lets go of the workspace.
func (s *Scanner) Close() error {
	if s.dir == nil {
		return nil
	}
	return s.dir.Close()
}

// Gone reports whether the root is gone, or is another directory now.
func (s *Scanner) Gone() bool { return errors.Is(s.there(), ErrMoved) }

// Scan looks at the workspace, and its look begins after the call. Those who call while
// one is under way share the next. The error is ErrMoved, that of ctx, or one of the
// disk; after any of them the next Scan is as if this one had not been.
func (s *Scanner) Scan(ctx context.Context) (*Snapshot, error) {
	s.mu.Lock()
	r := s.next
	if r == nil {
		r = &round{done: make(chan struct{})}
		r.ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
		s.next = r
	}
	r.waiting++
	s.begin()
	s.mu.Unlock()

	select {
	case <-r.done:
		return r.snap, r.err
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.waiting--; r.waiting == 0 {
		r.cancel()
		if s.next == r {
			s.next = nil
		}
	}
	return nil, ctx.Err()
}

// begin starts the next look if none is under way.
func (s *Scanner) begin() {
	if s.running != nil || s.next == nil {
		return
	}
	r := s.next
	s.running, s.next = r, nil
	go func() {
		r.snap, r.err = s.look(r.ctx)
		r.cancel()
		close(r.done)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.running = nil
		s.begin()
	}()
}

// look makes one snapshot.
func (s *Scanner) look(ctx context.Context) (*Snapshot, error) {
	if err := s.there(); err != nil {
		return nil, err
	}
	t, err := s.walk(ctx)
	if gone := s.there(); gone != nil { // what is missing was not deleted
		return nil, gone
	}
	if err != nil {
		return nil, err
	}
	s.was = t
	return t.snap, nil
}

// there reports whether the root still is what it was.
func (s *Scanner) there() error {
	if s.failed != nil {
		return gone(s.failed)
	}
	was, err := s.dir.Stat()
	if err != nil {
		return err
	}
	is, err := os.Stat(s.root)
	if err != nil {
		return gone(err)
	}
	if !os.SameFile(was, is) {
		return fmt.Errorf("%w: %s is another directory now", ErrMoved, s.root)
	}
	return nil
}

func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("%w: %w", ErrMoved, err)
	}
	return err
}
