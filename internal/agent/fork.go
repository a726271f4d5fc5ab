package agent

import (
	"iter"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/pkg/wire"
)

// Until returns the events of a session up to the end of turn at, or of its last turn
// that is over where at is 0: what another session can begin with, for no call of them
// is without a result. turns is how many turns these are.
func Until(session string, events iter.Seq2[wire.Event, error], at int) (cut iter.Seq2[wire.Event, error], turns int, err error) {
	s := newConversation()
	n, end := 0, 0 // events read, and those up to the end of the last turn that counts
	for e, err := range events {
		if err == nil {
			err = s.apply(e.Event, e.Data)
		}
		if err != nil {
			return nil, 0, s.damaged(session, err)
		}
		n++
		if e.Event != evTurnEnd {
			continue
		}
		end, turns = n, s.turns
		if s.turns == at {
			break
		}
	}
	switch {
	case end == 0:
		return nil, 0, fail.Conflict("no_turn", "no turn of session %s is over yet", session).WithHint("kx agent show %s", session)
	case at > 0 && turns != at:
		return nil, 0, fail.NotFound("turn", "session %s has no turn %d that is over; its last one is %d", session, at, turns).WithHint("kx agent fork %s --at %d", session, turns)
	}
	return func(yield func(wire.Event, error) bool) {
		i := 0
		for e, err := range events {
			if i++; i > end || !yield(e, err) {
				return
			}
		}
	}, turns, nil
}
