// Package trust owns trust/ in the state directory: which workspaces may speak
// to kx through files of their own, and what those files said when a person
// trusted them.
//
// trust/<12 hex of sha256(root)>.json names the root, the level and the sha256
// of each file, signed with the approver key; trust/<the same>/<sha256> is a
// copy of a file. The copies speak, not the files: whoever changes a file in
// the workspace changes nothing until a person trusts the change. A record
// whose signature or copies are wrong trusts nothing and says so.
package trust

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/wire"
)

const (
	folder    = "trust"
	recordExt = ".json"
	maxRecord = 64 << 10 // a record is about 1 KiB
)

// The levels of trust.
const (
	LevelFiles = "files" // the files may speak
	LevelCode  = "code"  // and servers that run code of the project may start
)

// Levels are all of them, the lower first.
var Levels = []string{LevelFiles, LevelCode}

// Record is trust/<...>.json.
type Record struct {
	Type      string          `json:"type"`
	V         int             `json:"v"`
	Workspace string          `json:"workspace"`
	Level     string          `json:"level"`
	AddedAt   time.Time       `json:"added_at"`
	Files     map[string]File `json:"files"`
	MAC       string          `json:"mac"`
}

// File is what a record says of a file: its content, or that it was not there.
type File struct {
	SHA256 string `json:"sha256,omitempty"`
	Absent bool   `json:"absent,omitempty"`
}

// Status is how a workspace stands.
type Status struct {
	Workspace string
	Trusted   bool
	Level     string
	AddedAt   time.Time
	Copies    map[string][]byte // what is in force, by path from the root
	Changed   []Change          // what is different in the workspace now
	Problem   string            // why a record that is there counts for nothing
}

// Digests are the sha256 of the files that are in force.
func (s Status) Digests() map[string]string { return Digests(s.Copies) }

// Digests are the sha256 of files.
func Digests(files map[string][]byte) map[string]string {
	sums := map[string]string{}
	for name, data := range files {
		sums[name] = digest(data)
	}
	return sums
}

// Store is the trust of one state directory.
type Store struct {
	st  *state.State
	now func() time.Time
}

// New returns the trust in st.
func New(st *state.State, now func() time.Time) *Store { return &Store{st: st, now: now} }

// base is the path of a workspace's record and copies, without extension.
func (s *Store) base(workspace string) string {
	sum := sha256.Sum256([]byte(workspace))
	return filepath.Join(s.st.Dir(), folder, hex.EncodeToString(sum[:])[:12])
}

// Get says how the workspace stands and what changed since it was trusted. Of
// one that is not trusted it says what its files would say.
func (s *Store) Get(workspace string) (Status, error) {
	st := Status{Workspace: workspace}
	rec, err := s.read(s.base(workspace) + recordExt)
	switch {
	case err == nil && rec.Workspace != workspace:
		err = errors.New("it is of another workspace: " + rec.Workspace)
	case err == nil:
		st.Copies, err = s.copies(rec)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		st.Problem = "the record " + s.base(workspace) + recordExt + " is not valid: " + fsx.Reason(err).Error()
	default:
		st.Trusted, st.Level, st.AddedAt = true, rec.Level, rec.AddedAt
	}
	st.Changed = compare(workspace, st.Copies)
	return st, nil
}

// read reads a record and checks its signature.
func (s *Store) read(path string) (Record, error) {
	data, _, err := fsx.ReadRegular(path, maxRecord)
	if err != nil {
		return Record{}, err
	}
	key, err := s.st.ApproverKey()
	if err != nil {
		return Record{}, errors.New("the approver key is missing or damaged")
	}
	var rec Record
	if err := json.Unmarshal(data, &rec); err != nil || rec.Type != folder || rec.V != wire.Version {
		return Record{}, errors.New("it is damaged")
	}
	want, err := sign(key, data)
	if err != nil || !hmac.Equal([]byte(want), []byte(rec.MAC)) {
		return Record{}, errors.New("its signature is wrong")
	}
	return rec, nil
}

