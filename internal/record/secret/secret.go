// Package secret owns secrets/ in the state directory: the keys and passwords that
// models and servers need.
//
// secrets/identity is an age X25519 identity, of mode 0600; behind a passphrase it
// is a file of age's own. secrets/<slot>.age is a value, encrypted to it. An empty
// one is a slot that was revoked. The time of a file is when that happened. Each
// file is replaced as a whole, so a slot has the old value or the new one,
// whenever a process dies.
//
// A value leaves this package by Get, for whoever a configuration names, and into
// the redactor. It stands in no error. What can't be read is an error that stops
// calls: a value that nobody knows can't be taken out of what they print.
package secret

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"filippo.io/age"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/failpoint"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/record/state"
)

const (
	folder   = "secrets"
	valueExt = ".age"

	// MaxValue is the longest value: a private key with its chain of certificates
	// has a tenth, and Linux passes on no variable of twice the size.
	MaxValue = 64 << 10
	maxFile  = MaxValue + 4<<10 // age adds a header, and 16 bytes to each 64 KiB
)

// The states of a slot.
const (
	Set     = "set"
	Revoked = "revoked"
)

// Info is a slot as it may be shown.
type Info struct {
	Slot      string
	State     string
	UpdatedAt time.Time
}

// Store is the secrets of one state directory.
type Store struct {
	st *state.State
	// Ask asks a person for the passphrase of the identity, nil if there is nobody
	// to ask. What it returns is tried once.
	Ask func(question string) (string, error)
}

// New returns the secrets in st. It makes nothing before the first Set.
func New(st *state.State) *Store { return &Store{st: st} }

func (s *Store) dir() string { return filepath.Join(s.st.Dir(), folder) }

func (s *Store) path(slot string) string { return filepath.Join(s.dir(), slot+valueExt) }

// checkDir refuses a folder that others can look into. One that is not there is
// fs.ErrNotExist.
func (s *Store) checkDir() error {
	fi, err := os.Lstat(s.dir())
	switch {
	case err != nil:
		return err
	case !fi.IsDir():
		return fail.Usage("%s is not a folder", s.dir()).WithHint("ls -ld %s", s.dir())
	}
	return private(s.dir(), fi, "700")
}

// private refuses what belongs to somebody else or is open to others.
func private(path string, fi os.FileInfo, mode string) error {
	switch {
	case fsx.Owner(fi) != os.Geteuid():
		return fail.Usage("%s belongs to another user (uid %d), so no secret is read or written", path, fsx.Owner(fi)).WithHint("ls -ld %s", path)
	case fi.Mode().Perm()&0o077 != 0:
		return fail.Usage("%s is open to others (mode %04o), so no secret is read or written", path, fi.Mode().Perm()).WithHint("chmod %s %s", mode, path)
	}
	return nil
}

// List returns the slots by name. It needs no identity.
func (s *Store) List() ([]Info, error) {
	if err := s.checkDir(); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fail.As(err)
	}
	entries, err := os.ReadDir(s.dir())
	if err != nil {
		return nil, fail.Failed("secret", "%s can't be read: %v", s.dir(), fsx.Reason(err)).WithHint("ls -ld %s", s.dir()).Because(err)
	}
	var all []Info
	for _, e := range entries {
		slot, ok := strings.CutSuffix(e.Name(), valueExt)
		if !ok || Check(slot) != nil {
			continue // a file that is being written, or nobody's
		}
		if in, err := s.Info(slot); err == nil {
			all = append(all, in)
		} else if fail.Exit(err) != fail.ExitNotFound { // else it went this moment
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b Info) int { return cmp.Compare(a.Slot, b.Slot) })
	return all, nil
}

