package live

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kxtools/kx/internal/cmd/approve/live/form"
	"github.com/kxtools/kx/internal/cmd/approve/sheet"
)

// calm is how long nothing may change under a key before it decides: a person needs
// about as long to see that something else is there now, and not to press.
const calm = 300 * time.Millisecond

const (
	// repeat is the longest that terminals usually wait before a key that is held
	// down comes again; it is longer than calm.
	repeat = 700 * time.Millisecond
	// alone is how long no other key may follow one that answers. Text that is pasted
	// where the terminal doesn't say so comes all at once, and nobody types as fast.
	alone = 30 * time.Millisecond
)

// quiet knows whether all has been calm.
type quiet struct {
	turn int  // of the last unrest
	calm bool // nothing has changed since then, for long enough

	key string // the last one that decided
	at  time.Time
}

// again reports whether a key is the one that decided just now, still held down.
func (q *quiet) again(key string, now time.Time) bool {
	held := key == q.key && now.Sub(q.at) < repeat
	q.key, q.at = key, now
	return held
}

// settled says that the time after an unrest is over.
type settled struct{ turn int }

// settle ends an unrest, if it was the last one. Keys that were pressed before come
// first: both wait in one line.
func (q *quiet) settle(s settled) { q.calm = q.calm || s.turn == q.turn }

// stir begins an unrest.
func (m *Model) stir() tea.Cmd {
	m.quiet.turn++
	m.quiet.calm = false
	return m.o.After(calm, settled{m.quiet.turn})
}

// face is what a person who presses a key has in mind: if any of it changes by
// itself, they have not seen it yet.
type face struct {
	mode    mode
	history bool
	id      string
	gone    bool
	y       int // where the request stands, and what is said of it
	below   int
	sheet   *sheet.Sheet
	draft   *revision
	form    *form.Form
	step    int
	w, h    int
}

func (m *Model) face() face {
	l := m.list()
	f := face{
		mode: m.mode, history: m.history, y: l.At() - l.Top(m.room()), below: min(len(l.Shown), m.room()),
		draft: m.draft, form: m.form, w: m.w, h: m.h,
	}
	if e := l.Selected(); e != nil {
		f.id, f.gone = e.A.ID, e.Gone
		f.sheet = m.sheets.Of(e.A.ID)
	}
	if m.form != nil {
		f.step = m.form.Step
	}
	return f
}
