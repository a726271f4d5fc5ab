package secret

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"filippo.io/age"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/failpoint"
	"github.com/kxtools/kx/internal/base/fsx"
)

const (
	identityFile = "identity"
	maxIdentity  = 4 << 10 // 75 bytes, behind a passphrase some 300

	// workFactor is what a guess at the passphrase costs: about a second, and 256
	// MiB. It is what age takes; a file that asks for more was not made by kx.
	workFactor = 18

	// MinPassphrase is the shortest passphrase, in bytes: with less, the work above
	// is done for every one within days.
	MinPassphrase = 8
)

// sealedMark begins an identity that is behind a passphrase.
const sealedMark = "age-encryption.org/"

// readIdentity reads the file, which belongs to its owner alone.
func (s *Store) readIdentity() ([]byte, error) {
	if err := s.checkDir(); err != nil {
		return nil, err
	}
	path := filepath.Join(s.dir(), identityFile)
	data, fi, err := fsx.ReadRegular(path, maxIdentity)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, err
	case err != nil:
		return nil, fail.Usage("the identity %s can't be read: %v", path, fsx.Reason(err)).WithHint("ls -l %s", path).Because(err)
	}
	return data, private(path, fi, "600")
}

// identity returns the identity. With create it is made if there is none, and
// nothing that needs another one.
func (s *Store) identity(create bool) (*age.X25519Identity, error) {
	data, err := s.readIdentity()
	if errors.Is(err, fs.ErrNotExist) && create {
		data, err = s.create("")
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, s.lost()
	case err != nil:
		return nil, err
	case !bytes.HasPrefix(data, []byte(sealedMark)):
		return s.parse(data)
	}
	asking := s.st.Kept(folder + "/asking")
	asking.Lock() // one question at a time
	defer asking.Unlock()
	if id := s.unlocked(); id != nil {
		return id, nil
	}
	id, err := s.unlock(data)
	if err == nil {
		kept := s.st.Kept(folder + "/" + identityFile)
		kept.Lock()
		defer kept.Unlock()
		kept.Value = id
	}
	return id, err
}

// unlocked is the identity that a passphrase has opened in this process, or nil.
func (s *Store) unlocked() *age.X25519Identity {
	kept := s.st.Kept(folder + "/" + identityFile)
	kept.Lock()
	defer kept.Unlock()
	id, _ := kept.Value.(*age.X25519Identity)
	return id
}

// create makes the identity, if no value is there that needs the one that is gone.
// Of several processes one does, and all get that.
func (s *Store) create(passphrase string) ([]byte, error) {
	all, err := s.List()
	if err != nil {
		return nil, err
	}
	for _, in := range all {
		if in.State == Set { // somebody made it this moment, or it is gone
			return s.readIdentity()
		}
	}
	if _, err := s.st.Sub(folder); err != nil {
		return nil, err
	}
	id, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, fail.Failed("secret", "no identity can be made: %v", err).Because(err)
	}
	data, err := seal(id, passphrase)
	if err != nil {
		return nil, err
	}
	failpoint.Hit("identity.before")
	err = fsx.CreateExcl(filepath.Join(s.dir(), identityFile), data, 0)
	failpoint.Hit("identity.after")
	if errors.Is(err, fs.ErrExist) {
		return s.readIdentity()
	}
	return data, err
}

func (s *Store) lost() error {
	path := filepath.Join(s.dir(), identityFile)
	return fail.Usage("the identity %s is gone, and what is encrypted to it can't be read: put it back, or remove the slots and set them anew", path).
		WithHint("kx secret list")
}

func (s *Store) parse(data []byte) (*age.X25519Identity, error) {
	id, err := age.ParseX25519Identity(strings.TrimSpace(string(data)))
	if err != nil { // which may show what it could not read
		return nil, fail.Usage("the identity %s is damaged", filepath.Join(s.dir(), identityFile)).WithHint("kx secret list")
	}
	return id, nil
}

// seal is the content of the file.
func seal(id *age.X25519Identity, passphrase string) ([]byte, error) {
	plain := id.String() + "\n"
	if passphrase == "" {
		return []byte(plain), nil
	}
	r, err := age.NewScryptRecipient(passphrase)
	if err != nil {
		return nil, err
	}
	r.SetWorkFactor(workFactor)
	var b bytes.Buffer
	w, err := age.Encrypt(&b, r)
	if err == nil {
		_, err = io.WriteString(w, plain)
	}
	if err == nil {
		err = w.Close()
	}
	return b.Bytes(), err
}

// ErrLocked says that the identity is behind a passphrase which nobody is there to
// give.
var ErrLocked = fail.Unavailable("secrets_locked", "the secrets are behind a passphrase, and there is no terminal to ask for it on").
	WithHint("kx secret set --passphrase")

// unlock asks for the passphrase, once.
func (s *Store) unlock(data []byte) (*age.X25519Identity, error) {
	if s.Ask == nil {
		return nil, ErrLocked
	}
	passphrase, err := s.Ask("Passphrase of the secrets: ")
	if err != nil {
		return nil, err
	}
	wrong := fail.Denied("wrong_passphrase", "that is not the passphrase of the secrets")
	if passphrase == "" {
		return nil, wrong
	}
	sealed, err := age.NewScryptIdentity(passphrase)
	if err != nil {
		return nil, wrong
	}
	sealed.SetMaxWorkFactor(workFactor)
	r, err := age.Decrypt(bytes.NewReader(data), sealed)
	if err != nil {
		return nil, wrong
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		return nil, wrong
	}
	return s.parse(plain)
}

// Locked reports whether the identity is behind a passphrase that this process was
// not given.
func (s *Store) Locked() (bool, error) {
	data, err := s.readIdentity()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil || !bytes.HasPrefix(data, []byte(sealedMark)):
		return false, err
	}
	return s.unlocked() == nil, nil
}

// CheckPassphrase refuses one that is too short. "" takes the passphrase away.
func CheckPassphrase(passphrase string) error {
	if passphrase != "" && len(passphrase) < MinPassphrase {
		return fail.Usage("the passphrase is too short: at least %d characters", MinPassphrase).WithHint("kx secret set --passphrase")
	}
	return nil
}

// Unlock makes the identity known to this process, and makes one if there is none.
func (s *Store) Unlock() error {
	_, err := s.identity(true)
	return err
}

// Protect puts the identity behind a passphrase, or in the open again if that is
// "". Values stay as they are.
func (s *Store) Protect(passphrase string) error {
	if err := CheckPassphrase(passphrase); err != nil {
		return err
	}
	id, err := s.identity(true)
	if err != nil {
		return err
	}
	data, err := seal(id, passphrase)
	if err != nil {
		return fail.Failed("secret", "the identity can't be encrypted: %v", err).Because(err)
	}
	failpoint.Hit("identity.before")
	err = fsx.WriteFile(filepath.Join(s.dir(), identityFile), data, 0)
	failpoint.Hit("identity.after")
	return err
}
