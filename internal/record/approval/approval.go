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
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/failpoint"
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
)

// Store is the approvals of one state directory.
type Store struct {
	st  *state.State
	now func() time.Time
}

// New returns the approvals in st. It makes nothing before the first request.
func New(st *state.State, now func() time.Time) *Store { return &Store{st: st, now: now} }

// ActionHash is the sha256 of what a request asks for, in canonical JSON. The
// digest of the policy is not part of it: a changed rule is another answer to
// the same question.
func ActionHash(a *wire.Approval) (string, error) {
	raw, err := jcs.Encode(struct {
		V         int               `json:"v"`
		Tool      string            `json:"tool"`
		Input     json.RawMessage   `json:"input"`
		Workspace string            `json:"workspace"`
		Cwd       string            `json:"cwd"`
		Session   string            `json:"session"`
		Caller    string            `json:"caller"`
		CallID    string            `json:"call_id,omitempty"`
		Digests   map[string]string `json:"digests,omitempty"`
	}{wire.Version, a.Tool, a.Input, a.Workspace, a.Cwd, a.Session, a.Caller, a.CallID, a.Digests})
	if err != nil {
		return "", fail.Usage("the input can't be hashed: %v", err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), nil
}

// idLetters leaves out what looks alike.
const idLetters = "abcdefghjkmnpqrstuvwxyz23456789"

const maxID = 6 // as much as a person types

// candidate is the n-th id of an action. The first ones are short.
func candidate(hash string, n int) string {
	sum := sha256.Sum256([]byte(hash + "/" + strconv.Itoa(n)))
	length := min(4+n/8, maxID)
	id := make([]byte, length)
	for i := range id {
		id[i] = idLetters[int(sum[i])%len(idLetters)]
	}
	return string(id)
}

// maxCandidates ends the search for a free id. An action that was asked for
// that often is a loop, not a question.
const maxCandidates = 4096

// Find returns the latest request for an action, if it still counts: pending,
// allowed and not used, or denied a short while ago. In a run, whose calls are
// actions of their own, one that was used counts for ever: this very call was
// about to run. If there is none, it returns the id that a new request would
// have.
func (s *Store) Find(hash string) (a *wire.Approval, free string, err error) {
	for n := range maxCandidates {
		id := candidate(hash, n)
		got, err := s.load(id)
		switch {
		case errors.Is(err, fs.ErrNotExist) && s.answered(id):
			// Somebody removed the request and left its answer.
		case errors.Is(err, fs.ErrNotExist) && a != nil:
			return a, "", nil
		case errors.Is(err, fs.ErrNotExist):
			return nil, id, nil
		case err != nil:
			// Damaged: set aside by List, and never an answer.
		case got.ActionHash != hash:
			// Two actions came to one id.
		case s.counts(got):
			a = got
		default:
			a = nil // what was before it counts no more, even if the clock went back
		}
	}
	return nil, "", fail.Limit("too_many_requests", "this action was asked for %d times", maxCandidates)
}

// counts reports whether a request speaks for its action.
func (s *Store) counts(a *wire.Approval) bool {
	switch a.State {
	case wire.ApprovalPending, wire.ApprovalAllowed, wire.ApprovalAnswered:
		return true
	case wire.ApprovalSpent:
		return a.CallID != ""
	case wire.ApprovalDenied:
		return a.DecidedAt != nil && s.now().Sub(*a.DecidedAt) < DenialHolds
	}
	return false
}

// answered reports whether an id has an answer, valid or not.
func (s *Store) answered(id string) bool {
	for _, kind := range []string{"decided", "spent"} {
		if _, err := os.Lstat(s.path(kind, id)); !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
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
	unlock, err := s.lock()
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
	pending, _, err := s.list(wire.ApprovalPending)
	if err != nil {
		return nil, err
	}
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
	failpoint.Hit("park.before")
	if err := s.write(filepath.Join(dir, id+".json"), record{Approval: a}); err != nil {
		return nil, err
	}
	failpoint.Hit("park.after")
	return &a, nil
}

// Extend lets a request that waits live until a later time.
func (s *Store) Extend(id string, until time.Time) error {
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	a, err := s.Get(id)
	if err != nil || a.State != wire.ApprovalPending || !later(&until, a.ExpiresAt) {
		return err
	}
	a.ExpiresAt = &until
	return s.write(s.path("pending", a.ID), record{Approval: *a})
}

// later reports whether a request that is asked for again lives longer than it
// says; nil is for ever.
func later(a, b *time.Time) bool {
	if a == nil || b == nil {
		return a == nil && b != nil
	}
	return a.After(*b)
}

// Answer is what a person says to a request.
type Answer struct {
	Allow bool            `json:"allow"`
	Note  string          `json:"note,omitempty"`
	Scope string          `json:"scope,omitempty"` // of an allow: once, session or always
	Input json.RawMessage `json:"input,omitempty"` // in place of the one that was asked for
	Rules []wire.Rule     `json:"rules,omitempty"` // that a wider scope comes to
}

// The scopes of an allow.
const (
	Once    = "once"
	Session = "session"
	Always  = "always"
)

// Decide answers a pending request. The first answer wins and is final.
func (s *Store) Decide(id string, ans Answer, by wire.Decider) (*wire.Approval, error) {
	a, err := s.Get(id)
	if err != nil {
		return nil, err
	}
	if a.State != wire.ApprovalPending {
		return nil, decided(a)
	}
	if a.Kind == KindQuestion && ans.Allow {
		return nil, fail.Usage("request %s is a question", a.ID).WithHint("kx approve answer %s --option 1", a.ID)
	}
	// What a person was shown is what the hash says: a request that was
	// changed since it was parked can only be denied.
	if hash, err := ActionHash(a); ans.Allow && (err != nil || hash != a.ActionHash) {
		return nil, fail.Conflict("hash_mismatch", "request %s was changed after it was made", a.ID).WithHint("kx approve deny %s", a.ID)
	}
	now := s.now().UTC()
	a.State, a.Note, a.DecidedAt, a.DecidedBy = wire.ApprovalDenied, ans.Note, &now, &by
	if ans.Allow {
		a.State, a.Scope, a.Rules = wire.ApprovalAllowed, cmp.Or(ans.Scope, Once), ans.Rules
		if ans.Input != nil {
			a.Input, a.InputEdited = ans.Input, true
		}
		if a.CallID == "" { // a run spends it when it is resumed
			by := now.Add(SpendWithin)
			a.SpendBy = &by
		}
	}
	return a, s.seal(a)
}

// Claim binds an idempotency key to one answer of one request, before the answer
// is given. It returns the request if it was answered with this key before: the
// same answer again changes nothing. With another answer it is a conflict.
func (s *Store) Claim(id, key string, ans Answer) (*wire.Approval, error) {
	a, err := s.Get(id)
	if err != nil {
		return nil, err
	}
	dir, err := s.st.Sub("approvals", "keys")
	if err != nil {
		return nil, err
	}
	raw, err := jcs.Encode(struct {
		ID     string `json:"id"`
		Answer Answer `json:"answer"`
	}{a.ID, ans})
	if err != nil {
		return nil, err
	}
	name := sha256.Sum256([]byte(key))
	path := filepath.Join(dir, hex.EncodeToString(name[:])+".json")
	err = fsx.CreateExcl(path, append(raw, '\n'), 0)
	if err == nil || !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	have, _, err := fsx.ReadRegular(path, maxRecord)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(bytes.TrimSpace(have), raw) {
		return nil, fail.Conflict("idempotency_conflict", "the idempotency key was used for another answer").WithHint("kx approve show %s", a.ID)
	}
	if a.State == wire.ApprovalPending {
		return nil, nil // whoever had the key before died before it answered
	}
	return a, nil
}

// Cancel ends the pending requests of a session that was stopped.
func (s *Store) Cancel(session string, by wire.Decider) ([]string, error) {
	unlock, err := s.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	pending, _, err := s.list(wire.ApprovalPending)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, a := range pending {
		if a.Session != session {
			continue
		}
		now := s.now().UTC()
		a.State, a.DecidedAt, a.DecidedBy = wire.ApprovalCancelled, &now, &by
		switch err := s.seal(&a); {
		case err == nil:
			ids = append(ids, a.ID)
		case fail.Exit(err) != fail.ExitConflict: // that one was answered this moment
			return ids, err
		}
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
	failpoint.Hit("decide.before")
	err = fsx.CreateExcl(filepath.Join(dir, a.ID+".json"), append(raw, '\n'), 0)
	failpoint.Hit("decide.after")
	if errors.Is(err, fs.ErrExist) {
		if have, err := s.load(a.ID); err == nil {
			return decided(have)
		}
	}
	return err
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
	failpoint.Hit("spend.before")
	err = fsx.CreateExcl(filepath.Join(dir, a.ID+".json"), append(raw, '\n'), 0)
	failpoint.Hit("spend.after")
	if errors.Is(err, fs.ErrExist) {
		return fail.Conflict("already_spent", "approval %s was used already", a.ID)
	}
	return err
}
