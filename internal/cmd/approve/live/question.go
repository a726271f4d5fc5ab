package live

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/approve/live/cell"
	"github.com/kxtools/kx/internal/cmd/approve/live/form"
	"github.com/kxtools/kx/internal/cmd/approve/live/shelf"
	"github.com/kxtools/kx/internal/cmd/approve/sheet"
	"github.com/kxtools/kx/pkg/wire"
)

// ask opens the form of the question under the cursor.
func (m *Model) ask() tea.Cmd {
	m.form, m.mode, m.scroll = form.New(m.o.Reader.Hidden(m.sheets.Request(m.wait.Sel))), asking, 0
	return nil
}

// reveal scrolls to the option under the cursor, and no further.
func (m *Model) reveal() {
	part, at := m.form.Part(), m.form.Line()
	if at < 0 {
		return
	}
	upTo := func(n int) int {
		return len(shelf.Layout([]sheet.Part{{Name: part.Name, Lines: part.Lines[:n]}}, m.w))
	}
	room := m.page() - 1 // the last row says what follows
	m.scroll = min(max(m.scroll, upTo(at+1)-room), upTo(at))
}

// choose takes a key in a form. What a key does there is what the person asked for,
// until all answers come into sight: no key that was meant for the last question may
// send them.
func (m *Model) choose(name string) (own bool, cmd tea.Cmd) {
	f, step := m.form, m.form.Step
	switch f.Key(name) {
	case form.Taken:
		m.status = nil
		if f.Step != step {
			m.scroll = 0
		}
		m.reveal()
		return !f.Over(), nil
	case form.Writing:
		m.mode, m.field = wording, cell.Field{}
		m.field.Insert(f.Words())
		return true, nil
	case form.Leaving:
		m.mode, m.form = browsing, nil
		m.say("", "nothing was sent")
		return true, nil
	case form.Lacking:
		m.say(out.Yellow, "choose with space or a number, or write with t")
	case form.Sending:
		if why := m.refused(); why != "" {
			m.say(out.Yellow, why)
			break
		}
		m.mode, m.form = browsing, nil
		answers := f.Answers()
		return false, m.send(func(ctx context.Context, d Desk, id string) (*wire.Approval, error) {
			return d.Reply(ctx, id, answers, "")
		})
	}
	return false, m.stir()
}
