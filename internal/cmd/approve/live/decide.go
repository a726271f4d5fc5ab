package live

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/approve/live/cell"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/pkg/approve"
	"github.com/kxtools/kx/pkg/wire"
)

// patience bounds an answer: the host may have to be started, and to wait for a lock.
const patience = 30 * time.Second

// answered is what came of an answer.
type answered struct {
	id  string
	a   *wire.Approval // as it is now, also after an error; nil if it can't be read
	err error
}

// send answers the request under the cursor.
func (m *Model) send(how func(ctx context.Context, d Desk, id string) (*wire.Approval, error)) tea.Cmd {
	id, o := m.wait.Sel, m.o
	m.busy = id
	m.say(out.Dim, "answering "+id+" …")
	m.unsent = func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		a, err := how(ctx, o.Desk, id)
		if err != nil {
			a, _ = o.Store.Get(id)
		}
		return answered{id, a, err}
	}
	m.sending++
	return m.o.After(alone, lone{m.sending})
}

// lone says that no key has followed the one that answers.
type lone struct{ turn int }

// dispatch sends the answer.
func (m *Model) dispatch(msg lone) (send tea.Cmd) {
	if msg.turn == m.sending {
		send, m.unsent = m.unsent, nil
	}
	return send
}

// recall takes an answer back, for another key has followed at once.
func (m *Model) recall() tea.Cmd {
	m.busy, m.unsent = "", nil
	m.say(out.Yellow, "too quick: several keys at once answer nothing")
	return m.stir()
}

// allow sends a yes.
func (m *Model) allow(ans approve.Answer) tea.Cmd {
	ans.IdempotencyKey = rand.Text()
	return m.send(func(ctx context.Context, d Desk, id string) (*wire.Approval, error) { return d.Allow(ctx, id, ans) })
}

// refuse sends a no.
func (m *Model) refuse(note string) tea.Cmd {
	ans := approve.Answer{Note: note, IdempotencyKey: rand.Text()}
	return m.send(func(ctx context.Context, d Desk, id string) (*wire.Approval, error) { return d.Deny(ctx, id, ans) })
}

// answered takes what came of an answer.
func (m *Model) answered(r answered) tea.Cmd {
	m.busy = ""
	if r.err != nil {
		m.fail(r.err)
		if e := m.wait.Find(r.id); e != nil && r.a != nil && r.a.State != wire.ApprovalPending {
			e.A, e.Gone = r.a, true
			m.sheets.Drop(r.id)
			if m.draft != nil && m.draft.id == r.id {
				m.draft = nil
			}
		}
		return nil
	}
	mark, style := "✓ ", out.Green
	if r.a.State == wire.ApprovalDenied {
		mark, style = "✗ ", out.Red
	}
	text := mark + became(r.a)
	if n := len(r.a.Rules); n > 0 {
		text += fmt.Sprintf(", with %s", count(n, "rule"))
	}
	m.say(style, text)
	if m.draft != nil && m.draft.id == r.id {
		m.o.Drafts.Drop(m.draft.path)
	}
	m.wait.Remove(r.id)
	m.wait.Refresh()
	m.sheets.Drop(r.id)
	m.tell(r.a)
	return nil
}

// count is a number of things.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

func (m *Model) once() tea.Cmd {
	if m.draft == nil {
		return m.allow(approve.Answer{Scope: approval.Once})
	}
	if m.draft.verdict == wire.Deny {
		m.say(out.Yellow, "the edited input would be denied; e edits it again, esc drops it")
		return nil
	}
	return m.allow(approve.Answer{Scope: approval.Once, Input: m.draft.input})
}

// lasting reports whether the request may be allowed for longer, and says why not.
func (m *Model) lasting() bool {
	if err := m.o.Only(m.selected().A); err != nil {
		m.say(out.Yellow, err.Error())
		return false
	}
	return true
}

func (m *Model) session() tea.Cmd {
	if !m.lasting() {
		return nil
	}
	return m.allow(approve.Answer{Scope: approval.Session})
}

// always shows the rules first.
func (m *Model) always() tea.Cmd {
	if m.lasting() {
		m.mode, m.scroll = confirming, 0
	}
	return nil
}

// confirm takes the answer to the rules.
func (m *Model) confirm(name string) tea.Cmd {
	switch name {
	case "y", "Y":
		if why := m.refused(); why != "" {
			m.say(out.Yellow, why)
			return m.stir()
		}
		m.mode = browsing
		return m.allow(approve.Answer{Scope: approval.Always})
	case "n", "N", "esc", "q":
		m.mode = browsing
		m.say("", "nothing was added")
	}
	return m.stir()
}

func (m *Model) deny() tea.Cmd { return m.refuse("") }

// note opens the line for a note.
func (m *Model) note() tea.Cmd {
	m.mode, m.field = noting, cell.Field{}
	return nil
}
