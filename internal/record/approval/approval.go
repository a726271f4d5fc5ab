// Package approval owns approvals/ in the state directory: requests that wait for
// a person, the answers, and which of those were used.
//
//	pending/<id>.json   the request, never changed but for its expiry
//	decided/<id>.json   the request with its answer, made once: the first wins
//	spent/<id>.json     made by the one call that used the answer
//
// An id belongs to the action that is asked for: it is made from the action's
// hash, so the same call finds its request again without an index. Answers carry
// a MAC of the approver's key; one without is as good as none. The gate parks
// and spends; the approval host alone decides.
package approval

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/base/jcs"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/wire"
)

const (
	// MaxPending is how many requests of one session may wait: more than a
	// person can read is not asking any more.
	MaxPending = 50
	// Patience is how long a request lives after its last waiter has gone.
	Patience = 300 * time.Second
	// SpendWithin is how long an allowed request can be used.
	SpendWithin = 300 * time.Second
	// DenialHolds is how long a denial answers the same call again.
	DenialHolds = 15 * time.Minute
	// maxRecord bounds what is read of one file: an input may have 16 MiB,
	// and JSON in JSON grows.
	maxRecord = 64 << 20
)

// Store is the approvals of one state directory.
type Store struct {
	st  *state.State
	now func() time.Time
}

// New returns the approvals in st. It makes nothing before the first request.
func New(st *state.State, now func() time.Time) *Store { return &Store{st: st, now: now} }

// record is a file of decided/: the approval and its seal.
type record struct {
	wire.Approval
	MAC string `json:"mac,omitempty"`
}

// ActionHash is the sha256 of what a request asks for, in canonical JSON. The
// digest of the policy is not part of it: a changed rule is another answer to
// the same question.
func ActionHash(a *wire.Approval) (string, error) {
	raw, err := jcs.Encode(struct {
		V         int             `json:"v"`
		Tool      string          `json:"tool"`
		Input     json.RawMessage `json:"input"`
		Workspace string          `json:"workspace"`
		Cwd       string          `json:"cwd"`
		Session   string          `json:"session"`
		Caller    string          `json:"caller"`
		CallID    string          `json:"call_id,omitempty"`
	}{wire.Version, a.Tool, a.Input, a.Workspace, a.Cwd, a.Session, a.Caller, a.CallID})
	if err != nil {
		return "", fail.Usage("the input can't be hashed: %v", err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), nil
}

// idLetters leaves out what looks alike.
const idLetters = "abcdefghjkmnpqrstuvwxyz23456789"

// candidate is the n-th id of an action. The first ones are short.
func candidate(hash string, n int) string {
	sum := sha256.Sum256([]byte(hash + "/" + strconv.Itoa(n)))
	length := min(4+n/8, 6)
	id := make([]byte, length)
	for i := range id {
		id[i] = idLetters[int(sum[i])%len(idLetters)]
	}
	return string(id)
}

// maxCandidates ends the search for a free id. An action that was asked for
// that often is a loop, not a question.
const maxCandidates = 4096

func (s *Store) path(kind, id string) string {
	return filepath.Join(s.st.Dir(), "approvals", kind, id+".json")
}

// Find returns the request for an action that still counts: pending, allowed
// and not used, or denied a short while ago. If there is none, it returns the
// id that a new request would have.
func (s *Store) Find(hash string) (a *wire.Approval, free string, err error) {
	for n := range maxCandidates {
		id := candidate(hash, n)
		got, err := s.load(id)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, id, nil
		case err != nil:
			continue // damaged: set aside by List, and never an answer
		case got.ActionHash != hash:
			continue
		}
		switch got.State {
		case wire.ApprovalPending, wire.ApprovalAllowed:
			return got, "", nil
		case wire.ApprovalDenied:
			if got.DecidedAt != nil && s.now().Sub(*got.DecidedAt) < DenialHolds {
				return got, "", nil
			}
		}
	}
	return nil, "", fail.Limit("too_many_requests", "this action was asked for %d times", maxCandidates)
}

