package live

import (
	"bytes"
	"encoding/json"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/jcs"
	"github.com/kxtools/kx/internal/base/lines"
	"github.com/kxtools/kx/internal/base/out"
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

// command is the text of a bash command, "" for any other input.
func command(a *wire.Approval) string {
	var in struct {
		Command string `json:"command"`
	}
	if a.Tool != "bash" || json.Unmarshal(a.Input, &in) != nil {
		return ""
	}
	return in.Command
}

// edit opens the input in the person's editor: a command as it is, any other input as
// JSON. What was left there before is there again.
func (m *Model) edit() tea.Cmd {
	a := m.sheets[m.wait.sel].a
	text, ext := []byte(command(a)+"\n"), ".sh"
	if command(a) == "" {
		var b bytes.Buffer
		if err := json.Indent(&b, a.Input, "", "  "); err != nil {
			m.fail(fail.Failed("input", "the input is no JSON: %v", err))
			return nil
		}
		text, ext = append(b.Bytes(), '\n'), ".json"
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
		m.fail(fail.Failed("editor", "the editor failed: %v; what it left is in %s", msg.err, msg.path).WithHint("set VISUAL or EDITOR to another one"))
		return nil
	}
	text, err := m.o.Drafts.Read(msg.path)
	if err != nil {
		m.fail(err)
		return nil
	}
	input, err := inputOf(msg.a, text)
	if err != nil {
		m.fail(fail.Usage("the edit is not taken: %v; e opens it again", err))
		return nil
	}
	if same(input, msg.a.Input) {
		m.o.Drafts.Drop(msg.path)
		m.draft = nil
		m.say("", "nothing was changed")
		return nil
	}
	m.say(out.Dim, "judging the edit …")
	o := m.o
	return func() tea.Msg {
		a, err := o.Reader.Edit(msg.a, input)
		if err != nil {
			return judged{err: err}
		}
		return judged{draft: &revision{msg.a.ID, msg.path, a.Input, verdict(a), o.Reader.Read(a)}}
	}
}

// inputOf makes an input of an edited text.
func inputOf(a *wire.Approval, text []byte) (json.RawMessage, error) {
	if command(a) == "" {
		text = bytes.TrimSpace(text)
		return text, lines.CheckObject(text)
	}
	var in map[string]json.RawMessage
	if err := json.Unmarshal(a.Input, &in); err != nil {
		return nil, err
	}
	s := strings.TrimSuffix(string(text), "\n") // an editor ends its last line
	if strings.TrimSpace(s) == "" {
		return nil, fail.Usage("the command is empty")
	}
	raw, err := wire.Marshal(s)
	if err != nil {
		return nil, err
	}
	in["command"] = raw
	return wire.Marshal(in)
}

// same compares two inputs as JSON.
func same(a, b json.RawMessage) bool {
	x, err := jcs.Canonical(a)
	if err != nil {
		return false
	}
	y, err := jcs.Canonical(b)
	return err == nil && bytes.Equal(x, y)
}

// judged shows the edited request in place of the one that was asked for.
func (m *Model) judged(msg judged) {
	switch {
	case msg.err != nil:
		m.fail(fail.Usage("the edit is not taken: %v; e opens it again", msg.err))
	case m.history || m.wait.sel != msg.draft.id:
		m.say("", "the edit of "+msg.draft.id+" is kept; e opens it again")
	default:
		m.draft, m.scroll = msg.draft, 0
		m.say("", "edited; a allows it once, e edits it again, esc drops it")
	}
}

// drop forgets an edit.
func (m *Model) drop() tea.Cmd {
	m.o.Drafts.Drop(m.draft.path)
	m.draft, m.scroll = nil, 0
	m.say("", "the edit was dropped")
	return nil
}
