package approval

import (
	"path/filepath"
	"slices"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/pkg/wire"
)

// DecideAll answers every pending request of a session but its questions. shown are the ids that
// the person saw: unless they are exactly what waits, nothing is answered. No
// request is parked and no session ends meanwhile, and time stands still; the
// caller keeps away other answers.
//
// Each answer is a file of its own, so a crash in the middle leaves those that
// were written valid and the rest pending. The same holds when the disk is full:
// what was answered is returned along with the error.
func (s *Store) DecideAll(name string, shown []string, ans Answer, by wire.Decider) ([]wire.Approval, error) {
	unlock, err := s.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	at := s.now()
	still := *s
	still.now = func() time.Time { return at }
	waiting, err := still.waiting(name, shown)
	if err != nil {
		return nil, err
	}
	for i := range waiting {
		if hash, err := ActionHash(&waiting[i]); ans.Allow && (err != nil || hash != waiting[i].ActionHash) {
			return nil, fail.Conflict("hash_mismatch", "nothing was answered: request %s was changed after it was made", waiting[i].ID).
				WithHint("kx approve deny %s", waiting[i].ID)
		}
	}
	var done []wire.Approval
	for _, w := range waiting {
		a, err := still.Decide(w.ID, ans, by)
		switch {
		case err != nil && len(done) == 0:
			return nil, err
		case err != nil:
			return done, fail.New("partly_answered", fail.Exit(err), "%d of %d requests were answered, then: %v", len(done), len(waiting), err).
				WithHint("kx approve list --session %s", name).Because(err)
		}
		done = append(done, *a)
	}
	return done, nil
}

// lock keeps away those who park and those who end a session.
func (s *Store) lock() (unlock func(), err error) {
	dir, err := s.st.Sub("approvals")
	if err != nil {
		return nil, err
	}
	return fsx.Lock(filepath.Join(dir, "lock"))
}

// InAll reports whether an answer to all of a session is one to a. A question is
// left alone: yes is no answer to it.
func InAll(a *wire.Approval, session string) bool {
	return a.Session == session && a.Kind != KindQuestion
}

// waiting returns what waits in a session, if it is what was shown.
func (s *Store) waiting(name string, shown []string) ([]wire.Approval, error) {
	stale := func(format string, args ...any) error {
		return fail.Conflict("stale_list", "nothing was answered: "+format, args...).WithHint("kx approve list --session %s", name)
	}
	ids := slices.Sorted(slices.Values(shown))
	for i := range ids[min(1, len(ids)):] {
		if ids[i] == ids[i+1] {
			return nil, fail.Usage("request %.40q is named twice: nothing was answered", ids[i])
		}
	}
	var list []wire.Approval
	pending, _, err := s.list(wire.ApprovalPending)
	if err != nil {
		return nil, err
	}
	for _, a := range pending {
		if !InAll(&a, name) {
			continue
		}
		i, ok := slices.BinarySearch(ids, a.ID)
		if !ok {
			return nil, stale("request %s has come meanwhile", a.ID)
		}
		ids = slices.Delete(ids, i, i+1)
		list = append(list, a)
	}
	if len(ids) > 0 {
		return nil, stale("request %.40q does not wait in session %s", ids[0], name)
	}
	return list, nil
}
