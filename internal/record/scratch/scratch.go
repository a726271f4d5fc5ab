// Package scratch owns scratch/ of the state directory, what programs behind the
// walls write that is nobody's to keep:
//
//	temp/SESSION        stands for /tmp and /var/tmp of a session's programs
//	layers/WORKSPACE/N  what programs of a workspace changed in the caches of the
//	                    user; N is used by one program at a time
//	aside/N             what a program made where only people may, taken away
//	walls.json          what this machine can enforce, as it was found out
//
// Nothing here is the truth about anything. What was not used for a month goes
// when something new is made. internal/gate/sandbox calls it.
package scratch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/record/state"
)

const (
	folder = "scratch"
	// keep is how long what is not used any more stays.
	keep = 30 * 24 * time.Hour
	// maxSlots is how many programs of a workspace have cache layers at once.
	// More than 256 calls of one turn there can't be.
	maxSlots = 256
	// maxWalls bounds walls.json: it holds a few words.
	maxWalls = 64 << 10
)

// Store is the scratch folder of a state directory.
type Store struct {
	state *state.State
	now   func() time.Time
}

// New returns the store of a state directory.
func New(st *state.State, now func() time.Time) *Store { return &Store{st, now} }

func (s *Store) path(name ...string) string {
	return filepath.Join(append([]string{s.state.Dir(), folder}, name...)...)
}

// TempPath is where the private temp of a session is, or would be.
func (s *Store) TempPath(session string) string { return s.path("temp", session) }

// Temp makes the private temp of a session and returns its path. It looks like
// /tmp; nobody else gets as far as to it.
func (s *Store) Temp(session string) (string, error) {
	dir := s.TempPath(session)
	if fi, err := os.Lstat(dir); err == nil && fi.IsDir() {
		return dir, s.use(dir)
	}
	if _, err := s.state.Sub(folder, "temp", session); err != nil {
		return "", err
	}
	if err := s.use(dir); err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o777|fs.ModeSticky); err != nil {
		return "", unusable(dir, err)
	}
	s.sweep("temp")
	return dir, nil
}

// mark is the file whose time says when a folder was used last. It lies beside
// it, where no program gets to.
func (s *Store) mark(dir string) string { return dir + ".used" }

// use notes down that a folder is in use.
func (s *Store) use(dir string) error {
	now := s.now()
	err := os.Chtimes(s.mark(dir), now, now)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.WriteFile(s.mark(dir), nil, 0o600); err == nil {
			err = os.Chtimes(s.mark(dir), now, now)
		}
	}
	if err != nil {
		return unusable(dir, err)
	}
	return nil
}

// Layers is a place for cache layers that no other program uses.
type Layers struct {
	dir    string
	unlock func()
}

// Layers takes a place for the layers of a program.
func (s *Store) Layers(workspace string) (*Layers, error) {
	sum := sha256.Sum256([]byte(workspace))
	name := hex.EncodeToString(sum[:6])
	dir, err := s.state.Sub(folder, "layers", name)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(s.mark(dir)); err != nil {
		s.sweep("layers")
	}
	if err := s.use(dir); err != nil {
		return nil, err
	}
	for i := range maxSlots {
		slot := filepath.Join(dir, strconv.Itoa(i))
		if err := os.MkdirAll(slot, 0o700); err != nil {
			return nil, unusable(dir, err)
		}
		unlock, ok, err := fsx.Grab(filepath.Join(slot, "lock"))
		if err != nil {
			return nil, unusable(slot, err)
		}
		if ok {
			return &Layers{slot, unlock}, nil
		}
	}
	return nil, fail.Limit("too_many_programs", "%d programs of this workspace run at once", maxSlots)
}

// Layer makes the two folders of a layer.
func (l *Layers) Layer(name string) (upper, work string, err error) {
	upper, work = filepath.Join(l.dir, name, "upper"), filepath.Join(l.dir, name, "work")
	if err = os.MkdirAll(upper, 0o700); err == nil {
		err = os.MkdirAll(work, 0o700)
	}
	if err != nil {
		return "", "", unusable(l.dir, err)
	}
	return upper, work, nil
}

// Release gives the place back.
func (l *Layers) Release() { l.unlock() }

// Aside makes a new folder for what is taken away.
func (s *Store) Aside() (string, error) {
	dir, err := s.state.Sub(folder, "aside")
	if err != nil {
		return "", err
	}
	s.sweep("aside")
	if dir, err = os.MkdirTemp(dir, s.now().UTC().Format("20060102-150405-")); err != nil {
		return "", unusable(dir, err)
	}
	return dir, nil
}

// Walls returns what was noted down about this machine, nil for nothing.
func (s *Store) Walls() []byte {
	raw, _, err := fsx.ReadRegular(s.path("walls.json"), maxWalls)
	if err != nil {
		return nil
	}
	return raw
}

// SetWalls notes down what this machine can enforce. Without the note it is found
// out again.
func (s *Store) SetWalls(raw []byte) error {
	if _, err := s.state.Sub(folder); err != nil {
		return err
	}
	return fsx.WriteFile(s.path("walls.json"), raw, 0o600)
}

// ForgetWalls drops the note.
func (s *Store) ForgetWalls() { _ = os.Remove(s.path("walls.json")) }

// sweep removes what was not used for long. What can't be removed stays.
func (s *Store) sweep(kind string) {
	entries, err := os.ReadDir(s.path(kind))
	if err != nil {
		return
	}
	for _, e := range entries {
		dir := s.path(kind, e.Name())
		fi, err := os.Lstat(s.mark(dir))
		if errors.Is(err, fs.ErrNotExist) {
			fi, err = e.Info()
		}
		if err != nil || !e.IsDir() || s.now().Sub(fi.ModTime()) < keep {
			continue
		}
		if Remove(dir) == nil {
			_ = os.Remove(s.mark(dir))
		}
	}
}

// Remove removes what a program left, also folders that nobody may read: those of
// overlayfs, and those that a program closed.
func Remove(dir string) error {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		if err != nil && d != nil && d.IsDir() {
			return nil
		}
		return nil
	})
	return os.RemoveAll(dir)
}

func unusable(dir string, err error) error {
	return fail.Failed("scratch", "%s can't be used: %v", dir, fsx.Reason(err)).WithHint("ls -ld %s", dir).Because(err)
}
