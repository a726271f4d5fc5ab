// Package draft owns drafts/ in the state directory: inputs of requests that a person
// is editing, for the editor to open. A draft stays until it is sent or dropped, so
// that what an editor left is there when it is opened again; after a day it goes.
//
// The screen of kx approve opens, reads and drops drafts.
package draft

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/record/state"
)

const (
	// maxDraft is as much as a call may have as its input.
	maxDraft = 16 << 20
	// life is how long a draft that nobody sent is kept.
	life = 24 * time.Hour
)

// Store is the drafts of one state directory.
type Store struct {
	st  *state.State
	now func() time.Time
}

// New returns the drafts in st. It makes nothing before the first draft.
func New(st *state.State, now func() time.Time) *Store { return &Store{st: st, now: now} }

// Open returns the path of the draft of a request; it begins with text if there is
// none yet. ext tells the editor what kind of text it is.
func (s *Store) Open(id, ext string, text []byte) (string, error) {
	dir, err := s.st.Sub("drafts")
	if err != nil {
		return "", err
	}
	s.sweep(dir)
	path := filepath.Join(dir, filepath.Base(id)+ext)
	if err := fsx.CreateExcl(path, text, 0o600); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return path, nil
}

// Read returns what an editor left.
func (s *Store) Read(path string) ([]byte, error) {
	text, _, err := fsx.ReadRegular(path, maxDraft)
	if err != nil {
		return nil, fail.Failed("draft", "the draft can't be read: %v", err).Because(err)
	}
	return text, nil
}

// Drop removes a draft. One that can't be removed goes with its day.
func (s *Store) Drop(path string) { os.Remove(path) }

// sweep removes drafts of another day, and what editors left beside them.
func (s *Store) sweep(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if fi, err := e.Info(); err == nil && s.now().Sub(fi.ModTime()) > life {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
