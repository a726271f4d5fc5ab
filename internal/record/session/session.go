// Package session owns sessions/ in the state directory: what agents did, and
// the calls that people made in a workspace.
//
// sessions/<id>/ has meta.json (what it is and how it stands, replaced as a
// whole), events.jsonl (what happened, only ever appended to), lock (held for
// the whole of a run, with the pid of the holder in it) and blobs/ (long
// strings of events, by their sha256). A session appears with its meta.json or
// not at all. An event has one writer: the run that holds the lock, or, in the
// session of a workspace, whoever holds it for one line. Readers need no lock.
package session

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/wire"
)

const (
	folder     = "sessions"
	metaFile   = "meta.json"
	eventsFile = "events.jsonl"
	lockFile   = "lock"
	blobFolder = "blobs"

	maxMeta = 64 << 20 // it holds a copy of an agent's script
	maxPID  = 32       // a pid and a newline
)

// The states of a session.
const (
	Running   = "running"
	Parked    = "parked"
	Completed = "completed"
	Failed    = "failed"
	Stopped   = "stopped"
)

// Meta is meta.json: the session as it is shown, and what its agent needs to
// go on.
type Meta struct {
	wire.Session
	Agent json.RawMessage `json:"agent,omitempty"`
}

// Store is the sessions of one state directory.
type Store struct {
	st  *state.State
	now func() time.Time
}

// New returns the sessions in st. It makes nothing before the first session.
func New(st *state.State, now func() time.Time) *Store { return &Store{st: st, now: now} }

// maxID is the longest id: a name of a folder that is still easy to read.
const maxID = 64

// CheckID refuses what can't be the id of a session.
func CheckID(id string) error {
	const first, rest = "abcdefghijklmnopqrstuvwxyz0123456789", "abcdefghijklmnopqrstuvwxyz0123456789-"
	if id == "" || len(id) > maxID || !strings.Contains(first, id[:1]) || strings.Trim(id, rest) != "" {
		return fail.Usage("%.80q is not a session id: up to %d lower-case letters, digits and -", id, maxID).WithHint("kx agent list")
	}
	return nil
}

// WorkspaceID is the session of the calls in a workspace that name none.
func WorkspaceID(workspace string) string {
	sum := sha256.Sum256([]byte(workspace))
	return "cli-" + hex.EncodeToString(sum[:])[:12]
}

// idLetters leaves out what is mistaken for something else: 0 o 1 l i.
const idLetters = "abcdefghjkmnpqrstuvwxyz23456789"

// NewID returns a random id of n characters.
func NewID(n int) string {
	id := make([]byte, n)
	for i := 0; i < n; {
		rand.Read(id[i : i+1])
		if b := int(id[i]); b < 256-256%len(idLetters) { // no letter comes oftener than another
			id[i] = idLetters[b%len(idLetters)]
			i++
		}
	}
	return string(id)
}

func (s *Store) dir(id string) string { return filepath.Join(s.st.Dir(), folder, id) }

// Create makes a session. With an empty m.ID it chooses one of 4 characters,
// of up to 6 where these are taken; one that is given must be free.
func (s *Store) Create(m Meta) (Meta, error) {
	return s.create(m, func(string, Meta) error { return nil })
}

// create is Create; fill puts into the folder of the session what it begins with.
func (s *Store) create(m Meta, fill func(dir string, m Meta) error) (Meta, error) {
	m.Type, m.V = "session", wire.Version
	m.CreatedAt = s.now().UTC()
	m.UpdatedAt = m.CreatedAt
	if m.Pending == nil {
		m.Pending = []string{}
	}
	if m.ID != "" {
		if err := CheckID(m.ID); err != nil {
			return m, err
		}
		return m, s.place(m, fill)
	}
	var err error
	for try := range 12 { // each length has a fair chance before the next
		m.ID = NewID(4 + try/4)
		if err = s.place(m, fill); fail.Exit(err) != fail.ExitConflict {
			break
		}
	}
	return m, err
}

// EnsureWorkspace returns the id of the session of a workspace's calls, and
// makes it if need be.
func (s *Store) EnsureWorkspace(workspace string) (id string, err error) {
	id = WorkspaceID(workspace)
	if _, err = s.Meta(id); fail.Exit(err) != fail.ExitNotFound {
		return id, err
	}
	_, err = s.Create(Meta{Session: wire.Session{ID: id, Workspace: workspace, State: Completed}})
	if errors.Is(err, fs.ErrExist) { // another process was first
		err = nil
	}
	return id, err
}

