package secret

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/base/redact"
	"github.com/kxtools/kx/internal/record/state"
)

// known is what a process remembers of the folder: the redactor, and how the files
// were when it was made.
type known struct {
	files    string
	redactor *redact.Redactor
}

// Redactor returns a redactor of all values, as they are now; nil where there are
// none, which costs one look for a folder. A process that was not given the
// passphrase of the identity knows no values.
func Redactor(st *state.State) (*redact.Redactor, error) {
	s := New(st)
	if _, err := os.Lstat(s.dir()); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	kept := st.Kept(folder)
	kept.Lock()
	defer kept.Unlock()
	locked, err := s.Locked()
	if err != nil {
		return nil, fail.As(err)
	}
	files, err := s.files()
	if err != nil {
		return nil, err
	}
	files += fmt.Sprint(locked)
	if last, ok := kept.Value.(known); ok && last.files == files {
		return last.redactor, nil
	}
	r := (*redact.Redactor)(nil)
	if !locked {
		if r, err = s.redactor(); err != nil {
			return nil, err
		}
	}
	kept.Value = known{files, r}
	return r, nil
}

// files says how the files are, so that a change shows: each is a new file.
func (s *Store) files() (string, error) {
	entries, err := os.ReadDir(s.dir())
	if err != nil {
		return "", fail.Failed("secret", "%s can't be read: %v", s.dir(), fsx.Reason(err)).WithHint("ls -ld %s", s.dir()).Because(err)
	}
	var b strings.Builder
	for _, e := range entries {
		if fi, err := e.Info(); err == nil {
			fmt.Fprintln(&b, e.Name(), fsx.Inode(fi), fi.Size(), fi.ModTime().UnixNano())
		}
	}
	return b.String(), nil
}

func (s *Store) redactor() (*redact.Redactor, error) {
	all, err := s.List()
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(in Info) bool { return in.State != Set })
	if len(all) == 0 {
		return nil, nil
	}
	id, err := s.identity(false)
	if err != nil {
		return nil, err
	}
	var values []redact.Secret
	for _, in := range all {
		value, err := s.open(in.Slot, id)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it went this moment
		}
		if err != nil {
			return nil, err
		}
		values = append(values, redact.Secret{Name: in.Slot, Value: value})
	}
	// Where one value is a part of another, the names don't depend on the order.
	slices.SortStableFunc(values, func(a, b redact.Secret) int { return cmp.Compare(len(b.Value), len(a.Value)) })
	return redact.New(values), nil
}
