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

// Know lets the redactors of this process know values that lie elsewhere: keys in its
// environment.
func Know(st *state.State, values []redact.Secret) {
	kept := st.Kept(folder + "/elsewhere")
	kept.Lock()
	defer kept.Unlock()
	have, _ := kept.Value.([]redact.Secret)
	for _, v := range values {
		if !slices.Contains(have, v) {
			have = append(slices.Clip(have), v)
		}
	}
	kept.Value = have
}

// elsewhere are the values that this process knows of Know.
func (s *Store) elsewhere() []redact.Secret {
	kept := s.st.Kept(folder + "/elsewhere")
	kept.Lock()
	defer kept.Unlock()
	have, _ := kept.Value.([]redact.Secret)
	return have
}

// Redactor returns a redactor of all values, as they are now; nil where there are
// none, which costs one look for a folder. A process that was not given the
// passphrase of the identity knows no values but those of Know.
func Redactor(st *state.State) (*redact.Redactor, error) {
	s := New(st)
	others := s.elsewhere()
	_, err := os.Lstat(s.dir())
	none := errors.Is(err, fs.ErrNotExist)
	if none && len(others) == 0 {
		return nil, nil
	}
	kept := st.Kept(folder)
	kept.Lock()
	defer kept.Unlock()
	locked, files := false, "none"
	if !none {
		if locked, err = s.Locked(); err != nil {
			return nil, fail.As(err)
		}
		if files, err = s.files(); err != nil {
			return nil, err
		}
	}
	files += fmt.Sprint(locked, len(others))
	if last, ok := kept.Value.(known); ok && last.files == files {
		return last.redactor, nil
	}
	values := slices.Clone(others)
	if !none && !locked {
		own, err := s.values()
		if err != nil {
			return nil, err
		}
		values = append(values, own...)
	}
	// Where one value is a part of another, the names don't depend on the order.
	slices.SortStableFunc(values, func(a, b redact.Secret) int { return cmp.Compare(len(b.Value), len(a.Value)) })
	r := redact.New(values)
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

// values are those of all slots that have one.
func (s *Store) values() ([]redact.Secret, error) {
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
	return values, nil
}