// Park writes a request, or returns the one that waits for the same action. The
// caller fills everything but the id, the state and the times.
func (s *Store) Park(a wire.Approval, expires *time.Time) (*wire.Approval, error) {
	if a.ActionHash == "" {
		return nil, errors.New("a request without an action hash")
	}
	dir, err := s.st.Sub("approvals", "pending")
	if err != nil {
		return nil, err
	}
	unlock, err := fsx.Lock(filepath.Join(s.st.Dir(), "approvals", "lock"))
	if err != nil {
		return nil, err
	}
	defer unlock()
	have, id, err := s.Find(a.ActionHash)
	if err != nil {
		return nil, err
	}
	if have != nil {
		if have.State == wire.ApprovalPending && later(expires, have.ExpiresAt) {
			have.ExpiresAt = expires
			return have, s.write(filepath.Join(dir, have.ID+".json"), record{Approval: *have})
		}
		return have, nil
	}
	pending, _ := s.List(wire.ApprovalPending)
	n := 0
	for _, p := range pending {
		if p.Session == a.Session {
			n++
		}
	}
	if n >= MaxPending {
		return nil, fail.Limit("pending_approvals", "%d requests of session %s wait already", n, a.Session).WithHint("kx approve list")
	}
	a.Type, a.V, a.ID, a.State = "approval", wire.Version, id, wire.ApprovalPending
	a.CreatedAt, a.ExpiresAt = s.now().UTC(), expires
	if err := s.write(filepath.Join(dir, id+".json"), record{Approval: a}); err != nil {
		return nil, err
	}
	return &a, nil
}

// later reports whether a request that is asked for again lives longer than it
// says; nil is for ever.
func later(a, b *time.Time) bool {
	if a == nil || b == nil {
		return a == nil && b != nil
	}
	return a.After(*b)
}

func (s *Store) write(path string, r record) error {
	raw, err := wire.Marshal(r)
	if err != nil {
		return err
	}
	return fsx.WriteFile(path, append(raw, '\n'), 0)
}

// Decide answers a pending request. The first answer wins and is final.
func (s *Store) Decide(id, verdict, note string, by wire.Decider) (*wire.Approval, error) {
	a, err := s.Get(id)
	if err != nil {
		return nil, err
	}
	if a.State != wire.ApprovalPending {
		return nil, decided(a)
	}
	// What a person was shown is what the hash says: a request that was
	// changed since it was parked is not answered.
	if hash, err := ActionHash(a); err != nil || hash != a.ActionHash {
		return nil, fail.Conflict("hash_mismatch", "request %s was changed after it was made", a.ID).WithHint("kx approve deny %s", a.ID)
	}
	now := s.now().UTC()
	a.State, a.Note, a.DecidedAt, a.DecidedBy = verdict, note, &now, &by
	if verdict == wire.ApprovalAllowed {
		a.Scope = "once"
		if a.ExpiresAt != nil {
			by := now.Add(SpendWithin)
			a.SpendBy = &by
		}
	}
	return a, s.seal(a)
}

// Cancel ends the pending requests of a session that was stopped.
func (s *Store) Cancel(session string, by wire.Decider) ([]string, error) {
	pending, _ := s.List(wire.ApprovalPending)
	var ids []string
	for _, a := range pending {
		if a.Session != session {
			continue
		}
		now := s.now().UTC()
		a.State, a.DecidedAt, a.DecidedBy = wire.ApprovalCancelled, &now, &by
		if err := s.seal(&a); err != nil && fail.Exit(err) != fail.ExitConflict {
			return ids, err
		}
		ids = append(ids, a.ID)
	}
	return ids, nil
}

func decided(a *wire.Approval) error {
	if a.State == wire.ApprovalExpired {
		return fail.Conflict("expired", "request %s has expired", a.ID).WithHint("kx approve list")
	}
	return fail.Conflict("already_decided", "request %s is %s already", a.ID, a.State).WithHint("kx approve show %s", a.ID)
}

// seal writes the answer; it fails if there is one.
func (s *Store) seal(a *wire.Approval) error {
	dir, err := s.st.Sub("approvals", "decided")
	if err != nil {
		return err
	}
	mac, err := s.mac(*a)
	if err != nil {
		return err
	}
	raw, err := wire.Marshal(record{*a, mac})
	if err != nil {
		return err
	}
	err = fsx.CreateExcl(filepath.Join(dir, a.ID+".json"), append(raw, '\n'), 0)
	if errors.Is(err, fs.ErrExist) {
		if have, err := s.load(a.ID); err == nil {
			return decided(have)
		}
	}
	return err
}

