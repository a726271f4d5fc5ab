package live

import (
	tea "charm.land/bubbletea/v2"

	"github.com/kxtools/kx/internal/cmd/approve/sheet"
	"github.com/kxtools/kx/pkg/wire"
)

// readMsg is a sheet that was read.
type readMsg struct {
	a     *wire.Approval
	sheet *sheet.Sheet
}

// read reads what is under the cursor, and beside it: who goes on finds it there.
func (m *Model) read() tea.Cmd {
	l := m.list()
	at := l.At()
	if at < 0 {
		return nil
	}
	var cmds []tea.Cmd
	for _, i := range []int{at + 1, at - 1, at} { // the last is the last to be dropped
		if i < 0 || i >= len(l.Shown) || !m.sheets.Want(l.Shown[i].A.ID) {
			continue
		}
		told, o := l.Shown[i].A, m.o
		cmds = append(cmds, func() tea.Msg {
			a, err := o.Store.Get(told.ID)
			if err != nil {
				a = told
			}
			return readMsg{a, o.Reader.Read(a)}
		})
	}
	return tea.Batch(cmds...)
}
