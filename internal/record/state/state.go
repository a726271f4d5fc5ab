// Package state is the root of the state directory: it makes and checks the
// directory, its version and its two keys. What lies in the folders below it
// is each known to one package of internal/record, which joins its own name to
// Dir.
//
// The directory has mode 0700, its files 0600, and nothing in it is touched
// when a newer kx wrote it.
package state

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
)

// layout is the version of the directory that this kx reads and writes.
const layout = 1

const (
	versionFile = "version"
	keyBytes    = 32 // as long as the output of HMAC-SHA256
	maxSmall    = 1 << 10
)

// State is an open state directory.
type State struct {
	dir  string
	make bool // missing things may be made

	mu   sync.Mutex
	kept map[string]*Kept
}

// Kept is what the package of a folder keeps of it in memory while the directory
// is open. Who holds the lock may read and replace it.
type Kept struct {
	sync.Mutex
	Value any
}

// Kept returns what is kept under a name.
func (s *State) Kept(name string) *Kept {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept[name] == nil {
		if s.kept == nil {
			s.kept = map[string]*Kept{}
		}
		s.kept[name] = &Kept{}
	}
	return s.kept[name]
}

// Open opens the state directory dir and makes it if need be.
func Open(dir string) (*State, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, unusable(dir, err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, unusable(dir, err)
	}
	s := &State{dir: dir, make: true}
	return s, s.check()
}

// Peek opens the state directory for a dry run: it makes nothing. A directory
// that does not exist is fine and holds nothing.
func Peek(dir string) (*State, error) {
	s := &State{dir: dir}
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	return s, s.check()
}

// Dir is the path of the state directory.
func (s *State) Dir() string { return s.dir }

// Sub makes a folder of the state directory and returns its path.
func (s *State) Sub(name ...string) (string, error) {
	dir := filepath.Join(append([]string{s.dir}, name...)...)
	if !s.make {
		return "", fail.Failed("read_only", "%s is not made in a dry run", dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fail.Failed("state_dir", "%s can't be made: %v", dir, fsx.Reason(err)).
			WithHint("ls -ld %s", filepath.Dir(dir)).Because(err)
	}
	return dir, nil
}

func (s *State) check() error {
	fi, err := os.Stat(s.dir)
	switch {
	case err != nil:
		return unusable(s.dir, err)
	case !fi.IsDir():
		return fail.Usage("the state directory %s is not a directory", s.dir).WithHint("kx --state-dir DIR ...")
	case fsx.Owner(fi) != os.Geteuid():
		return fail.Usage("the state directory %s belongs to another user (uid %d)", s.dir, fsx.Owner(fi)).
			WithHint("kx --state-dir DIR ...")
	case fi.Mode().Perm()&0o022 != 0:
		return fail.Usage("the state directory %s can be written by others (mode %04o)", s.dir, fi.Mode().Perm()).
			WithHint("chmod 700 %s", s.dir)
	}
	return s.checkVersion()
}

func (s *State) checkVersion() error {
	path := filepath.Join(s.dir, versionFile)
	data, _, err := fsx.ReadRegular(path, maxSmall)
	if errors.Is(err, fs.ErrNotExist) {
		return s.begin(path)
	}
	if err != nil {
		return unusable(s.dir, err)
	}
	v, err := strconv.Atoi(strings.TrimSpace(string(data)))
	switch {
	case err != nil || v < 1:
		return fail.Usage("%s holds %.20q, not a version", path, data).WithHint("echo %d > %s", layout, path)
	case v > layout:
		return fail.New("newer_state", fail.ExitUsage,
			"this state dir was written by a newer kx: %s has version %d, this kx knows %d", s.dir, v, layout).
			WithHint("kx version")
	}
	return nil
}

// begin marks an empty directory as a state directory. One with other files in
// it is somebody's folder.
func (s *State) begin(path string) error {
	names, err := os.ReadDir(s.dir)
	if err != nil {
		return unusable(s.dir, err)
	}
	for _, n := range names {
		if !strings.HasPrefix(n.Name(), ".") && n.Name() != versionFile {
			return fail.Usage("%s is not a state directory: it has files, but no %s", s.dir, versionFile).
				WithHint("kx --state-dir DIR ...")
		}
	}
	if !s.make {
		return nil
	}
	err = fsx.CreateExcl(path, []byte(strconv.Itoa(layout)+"\n"), 0)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// ApproverKey is the key of people: it decides approvals and signs what they
// trusted. It is made on first use.
func (s *State) ApproverKey() ([]byte, error) { return s.key("approver.key") }

// HostKey is the key by which kx's own processes know each other. It is made on
// first use.
func (s *State) HostKey() ([]byte, error) { return s.key("host.key") }

// ApproverKeyPath makes the approver key if need be and says where it is.
func (s *State) ApproverKeyPath() (string, error) {
	_, err := s.ApproverKey()
	return filepath.Join(s.dir, "approver.key"), err
}

func (s *State) key(name string) ([]byte, error) {
	path := filepath.Join(s.dir, name)
	key, err := ReadKey(path)
	if !errors.Is(err, fs.ErrNotExist) || !s.make {
		return key, err
	}
	key = make([]byte, keyBytes)
	rand.Read(key)
	err = fsx.CreateExcl(path, []byte(hex.EncodeToString(key)+"\n"), 0)
	if errors.Is(err, fs.ErrExist) { // another process was first: its key is the key
		return ReadKey(path)
	}
	if err != nil {
		return nil, err
	}
	return key, nil
}

// ReadKey reads a key file: 64 hexadecimal digits, readable by its owner alone.
func ReadKey(path string) ([]byte, error) {
	data, fi, err := fsx.ReadRegular(path, maxSmall)
	if err != nil {
		return nil, fail.Usage("the key %s can't be read: %v", path, fsx.Reason(err)).WithHint("kx config path approver-key").Because(err)
	}
	if fsx.Owner(fi) != os.Geteuid() || fi.Mode().Perm()&0o077 != 0 {
		return nil, fail.Usage("the key %s is open to others (uid %d, mode %04o)", path, fsx.Owner(fi), fi.Mode().Perm()).
			WithHint("chmod 600 %s", path)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(data)))
	if err != nil || len(key) != keyBytes {
		return nil, fail.Usage("%s is not a key: it should have %d hexadecimal digits", path, 2*keyBytes).WithHint("rm %s", path)
	}
	return key, nil
}

func unusable(dir string, err error) error {
	return fail.Usage("the state directory %s can't be used: %v", dir, fsx.Reason(err)).WithHint("ls -ld %s", dir).Because(err)
}