// sign returns the signature of a record: over all its fields but mac, in order
// of their names.
func sign(key, data []byte) (string, error) {
	var all map[string]any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&all); err != nil {
		return "", err
	}
	delete(all, "mac")
	canonical, err := wire.Marshal(all)
	if err != nil {
		return "", err
	}
	h := hmac.New(sha256.New, key)
	h.Write(canonical)
	return hex.EncodeToString(h.Sum(nil)), nil
}

// copies reads what is in force.
func (s *Store) copies(rec Record) (map[string][]byte, error) {
	copies := map[string][]byte{}
	for _, name := range Names {
		f, ok := rec.Files[name]
		if !ok || f.Absent {
			continue
		}
		data, _, err := fsx.ReadRegular(filepath.Join(s.base(rec.Workspace), filepath.Base(f.SHA256)), maxFile)
		if err != nil || digest(data) != f.SHA256 {
			return nil, errors.New("the copy of " + name + " is missing or has changed")
		}
		copies[name] = data
	}
	return copies, nil
}

// Add trusts the files of the workspace as they are in want, which a person has
// seen: if one has changed since, nothing is trusted.
func (s *Store) Add(workspace, level string, want map[string][]byte) (Record, error) {
	now, err := Read(workspace)
	if err != nil {
		return Record{}, err
	}
	rec := Record{Type: folder, V: wire.Version, Workspace: workspace, Level: level, AddedAt: s.now().UTC().Truncate(time.Second), Files: map[string]File{}}
	for _, name := range Names {
		data, ok := now[name]
		seen, was := want[name]
		if ok != was || !bytes.Equal(data, seen) {
			return Record{}, fail.Conflict("changed", "%s changed while you looked at it", name).WithHint("kx trust add")
		}
		rec.Files[name] = File{Absent: true}
		if ok {
			rec.Files[name] = File{SHA256: digest(data)}
		}
	}
	return rec, s.write(&rec, now)
}

// write stores the copies, then the record: until that is in place, the old one
// and its copies are in force.
func (s *Store) write(rec *Record, files map[string][]byte) error {
	base := s.base(rec.Workspace)
	dir, err := s.st.Sub(folder, filepath.Base(base))
	if err != nil {
		return err
	}
	keep := map[string]bool{}
	for _, data := range files {
		name := digest(data)
		keep[name] = true
		if err := fsx.WriteFile(filepath.Join(dir, name), data, 0); err != nil {
			return err
		}
	}
	key, err := s.st.ApproverKey()
	if err != nil {
		return err
	}
	data, err := wire.Marshal(rec)
	if err == nil {
		rec.MAC, err = sign(key, data)
	}
	if err == nil {
		data, err = wire.Marshal(rec)
	}
	if err != nil {
		return fail.Failed("trust", "the record can't be encoded: %v", err).Because(err)
	}
	if err := fsx.WriteFile(base+recordExt, append(data, '\n'), 0); err != nil {
		return err
	}
	old, _ := os.ReadDir(dir)
	for _, e := range old { // nothing refers to these any more
		if !keep[e.Name()] {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
	return nil
}

// Remove ends the trust in a workspace.
func (s *Store) Remove(workspace string) error {
	base := s.base(workspace)
	err := os.Remove(base + recordExt)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fail.NotFound("trust", "%s is not trusted", workspace).WithHint("kx trust list")
	case err != nil:
		return fail.Failed("trust", "the trust in %s can't be removed: %v", workspace, fsx.Reason(err)).Because(err)
	}
	if err := fsx.SyncDir(filepath.Dir(base)); err != nil {
		return err
	}
	os.RemoveAll(base)
	return nil
}

// List returns how every workspace stands that has a record, by their paths.
func (s *Store) List() ([]Status, error) {
	dir := filepath.Join(s.st.Dir(), folder)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fail.Failed("trust", "%s can't be read: %v", dir, fsx.Reason(err)).WithHint("ls -ld %s", dir).Because(err)
	}
	var all []Status
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || !strings.HasSuffix(e.Name(), recordExt) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		rec, err := s.read(path)
		if err != nil || s.base(rec.Workspace)+recordExt != path {
			all = append(all, Status{Workspace: rec.Workspace, Problem: "the record " + path + " is not valid"})
			continue
		}
		st, err := s.Get(rec.Workspace)
		if err != nil {
			return nil, err
		}
		all = append(all, st)
	}
	sortByWorkspace(all)
	return all, nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
