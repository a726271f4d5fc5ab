package approval

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/base/jcs"
	"github.com/kxtools/kx/pkg/wire"
)

// maxRecord bounds what is read of one file: an input may have 16 MiB, and JSON
// in JSON grows.
const maxRecord = 64 << 20

// record is a file of decided/: the approval and its seal.
type record struct {
	wire.Approval
	MAC string `json:"mac,omitempty"`
}

func (s *Store) path(kind, id string) string {
	return filepath.Join(s.st.Dir(), "approvals", kind, id+".json")
}

func (s *Store) write(path string, r record) error {
	raw, err := wire.Marshal(r)
	if err != nil {
		return err
	}
	return fsx.WriteFile(path, append(raw, '\n'), 0)
}

// sealed begins what is signed, so that the approver key's signature of nothing
// else is that of an answer.
const sealed = "kx approval\n"

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
	h.Write([]byte(sealed))
	h.Write(raw)
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Get returns the request that id, or a unique beginning of an id, names.
func (s *Store) Get(id string) (*wire.Approval, error) {
	if !wellFormed(id) {
		return nil, missing(id)
	}
	a, err := s.load(id)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return a, err
	}
	var match []string
	ids, err := s.ids()
	if err != nil {
		return nil, err
	}
	for _, other := range ids {
		if strings.HasPrefix(other, id) {
			match = append(match, other)
		}
	}
	switch len(match) {
	case 0:
		return nil, missing(id)
	case 1:
		if a, err = s.load(match[0]); errors.Is(err, fs.ErrNotExist) {
			err = missing(id) // it went this moment
		}
		return a, err
	}
	return nil, fail.Usage("%q may be %s", id, strings.Join(match, ", ")).WithHint("kx approve show %s", match[0])
}

// wellFormed reports whether id can be that of a request, or its beginning; no
// other is made part of a path.
func wellFormed(id string) bool {
	return id != "" && len(id) <= maxID && strings.Trim(id, idLetters) == ""
}

func missing(id string) error {
	return fail.NotFound("no_such_request", "there is no request %.40q", id).WithHint("kx approve list")
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
		a := &pending.Approval
		a.State = wire.ApprovalPending
		if a.ExpiresAt != nil && s.now().After(*a.ExpiresAt) {
			a.State = wire.ApprovalExpired
		}
		// Nobody has answered, whatever the file says.
		a.DecidedAt, a.DecidedBy, a.Scope, a.Note, a.InputEdited, a.SpendBy = nil, nil, "", "", false, nil
		return a, nil
	case err != nil:
		return nil, err
	}
	mac, err := s.mac(answer.Approval)
	if err != nil {
		return nil, err
	}
	if !hmac.Equal([]byte(mac), []byte(answer.MAC)) || answer.ActionHash != pending.ActionHash {
		return nil, fail.Denied("forged_answer", "the answer to request %s was not written by kx", id).
			WithHint("rm %s", s.path("decided", id))
	}
	a := &answer.Approval
	if a.State == wire.ApprovalAllowed || a.State == wire.ApprovalAnswered {
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
	r, ok := parse(raw, id)
	switch {
	case !ok:
		return nil, fail.Failed("damaged_request", "%s is damaged", s.path(kind, id)).WithHint("rm %s", s.path(kind, id))
	case r.V > wire.Version:
		return nil, fail.Usage("%s was written by a newer kx", s.path(kind, id))
	}
	return r, nil
}

// parse reads the record of an id.
func parse(raw []byte, id string) (*record, bool) {
	var r record
	err := json.Unmarshal(raw, &r)
	return &r, err == nil && r.ID == id && r.Type == "approval"
}

// List returns the requests in the given state, or all with "", the oldest
// first, and an error for each that can't be read.
func (s *Store) List(state string) ([]wire.Approval, []error) {
	out, bad, err := s.list(state)
	if err != nil {
		bad = []error{err}
	}
	return out, bad
}

// ids are the names of all requests.
func (s *Store) ids() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(s.st.Dir(), "approvals", "pending"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fail.Failed("unreadable", "the requests can't be listed: %v", err).Because(err)
	}
	var ids []string
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), ".json"); ok && !strings.HasPrefix(id, ".") {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// list is List; it fails if there is no telling which requests there are.
func (s *Store) list(state string) (out []wire.Approval, bad []error, err error) {
	ids, err := s.ids()
	if err != nil {
		return nil, nil, err
	}
	for _, id := range ids {
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
	slices.SortFunc(out, older)
	return out, bad, nil
}

// older puts requests in the order in which they were made.
func older(a, b wire.Approval) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
}