func (s *Store) mac(a wire.Approval) (string, error) {
	key, err := s.st.ApproverKey()
	if err != nil {
		return "", err
	}
	raw, err := jcs.Encode(a)
	if err != nil {
		return "", err
	}
	h := hmac.New(sha256.New, key)
	h.Write(raw)
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Spend uses an allowed request for the call, once: whoever comes second gets a
// conflict.
func (s *Store) Spend(a *wire.Approval, callID string) error {
	dir, err := s.st.Sub("approvals", "spent")
	if err != nil {
		return err
	}
	raw, err := wire.Marshal(struct {
		Type   string    `json:"type"`
		V      int       `json:"v"`
		ID     string    `json:"id"`
		CallID string    `json:"call_id"`
		At     time.Time `json:"at"`
	}{"spent", wire.Version, a.ID, callID, s.now().UTC()})
	if err != nil {
		return err
	}
	err = fsx.CreateExcl(filepath.Join(dir, a.ID+".json"), append(raw, '\n'), 0)
	if errors.Is(err, fs.ErrExist) {
		return fail.Conflict("already_spent", "approval %s was used already", a.ID)
	}
	return err
}

// Get returns the request that id, or a unique beginning of an id, names.
func (s *Store) Get(id string) (*wire.Approval, error) {
	if strings.Trim(id, idLetters) != "" || id == "" {
		return nil, missing(id)
	}
	a, err := s.load(id)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return a, err
	}
	var match []string
	names, _ := os.ReadDir(filepath.Join(s.st.Dir(), "approvals", "pending"))
	for _, e := range names {
		if name, ok := strings.CutSuffix(e.Name(), ".json"); ok && strings.HasPrefix(name, id) {
			match = append(match, name)
		}
	}
	switch len(match) {
	case 0:
		return nil, missing(id)
	case 1:
		return s.load(match[0])
	}
	return nil, fail.Usage("%q may be %s", id, strings.Join(match, ", ")).WithHint("kx approve show %s", match[0])
}

func missing(id string) error {
	return fail.NotFound("no_such_request", "there is no request %q", id).WithHint("kx approve list")
}

// load reads a request and its answer, and works out its state. Requests that
// don't exist are fs.ErrNotExist.
func (s *Store) load(id string) (*wire.Approval, error) {
	pending, err := s.read("pending", id)
	if err != nil {
		return nil, err
	}
	answer, err := s.read("decided", id)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if pending.ExpiresAt != nil && s.now().After(*pending.ExpiresAt) {
			pending.State = wire.ApprovalExpired
		} else {
			pending.State = wire.ApprovalPending
		}
		return &pending.Approval, nil
	case err != nil:
		return nil, err
	}
	mac, err := s.mac(answer.Approval)
	if err != nil {
		return nil, err
	}
	if !hmac.Equal([]byte(mac), []byte(answer.MAC)) || answer.ID != id || answer.ActionHash != pending.ActionHash {
		return nil, fail.Denied("forged_answer", "the answer to request %s was not written by kx", id).
			WithHint("rm %s", s.path("decided", id))
	}
	a := &answer.Approval
	if a.State == wire.ApprovalAllowed {
		if _, err := os.Lstat(s.path("spent", id)); err == nil {
			a.State = wire.ApprovalSpent
		} else if a.SpendBy != nil && s.now().After(*a.SpendBy) {
			a.State = wire.ApprovalExpired
		}
	}
	return a, nil
}

func (s *Store) read(kind, id string) (*record, error) {
	raw, _, err := fsx.ReadRegular(s.path(kind, id), maxRecord)
	if err != nil {
		return nil, err
	}
	var r record
	if err := json.Unmarshal(raw, &r); err != nil || r.ID != id || r.Type != "approval" {
		return nil, fail.Failed("damaged_request", "%s is damaged", s.path(kind, id)).WithHint("rm %s", s.path(kind, id))
	}
	if r.V > wire.Version {
		return nil, fail.Usage("%s was written by a newer kx", s.path(kind, id))
	}
	return &r, nil
}

// List returns the requests in the given state, or all with "", the oldest
// first, and an error for each that can't be read.
func (s *Store) List(state string) ([]wire.Approval, []error) {
	names, err := os.ReadDir(filepath.Join(s.st.Dir(), "approvals", "pending"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, []error{err}
	}
	var out []wire.Approval
	var bad []error
	for _, e := range names {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || strings.HasPrefix(id, ".") {
			continue
		}
		if state == wire.ApprovalPending {
			if _, err := os.Lstat(s.path("decided", id)); err == nil {
				continue
			}
		}
		a, err := s.load(id)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			bad = append(bad, err)
		case state == "" || a.State == state:
			out = append(out, *a)
		}
	}
	sort.Slice(out, func(i, j int) bool {
		if !out[i].CreatedAt.Equal(out[j].CreatedAt) {
			return out[i].CreatedAt.Before(out[j].CreatedAt)
		}
		return out[i].ID < out[j].ID
	})
	return out, bad
}
