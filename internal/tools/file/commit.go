package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/tools/file/place"
	"github.com/kxtools/kx/pkg/policy/patch"
)

// changeSet is the changes of one call: they are all made, or none is. First every
// new content is on the disk beside its target, then they take their names; an old
// file keeps a second name until the last one has.
type changeSet struct {
	ctx      context.Context
	env      *tool.Env
	changes  []*change
	places   []*place.Place
	sections map[string]int // where each path stands in the patch
	bytes    int64          // held in memory

	undo []func() error // what puts back what is done
	keep bool           // something could not be put back: old files stay where they are
}

// change is what becomes of one file.
type change struct {
	from   *target // what is there, nil for a new file
	to     *target // what will be there, nil for a deleted one; it is from if the file stays
	before old
	after  []byte
	notes  []string

	temp string      // the new file beside to
	made fs.FileInfo // that file
	kept string      // the second name of the old file, beside from
}

// commit makes the changes.
func (s *changeSet) commit() error {
	for _, c := range s.changes {
		if c.to == nil {
			continue
		}
		if err := c.stage(); err != nil {
			s.takeBack()
			return c.to.unwritten(err)
		}
	}
	if err := s.ctx.Err(); err != nil {
		s.takeBack()
		return fail.As(err)
	}
	for _, c := range s.changes { // from here on it goes to its end
		if err := s.make(c); err != nil {
			t := c.to
			if t == nil {
				t = c.from
			}
			e := fail.As(t.unwritten(err))
			if lost := s.takeBack(); len(lost) > 0 {
				e.Msg += "; the other files could not all be put back: " + strings.Join(lost, "; ")
			} else {
				e.Msg += "; no file of the patch was changed"
			}
			return e
		}
	}
	s.undo = nil
	s.tidy()
	for _, p := range s.places {
		(&target{Place: p}).settle()
	}
	return nil
}

// close lets go of the folders.
func (s *changeSet) close() {
	for _, p := range s.places {
		p.Close()
	}
}

// takeBack puts everything back, the last first, and says what it could not.
func (s *changeSet) takeBack() (lost []string) {
	for i := len(s.undo) - 1; i >= 0; i-- {
		if err := s.undo[i](); err != nil {
			lost = append(lost, fail.As(err).Msg)
			s.keep = true
		}
	}
	s.tidy()
	for i := len(s.places) - 1; i >= 0; i-- {
		s.places[i].RemoveFolders()
	}
	return lost
}

// tidy removes the files that are no longer needed.
func (s *changeSet) tidy() {
	for _, c := range s.changes {
		if c.temp != "" {
			_ = c.to.Root.Remove(c.temp)
		}
		if c.kept != "" && !s.keep {
			_ = c.from.Root.Remove(c.kept)
		}
	}
}

func (c *change) stage() (err error) {
	if c.temp, err = c.to.stage(c.after); err != nil {
		return err
	}
	c.made, err = c.to.Root.Lstat(c.temp)
	return err
}

// make makes one change, and notes how to undo it.
func (s *changeSet) make(c *change) error {
	if c.from == c.to {
		return s.swap(c)
	}
	if c.to != nil {
		if err := s.create(c); err != nil {
			return err
		}
	}
	if c.from != nil {
		return s.remove(c)
	}
	return nil
}

// swap puts the new file in the place of the old one, which keeps another name.
func (s *changeSet) swap(c *change) (err error) {
	t := c.from
	if err := t.unchanged(); err != nil {
		return err
	}
	kept := t.beside()
	if err := t.Root.Link(t.Rel, kept); err != nil {
		// Not every file system has hard links, and not every file may get one.
		was := target{Place: t.Place, like: t.st, exec: patch.Keep}
		if kept, err = was.stage(c.before.content); err != nil {
			return err
		}
	}
	c.kept = kept
	if err := t.unchanged(); err != nil {
		return err
	}
	if err := t.Root.Rename(c.temp, t.Rel); err != nil {
		return err
	}
	c.temp = ""
	s.undo = append(s.undo, func() error {
		if !c.ours() {
			return leftAlone(t, kept)
		}
		return lostAs(t, kept, t.Root.Rename(kept, t.Rel))
	})
	return nil
}

// create gives a new file its name, which nobody may have taken meanwhile.
func (s *changeSet) create(c *change) error {
	t := c.to
	if err := t.unchanged(); err != nil {
		return err
	}
	err := t.Root.Link(c.temp, t.Rel) // takes no name that is in use
	switch {
	case err == nil:
		// Its first name goes with the others that are not needed.
	case errors.Is(err, fs.ErrExist):
		return fail.Conflict("changed_meanwhile", "%s was made by somebody else meanwhile: it was left alone", place.Name(t.Show))
	default:
		if err := t.Root.Rename(c.temp, t.Rel); err != nil {
			return err
		}
	}
	s.undo = append(s.undo, func() error {
		if !c.ours() {
			return fail.Failed("not_written", "%s was changed by somebody else meanwhile", place.Name(t.Show))
		}
		return t.Root.Remove(t.Rel)
	})
	return nil
}

// remove takes the name from a file that is deleted or moved.
func (s *changeSet) remove(c *change) error {
	t := c.from
	if err := t.unchanged(); err != nil {
		return err
	}
	kept := t.beside()
	if err := t.Root.Rename(t.Rel, kept); err != nil {
		return err
	}
	c.kept = kept
	s.undo = append(s.undo, func() error {
		if _, err := t.Root.Lstat(t.Rel); !errors.Is(err, fs.ErrNotExist) {
			return leftAlone(t, kept)
		}
		return lostAs(t, kept, t.Root.Rename(kept, t.Rel))
	})
	if now, err := t.Root.Lstat(kept); err != nil || !os.SameFile(now, t.st) {
		return fail.Conflict("changed_meanwhile", "%s was changed by somebody else meanwhile", place.Name(t.Show))
	}
	return nil
}

// ours reports whether the new file is still the one that was put there.
func (c *change) ours() bool {
	now, err := c.to.Root.Lstat(c.to.Rel)
	return err == nil && os.SameFile(now, c.made)
}

// leftAlone says that another file stands where the old one was.
func leftAlone(t *target, kept string) error {
	return lostAs(t, kept, fmt.Errorf("somebody else changed it meanwhile"))
}

// lostAs says where the old file is that could not be put back.
func lostAs(t *target, kept string, err error) error {
	if err == nil {
		return nil
	}
	return fail.Failed("not_put_back", "%s: the old file is %s beside it", place.Name(t.Show), kept).Because(err)
}
