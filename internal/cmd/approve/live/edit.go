package live

import (
	"encoding/json"

	tea "charm.land/bubbletea/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/approve/revise"
	"github.com/kxtools/kx/internal/cmd/approve/sheet"
	"github.com/kxtools/kx/pkg/wire"
)

// revision is an input that a person wrote in place of the one that was asked for.
type revision struct {
	id, path string
	input    json.RawMessage
	verdict  wire.Verdict // what would be decided of it
	sheet    *sheet.Sheet
}

// edited says that the editor has ended; judged, what the tool and the rules say to
// what it left.
type (
	edited struct {
		a    *wire.Approval
		path string
		err  error
	}
	judged struct {
		draft *revision
		err   error
	}
)

// edit opens the input in the person's editor: a command as it is, any other input as
// JSON. What was left there before is there again.
func (m *Model) edit() tea.Cmd {
	a := m.sheets.Request(m.wait.Sel)
	if err := sheet.Editable(a); err != nil {
		m.fail(err)
		return nil
	}
	text, ext, err := revise.Text(a)
	if err != nil {
		m.fail(err)
		return nil
	}
	path, err := m.o.Drafts.Open(a.ID, ext, text)
	if err != nil {
		m.fail(err)
		return nil
	}
	return tea.ExecProcess(m.o.Editor(path), func(err error) tea.Msg { return edited{a, path, err} })
}

// edited reads what the editor left and has it judged.
func (m *Model) edited(msg edited) tea.Cmd {
	if msg.err != nil {
		m.fail(fail.Failed("editor", "the editor failed: %v; what it left is in %s", msg.err, msg.path).WithHint("export VISUAL=vi"))
		return nil
	}
	text, err := m.o.Drafts.Read(msg.path)
	if err != nil {
		m.fail(err)
		return nil
	}
	input, changed, err := revise.Input(msg.a, text)
	if err != nil {
		m.fail(fail.Usage("the edit is not taken: %v; e opens it again", err))
		return nil
	}
	if !changed {
		m.o.Drafts.Drop(msg.path)
		m.draft = nil
		m.say("", "nothing was changed")
		return nil
	}
	m.judging = msg.a.ID
	m.say(out.Dim, "judging the edit …")
	o := m.o
	return func() tea.Msg {
		a, verdict, err := o.Reader.Edit(msg.a, input)
		if err != nil {
			return judged{err: err}
		}
		return judged{draft: &revision{msg.a.ID, msg.path, a.Input, verdict, o.Reader.Read(a)}}
	}
}

// judged shows the edited request in place of the one that was asked for. A key that
// was pressed for the edit must not answer what stands there without it.
func (m *Model) judged(msg judged) tea.Cmd {
	m.judging = ""
	switch {
	case msg.err != nil:
		m.fail(fail.Usage("the edit is not taken: %v; e opens it again", msg.err))
	case m.history || m.wait.Sel != msg.draft.id:
		m.say("", "the edit of "+msg.draft.id+" is kept; e opens it again")
	default:
		m.draft, m.scroll = msg.draft, 0
		m.say("", "edited; a allows it once, e edits it again, esc drops it")
	}
	return m.stir()
}

// drop forgets an edit.
func (m *Model) drop() tea.Cmd {
	m.o.Drafts.Drop(m.draft.path)
	m.draft, m.scroll = nil, 0
	m.say("", "the edit was dropped")
	return nil
}
