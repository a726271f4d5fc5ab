package live

import (
	tea "charm.land/bubbletea/v2"

	"github.com/kxtools/kx/internal/cmd/approve/sheet"
	"github.com/kxtools/kx/pkg/wire"
)

// maxSheets is how many sheets are kept: those around the cursor, and a few that
// somebody may go back to. One may have thousands of lines.
const maxSheets = 16

// sheets are what was read of requests, laid out for a width.
type sheets map[string]*read

type read struct {
	a     *wire.Approval // in full; the host cuts what is too long for its socket
	sheet *sheet.Sheet   // nil while it is being read
	turn  int            // counts up: the smallest was used the longest ago
	rows  []row
	width int
}

// readMsg is a sheet that was read.
type readMsg struct {
	id    string
	a     *wire.Approval
	sheet *sheet.Sheet
}

// of returns the sheet of a request, nil if there is none yet.
func (s sheets) of(id string) *sheet.Sheet {
	if r := s[id]; r != nil {
		return r.sheet
	}
	return nil
}

func (s sheets) drop(id string) { delete(s, id) }

// put keeps what was read, unless nobody waits for it any more.
func (s sheets) put(msg readMsg) {
	if r := s[msg.id]; r != nil {
		r.a, r.sheet, r.rows = msg.a, msg.sheet, nil
	}
}

// next makes room for a request and returns false if it is there.
func (s sheets) next(id string) bool {
	oldest, last := "", 0
	for k, r := range s {
		last = max(last, r.turn)
		if oldest == "" || r.turn < s[oldest].turn {
			oldest = k
		}
	}
	if r := s[id]; r != nil {
		r.turn = last + 1
		return false
	}
	if len(s) >= maxSheets {
		delete(s, oldest)
	}
	s[id] = &read{turn: last + 1}
	return true
}

// read reads what is under the cursor, and beside it: who goes on finds it there.
func (m *Model) read() tea.Cmd {
	l := m.list()
	at := l.at()
	if at < 0 {
		return nil
	}
	var cmds []tea.Cmd
	for _, i := range []int{at + 1, at - 1, at} { // the last is the last to be dropped
		if i < 0 || i >= len(l.shown) || !m.sheets.next(l.shown[i].a.ID) {
			continue
		}
		told, o := l.shown[i].a, m.o
		cmds = append(cmds, func() tea.Msg {
			a, err := o.Store.Get(told.ID)
			if err != nil {
				a = told
			}
			return readMsg{told.ID, a, o.Reader.Read(a)}
		})
	}
	return tea.Batch(cmds...)
}