// Info says how a slot stands.
func (s *Store) Info(slot string) (Info, error) {
	if err := Check(slot); err != nil {
		return Info{}, err
	}
	if err := s.checkDir(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Info{}, err
	}
	fi, err := os.Lstat(s.path(slot))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Info{}, fail.NotFound("no_such_secret", "slot %s was never set", slot).WithHint("kx secret set %s", slot)
	case err != nil:
		return Info{}, fail.Failed("secret", "slot %s can't be read: %v", slot, fsx.Reason(err)).Because(err)
	}
	in := Info{Slot: slot, State: Set, UpdatedAt: fi.ModTime().UTC().Truncate(time.Second)}
	if fi.Size() == 0 {
		in.State = Revoked
	}
	return in, nil
}

// CheckValue refuses what is no secret. The error does not show it.
func CheckValue(value string) error {
	switch {
	case value == "":
		return fail.Usage("the value is empty").WithHint("kx secret set --help")
	case len(value) > MaxValue:
		return fail.Limit("secret_too_long", "the value has %d bytes, allowed are %d", len(value), MaxValue).WithHint("kx secret set --help")
	case !utf8.ValidString(value) || strings.ContainsRune(value, 0):
		return fail.Usage("the value is not text: it has a NUL byte, or is not valid UTF-8").WithHint("kx secret set --help")
	}
	return nil
}

// Set gives a slot a value. The first Set of all makes the identity.
func (s *Store) Set(slot, value string) error {
	if err := Check(slot); err != nil {
		return err
	}
	if err := CheckValue(value); err != nil {
		return err
	}
	id, err := s.identity(true)
	if err != nil {
		return err
	}
	var sealed bytes.Buffer
	w, err := age.Encrypt(&sealed, id.Recipient())
	if err == nil {
		_, err = io.WriteString(w, value)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return fail.Failed("secret", "slot %s can't be encrypted: %v", slot, err).Because(err)
	}
	return s.write(slot, sealed.Bytes())
}

// Revoke takes the value of a slot away, and keeps that it was.
func (s *Store) Revoke(slot string) error {
	if _, err := s.Info(slot); err != nil {
		return err
	}
	return s.write(slot, nil)
}

func (s *Store) write(slot string, data []byte) error {
	failpoint.Hit("secret.before")
	err := fsx.WriteFile(s.path(slot), data, 0)
	failpoint.Hit("secret.after")
	return err
}

// Get returns the value of a slot.
func (s *Store) Get(slot string) (string, error) {
	in, err := s.Info(slot)
	switch {
	case fail.Exit(err) == fail.ExitNotFound:
		return "", fail.Unavailable("secret_missing", "slot %s has no value", slot).WithHint("kx secret set %s", slot)
	case err != nil:
		return "", err
	case in.State == Revoked:
		return "", revoked(in)
	}
	id, err := s.identity(false)
	if err != nil {
		return "", err
	}
	value, err := s.open(slot, id)
	if err == nil && value == "" { // this moment
		return "", revoked(in)
	}
	return value, err
}

func revoked(in Info) error {
	return fail.Unavailable("secret_revoked", "slot %s was revoked", in.Slot).WithHint("kx secret set %s", in.Slot)
}

// open decrypts a slot; "" is one that was revoked.
func (s *Store) open(slot string, id age.Identity) (string, error) {
	damaged := func(err error) error {
		return fail.Failed("secret_damaged", "slot %s can't be read: %v", slot, fsx.Reason(err)).WithHint("kx secret set %s", slot).Because(err)
	}
	data, _, err := fsx.ReadRegular(s.path(slot), maxFile)
	if err != nil {
		return "", damaged(err)
	}
	if len(data) == 0 {
		return "", nil
	}
	r, err := age.Decrypt(bytes.NewReader(data), id)
	if err != nil {
		return "", damaged(errors.New("it is damaged, or of another identity"))
	}
	value, err := io.ReadAll(io.LimitReader(r, MaxValue+1))
	if err != nil || CheckValue(string(value)) != nil {
		return "", damaged(errors.New("it is damaged"))
	}
	return string(value), nil
}
