// Package habit notices a model that goes round in circles: one that makes the same
// calls over and over, with the same results. It looks at the last calls of a session
// and at nothing else, so that who reads the session again sees the same. The loop asks
// it before each call.
package habit

import (
	"encoding/json"
	"hash/maphash"

	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/pkg/wire"
)

// loops are what counts as going round in circles: so many calls, counting the one
// that is about to run, of which every period-th is the same call with the same
// result. Calls whose results differ are no loop: that is how one waits for
// something.
var loops = []struct {
	period, calls int
	what          string
}{
	{1, 3, "the same call had the same result twice in a row"},
	{2, 6, "these two calls take turns, each time with the same results"},
}

// sameResult is after how many results of a tool that are word for word the same,
// whatever its input was, the next call of it is a loop, too.
const (
	sameResult     = 8
	sameResultWhat = "the last 8 calls of it had the same result"
)

// step is a call that has ended, as far as loops are concerned: two of them are the
// same call if their key is, and ended alike if their result is, too.
type step struct {
	tool        string
	key, result uint64 // result 0: there was no text
}

// Habit is the last calls of a session, oldest first. The zero value has none.
type Habit struct {
	seed   maphash.Seed
	steps  []step
	circle int
}

// Ended is a call that has its result.
type Ended struct {
	Call    *model.Call
	Status  wire.Status
	Text    string // that the model got to see
	Skipped bool   // it was not run, because it repeats others
}

// Circles is how many turns in a row had calls that were not run, because they repeat
// others.
func (h *Habit) Circles() int { return h.circle }

// Turn takes in the calls of a turn that is over.
func (h *Habit) Turn(calls []Ended) {
	if len(calls) == 0 {
		return
	}
	before := h.circle
	for _, c := range calls {
		h.add(c)
	}
	if h.circle == before {
		h.circle = 0
	} else {
		h.circle = before + 1
	}
}

func (h *Habit) add(c Ended) {
	s := step{tool: c.Call.Tool, key: h.key(c.Call)}
	if c.Skipped {
		h.circle++
		h.push(h.expected(s))
		return
	}
	if c.Text != "" {
		s.result = h.hash(string(c.Status), c.Text)
	}
	h.push(s)
}

// push keeps as many steps as the rules look at.
func (h *Habit) push(s step) {
	if len(h.steps) >= 4*sameResult {
		h.steps = append(h.steps[:0], h.steps[len(h.steps)-sameResult:]...)
	}
	h.steps = append(h.steps, s)
}

func (h *Habit) hash(parts ...string) uint64 {
	if h.seed == (maphash.Seed{}) {
		h.seed = maphash.MakeSeed()
	}
	var m maphash.Hash
	m.SetSeed(h.seed)
	for _, p := range parts {
		m.WriteString(p)
		m.WriteByte(0)
	}
	return m.Sum64() | 1 // 0 means that there is none
}

// key is the same for calls that say the same, however their JSON is laid out.
func (h *Habit) key(c *model.Call) uint64 {
	input := string(c.Input)
	var v any
	if json.Unmarshal(c.Input, &v) == nil {
		if raw, err := wire.Marshal(v); err == nil {
			input = string(raw)
		}
	}
	return h.hash(c.Tool, input, c.Wrote)
}

// Loop says why a call would go round in circles, "" if it does not. The calls of a
// turn are asked about one after the other: what of it is expected to end as it did
// the last time counts for those behind it.
func (h *Habit) Loop(c *model.Call) string {
	now := step{tool: c.Tool, key: h.key(c)}
	why := h.repeats(now)
	h.push(h.expected(now))
	return why
}

// expected gives a call that has not run the result that it had the last time.
func (h *Habit) expected(s step) step {
	for i := len(h.steps) - 1; i >= 0; i-- {
		if h.steps[i].key == s.key {
			s.result = h.steps[i].result
			break
		}
	}
	return s
}

func (h *Habit) repeats(now step) string {
	n := len(h.steps)
	for _, l := range loops {
		if n < l.calls-1 || l.period > 1 && h.steps[n-1].key == now.key {
			continue
		}
		found := true
		for i := 1; i < l.calls && found; i++ {
			s := h.steps[n-i]
			switch {
			case i%l.period == 0 && s.key != now.key:
				found = false
			case i > l.period && s != h.steps[n-i+l.period]:
				found = false
			}
		}
		if found {
			return l.what
		}
	}
	if n < sameResult {
		return ""
	}
	for i := 1; i <= sameResult; i++ {
		s := h.steps[n-i]
		if s.tool != now.tool || s.result == 0 || s.result != h.steps[n-1].result {
			return ""
		}
	}
	return sameResultWhat
}

// Copy is h for looking ahead.
func (h *Habit) Copy() *Habit {
	c := *h
	c.steps = append([]step{}, h.steps...)
	return &c
}