// place makes the folder of m beside its name and moves it there when it is
// whole; that fails if the name is taken.
func (s *Store) place(m Meta, fill func(dir string, m Meta) error) error {
	all, err := s.st.Sub(folder)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(all, ".new-")
	if err != nil {
		return fail.Failed("write", "no session can be made in %s: %v", all, fsx.Reason(err)).WithHint("df -h %s", all).Because(err)
	}
	defer os.RemoveAll(tmp)
	if err := s.writeMeta(tmp, m); err != nil {
		return err
	}
	if err := fill(tmp, m); err != nil {
		return err
	}
	err = os.Rename(tmp, s.dir(m.ID))
	switch {
	case errors.Is(err, fs.ErrExist), errors.Is(err, syscall.ENOTEMPTY):
		return fail.Conflict("session_exists", "session %q exists", m.ID).WithHint("kx agent show %s", m.ID).Because(fs.ErrExist)
	case err != nil:
		return fail.Failed("write", "session %q can't be made: %v", m.ID, fsx.Reason(err)).WithHint("ls -ld %s", all).Because(err)
	}
	return fsx.SyncDir(all)
}

func (s *Store) writeMeta(dir string, m Meta) error {
	if _, has, err := s.secrets(m.Agent); err != nil {
		return err
	} else if has {
		if m.Agent, err = s.shrink(dir, m.Agent); err != nil {
			return err
		}
	}
	data, err := wire.Marshal(m)
	if err != nil {
		return fail.Failed("session", "session %q can't be encoded: %v", m.ID, err).Because(err)
	}
	return fsx.WriteFile(filepath.Join(dir, metaFile), append(data, '\n'), 0)
}

// Meta returns the session id as it stands, see List.
func (s *Store) Meta(id string) (Meta, error) {
	if err := CheckID(id); err != nil {
		return Meta{}, err
	}
	path := filepath.Join(s.dir(id), metaFile)
	data, _, err := fsx.ReadRegular(path, maxMeta)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Meta{}, fail.NotFound("session", "there is no session %q", id).WithHint("kx agent list")
	case err != nil:
		return Meta{}, fail.Failed("session", "session %q can't be read: %v", id, fsx.Reason(err)).WithHint("ls -l %s", path).Because(err)
	}
	var m Meta
	if err := json.Unmarshal(data, &m); err != nil || m.ID != id {
		return Meta{}, fail.Failed("session", "the record of session %q is damaged", id).WithHint("cat %s", path).Because(err)
	}
	if m.Agent, err = s.restore(id, m.Agent); err != nil {
		return Meta{}, err
	}
	if m.State == Running && !s.Running(id) {
		m.State = Failed // killed before it could say how it ended
		if len(m.Pending) > 0 {
			m.State = Parked
		}
	}
	if fi, err := os.Stat(filepath.Join(s.dir(id), eventsFile)); err == nil && fi.ModTime().After(m.UpdatedAt) {
		m.UpdatedAt = fi.ModTime().UTC()
	}
	return m, nil
}

// Save replaces the record of a session that exists. The caller holds its lock,
// or is the only one who can know it.
func (s *Store) Save(m Meta) error {
	if err := CheckID(m.ID); err != nil {
		return err
	}
	m.UpdatedAt = s.now().UTC()
	return s.writeMeta(s.dir(m.ID), m)
}

// List returns all sessions, the last touched first. The state of a run that
// was killed is corrected: parked where somebody's answer is awaited, else
// failed. A session whose record is damaged comes as an error in its place.
func (s *Store) List() ([]Meta, []error) {
	entries, err := os.ReadDir(filepath.Join(s.st.Dir(), folder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, []error{fail.Failed("session", "the sessions can't be read: %v", fsx.Reason(err)).Because(err)}
	}
	var all []Meta
	var bad []error
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || !e.IsDir() {
			continue
		}
		if m, err := s.Meta(e.Name()); err != nil {
			bad = append(bad, err)
		} else {
			all = append(all, m)
		}
	}
	slices.SortStableFunc(all, func(a, b Meta) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	return all, bad
}

// Running reports whether a process runs the session now.
func (s *Store) Running(id string) bool { return fsx.Locked(filepath.Join(s.dir(id), lockFile)) }

// PID returns the process that runs the session, or 0.
func (s *Store) PID(id string) int {
	if CheckID(id) != nil || !s.Running(id) {
		return 0
	}
	data, _, err := fsx.ReadRegular(filepath.Join(s.dir(id), lockFile), maxPID)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || pid <= 1 {
		return 0
	}
	return pid
}
