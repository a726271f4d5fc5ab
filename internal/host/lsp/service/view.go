package service

import (
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/host/lsp/client"
	"github.com/kxtools/kx/internal/host/lsp/disk"
	"github.com/kxtools/kx/internal/host/lsp/door"
	"github.com/kxtools/kx/internal/host/lsp/language"
	"github.com/kxtools/kx/internal/host/lsp/position"
)

const (
	// maxOpen is how many files are open at a server: what is asked about again is
	// mostly among the last few, and each takes memory there.
	maxOpen = 50
	// maxFile is the largest file that a server is given, in bytes. Larger ones are
	// made by programs.
	maxFile = 4 << 20
)

// doc is a file that is open at a server.
type doc struct {
	language string
	version  int
	sum      [sha256.Size]byte
	text     *position.Text
	content  []byte
	at       disk.File
	used     int64 // when it was asked about, by the server's clock
}

// View is a server at a moment: it has loaded, and was told of all files as they were
// At.
type View struct {
	*client.Client
	Speaks func(path string) string // what the protocol calls a file, "" for one that is not for the server
	Server *language.Server
	At     time.Time
	Told   int64 // counts what the server was told of changes
	Crash  error // why it had to be started again for this question, nil if it had not

	run   *running
	edits int64 // of run
	pins  []string
	snap  *disk.Snapshot
	open  map[string]doc // as they were sent
	lost  string         // a file that had changed when its text was needed
	texts map[string]*text
}

// text is a file that answers speak of.
type text struct {
	content []byte
	*position.Text
}

// overtaken reports whether the server was told of changes since.
func (v *View) overtaken() bool { return v.run.edits.Load() != v.edits }

// release ends the question.
func (v *View) release() { v.run.pin(-1, v.pins) }

// pins counts the questions about each file.
type pins struct {
	mu    sync.Mutex
	count map[string]int
}

func (p *pins) pin(n int, paths []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, path := range paths {
		if p.count[path] += n; p.count[path] == 0 {
			delete(p.count, path)
		}
	}
}

func (p *pins) pinned(path string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count[path] > 0
}

// Sent returns the number of an open file as it was sent last.
func (v *View) Sent(path string) int { return v.open[path].version }

// Open says why a file is not open that a question is about.
func (v *View) Open(path string) error {
	if _, ok := v.open[path]; !ok {
		return hidden(path)
	}
	return nil
}

// Partial reports whether there are more files than are looked at: what changes in the
// others the server is not told.
func (v *View) Partial() bool { return v.snap.Partial }

// Files are all files of the workspace.
func (v *View) Files() []string { return v.snap.Paths() }

// Text returns a file as the server has it. One that has changed by now is no text for
// this answer.
func (v *View) Text(path string) (*position.Text, error) {
	t, err := v.load(path)
	if err != nil {
		return nil, err
	}
	return t.Text, nil
}

// Content returns the bytes of Text.
func (v *View) Content(path string) ([]byte, error) {
	t, err := v.load(path)
	if err != nil {
		return nil, err
	}
	return t.content, nil
}

func (v *View) load(path string) (*text, error) {
	if t := v.texts[path]; t != nil {
		return t, nil
	}
	t := &text{}
	if d, ok := v.open[path]; ok {
		t.content, t.Text = d.content, d.text
	} else {
		if !filepath.IsAbs(path) {
			return nil, fail.NotFound("no_such_file", "%s is no file", path)
		}
		content, at, err := v.run.read(path)
		if IsHidden(err) { // the server knows none of it, and nor does who asks
			v.texts[path] = &text{Text: position.New(nil)}
			return v.texts[path], nil
		}
		if known, ok := v.snap.Files[path]; ok && (fail.Exit(err) == fail.ExitNotFound || err == nil && !known.Same(at)) {
			if v.Speaks(path) != "" {
				v.lost = path
			}
			return nil, errStale
		}
		if err != nil {
			return nil, err
		}
		t.content, t.Text = content, position.New(content)
	}
	v.texts[path] = t
	return t, nil
}

// read reads a file that the server may see, and says which one it was. The file is
// looked at before and after: what was written in between is stale.
func (r *running) read(path string) ([]byte, disk.File, error) {
	if r.hides(path) {
		return nil, disk.File{}, hidden(path)
	}
	before, err := disk.Look(path)
	if err != nil {
		return nil, before, unreadable(path, err)
	}
	if before.Size > maxFile {
		return nil, before, fail.Limit("file_too_large", "%s has %d bytes; language servers get files of up to %d MiB", path, before.Size, maxFile>>20)
	}
	content, err := r.readSeen(path)
	if err != nil {
		return nil, before, err
	}
	after, err := disk.Look(path)
	if err != nil || !after.Same(before) {
		return nil, before, errStale
	}
	return content, before, nil
}

// readSeen reads a file, unless it leads to one that the server must not read: we stand
// outside of its walls, and would hand it what they hide.
func (r *running) readSeen(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer f.Close()
	real, err := fsx.Where(f)
	if err != nil {
		return nil, unreadable(path, err)
	}
	if real != path && r.hides(real) {
		return nil, hidden(path)
	}
	content, _, err := fsx.ReadOpen(f, maxFile)
	if err != nil {
		return nil, unreadable(path, err)
	}
	return content, nil
}

// notSeen is the code of the error where a file is hidden from servers.
const notSeen = "hidden"

func hidden(path string) error {
	return fail.Denied(notSeen, "%s is hidden from language servers", path)
}

// IsHidden reports whether an error is that a file is hidden from servers.
func IsHidden(err error) bool {
	e := fail.As(err)
	return e != nil && e.Code == notSeen
}

// Unreadable is the code of the error for a file that is there and can't be read.
const Unreadable = "unreadable"

func unreadable(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fail.NotFound("no_such_file", "there is no file %s", path).WithHint("ls %s", filepath.Dir(path))
	case isFolder(path):
		return fail.Usage("%s is a folder, not a file", path).WithHint("ls %s", path)
	}
	return fail.Failed(Unreadable, "%s can't be read: %v", path, fsx.Reason(err)).WithHint("ls -l %s", path).Because(err)
}

func isFolder(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

// view makes the server ready for a question about the given files.
func (s *Service) view(ctx context.Context, setup *door.Setup, open, more []string) (*View, error) {
	for {
		r, err := s.ready(ctx, setup)
		if err != nil {
			return nil, err
		}
		v, why, err := s.sync(ctx, r, open, more)
		if err != nil {
			return nil, err
		}
		if why != "" {
			s.restart(r, why)
			continue
		}
		if loading, _, _ := r.Loading(); !loading {
			return v, nil
		}
		v.release()
		if err := r.Loaded(ctx); err != nil { // what changes meanwhile it is told next
			return nil, err
		}
	}
}
