package session

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/base/jcs"
	"github.com/kxtools/kx/pkg/wire"
)

// rulesFile has the rules that people gave a session when they answered, or with
// kx policy add. Its
// lock is another one than the run's: a run holds that all the time.
const (
	rulesFile = "rules.jsonl"
	rulesLock = "rules.lock"
)

// Rule is a line of rules.jsonl. It counts while the answer that it belongs to
// does; who reads rules looks that up.
type Rule struct {
	Type       string     `json:"type"`
	V          int        `json:"v"`
	Rule       wire.Rule  `json:"rule"`
	ApprovalID string     `json:"approval_id"`      // "" if no answer goes with it
	Hook       string     `json:"hook,omitempty"`   // that made it, in place of an answer
	Caller     string     `json:"caller,omitempty"` // only for calls of this name
	At         time.Time  `json:"at"`
	ExpiresAt  *time.Time `json:"expires_at,omitempty"`
	MAC        string     `json:"mac,omitempty"`
}

// AddRules gives a session rules. They are on disk when it returns.
func (s *Store) AddRules(id string, rules []Rule) error {
	if _, err := s.Meta(id); err != nil {
		return err
	}
	unlock, err := fsx.Lock(filepath.Join(s.dir(id), rulesLock))
	if err != nil {
		return err
	}
	defer unlock()
	log, err := fsx.OpenLog(filepath.Join(s.dir(id), rulesFile))
	if err != nil {
		return err
	}
	defer log.Close()
	for _, r := range rules {
		r.Type, r.V, r.MAC = "session_rule", wire.Version, ""
		if r.MAC, err = s.ruleMAC(id, r); err != nil {
			return err
		}
		line, err := wire.Marshal(r)
		if err != nil {
			return err
		}
		if err := log.Append(line); err != nil {
			return err
		}
	}
	return log.Sync()
}

// RemoveRules takes back the rules of a session for which drop says so, and returns
// how many that were. Lines that it can't read stay.
func (s *Store) RemoveRules(id string, drop func(Rule) bool) (int, error) {
	if _, err := s.Meta(id); err != nil {
		return 0, err
	}
	unlock, err := fsx.Lock(filepath.Join(s.dir(id), rulesLock))
	if err != nil {
		return 0, err
	}
	defer unlock()
	path, n := filepath.Join(s.dir(id), rulesFile), 0
	var kept []byte
	for l, err := range fsx.Lines(path) {
		if err != nil {
			return 0, err
		}
		var r Rule
		if json.Unmarshal(l.Data, &r) == nil && r.Type == "session_rule" && drop(r) {
			n++
			continue
		}
		kept = append(append(kept, l.Data...), '\n')
	}
	if n == 0 {
		return 0, nil
	}
	return n, fsx.WriteFile(path, kept, 0)
}

// Rules returns the rules of a session that have not expired. A line that kx did
// not sign for this session gives nobody a right, and is passed over.
func (s *Store) Rules(id string) ([]Rule, error) {
	if err := CheckID(id); err != nil {
		return nil, err
	}
	var list []Rule
	for l, err := range fsx.Lines(filepath.Join(s.dir(id), rulesFile)) {
		if err != nil {
			return nil, err
		}
		var r Rule
		if json.Unmarshal(l.Data, &r) != nil || r.Type != "session_rule" || r.V > wire.Version {
			continue
		}
		given := r.MAC
		r.MAC = ""
		want, err := s.ruleMAC(id, r)
		if err != nil {
			return nil, err
		}
		if hmac.Equal([]byte(given), []byte(want)) && (r.ExpiresAt == nil || s.now().Before(*r.ExpiresAt)) {
			list = append(list, r)
		}
	}
	return list, nil
}

// ruleMAC signs a rule for one session, so that a line which is copied to
// another one means nothing there.
func (s *Store) ruleMAC(id string, r Rule) (string, error) {
	key, err := s.st.ApproverKey()
	if err != nil {
		return "", err
	}
	raw, err := jcs.Encode(r)
	if err != nil {
		return "", err
	}
	h := hmac.New(sha256.New, key)
	h.Write([]byte("kx session rule\n" + id + "\n"))
	h.Write(raw)
	return hex.EncodeToString(h.Sum(nil)), nil
}

// SharedLife is how long a rule for the session of a workspace's calls lives: that
// session has no end of its own.
const SharedLife = 8 * time.Hour

// Shared tells the session of a workspace's calls from an agent's.
func Shared(id string) bool { return strings.HasPrefix(id, "cli-") }
