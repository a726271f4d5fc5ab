package live

import (
	"errors"

	tea "charm.land/bubbletea/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/approve/live/cell"
	"github.com/kxtools/kx/internal/record/approval"
)

// key is a key of the list and what it does.
type key struct {
	names []string // as the terminal library calls them
	label string   // as the line of keys has it; "" to stand in the help alone
	help  string
	// decides says that it counts only when all has been calm.
	decides bool
	when    func(*Model) bool // nil for always
	do      func(*Model) tea.Cmd
	own     bool // what changes under the cursor is what the person asked for
}

// Who a key is for.
func calls(m *Model) bool     { return !m.history && !m.questions() && m.selected() != nil }
func questions(m *Model) bool { return !m.history && m.questions() }
func fresh(m *Model) bool     { return calls(m) && m.draft == nil }
func drafted(m *Model) bool   { return m.draft != nil }
func present(m *Model) bool   { return !m.history }
func past(m *Model) bool      { return m.history }

// questions reports whether the request under the cursor is one to answer.
func (m *Model) questions() bool {
	e := m.selected()
	return e != nil && e.A.Kind == approval.KindQuestion
}

// table has all keys of the list, in the order in which they are shown.
func table() []key {
	return []key{
		{names: []string{"a"}, label: "[a]llow once", help: "allow it, once; an edited input too", decides: true, when: calls, do: (*Model).once},
		{names: []string{"s"}, label: "[s]ession", help: "allow exactly this for the rest of the session", decides: true, when: fresh, do: (*Model).session},
		{names: []string{"A"}, label: "[A]lways", help: "allow exactly this always; the rules are shown first", decides: true, when: fresh, do: (*Model).always},
		{names: []string{"e"}, label: "[e]dit", help: "edit the input in $VISUAL or $EDITOR; it is judged anew", decides: true, when: calls, do: (*Model).edit},
		{names: []string{"d"}, label: "[d]eny", help: "deny it", decides: true, when: fresh, do: (*Model).deny},
		{names: []string{"n"}, label: "[n]ote", help: "deny it with a note to the model", decides: true, when: fresh, do: (*Model).note},
		{names: []string{"esc"}, label: "[esc] drop the edit", help: "drop an edited input; clear the filter; go back", when: drafted, do: (*Model).drop},
		{names: []string{"a", "enter"}, label: "[a]nswer", help: "answer a question", decides: true, when: questions, do: (*Model).ask},
		{names: []string{"h", "esc"}, label: "[h] back to what waits", help: "go back from the history", when: past, do: (*Model).flip},
		{names: []string{"?"}, label: "[?] help", help: "this list", do: func(m *Model) tea.Cmd { m.mode = helping; return nil }},
		{names: []string{"/"}, label: "[/] filter", help: "show only requests with these words", do: (*Model).find},
		{names: []string{"h"}, label: "[h]istory", help: "what was answered", when: present, do: (*Model).flip},
		{names: []string{"q"}, label: "[q]uit", help: "leave; what waits goes on waiting", do: (*Model).quit},
		{names: []string{"esc"}, when: func(m *Model) bool { return m.list().Filter != "" }, do: func(m *Model) tea.Cmd { m.list().Look(""); return nil }},
		{names: []string{"down", "j"}, help: "the next request, the one before", own: true, do: func(m *Model) tea.Cmd { return m.move(1) }},
		{names: []string{"up", "k"}, help: "the next request, the one before", own: true, do: func(m *Model) tea.Cmd { return m.move(-1) }},
		{names: []string{"home"}, help: "the first request, the last one", own: true, do: func(m *Model) tea.Cmd { return m.move(-len(m.list().Shown)) }},
		{names: []string{"end"}, help: "the first request, the last one", own: true, do: func(m *Model) tea.Cmd { return m.move(len(m.list().Shown)) }},
		{names: []string{"pgdown", "space"}, help: "read on, read back", own: true, do: func(m *Model) tea.Cmd { m.roll(m.page() - 1); return nil }},
		{names: []string{"pgup", "b"}, help: "read on, read back", own: true, do: func(m *Model) tea.Cmd { m.roll(1 - m.page()); return nil }},
		{names: []string{"right"}, help: "one line on, one line back", own: true, do: func(m *Model) tea.Cmd { m.roll(1); return nil }},
		{names: []string{"left"}, help: "one line on, one line back", own: true, do: func(m *Model) tea.Cmd { m.roll(-1); return nil }},
		{names: []string{"g"}, help: "the top of the request, its end", own: true, do: func(m *Model) tea.Cmd { m.scroll = 0; return nil }},
		{names: []string{"G"}, help: "the top of the request, its end", own: true, do: func(m *Model) tea.Cmd { m.roll(len(m.detail())); return nil }},
		{names: []string{"ctrl+l"}, help: "draw the screen anew", do: func(*Model) tea.Cmd { return tea.ClearScreen }},
	}
}

// errInterrupted ends the screen for ^C.
var errInterrupted = fail.New("interrupted", fail.ExitInterrupted, "interrupted")

// pages are the keys that read on and back whatever the others are for.
var pages = map[string]int{"pgdown": 1, "pgup": -1}

// key takes a key.
func (m *Model) key(k tea.KeyPressMsg) (own bool, cmd tea.Cmd) {
	m.want = ""
	name := k.String()
	if name != m.quiet.key { // so that one is not held down any more
		m.quiet.key = ""
	}
	switch {
	case name == "ctrl+c":
		m.err = errInterrupted
		return true, tea.Quit
	case m.unsent != nil:
		return false, m.recall()
	case name == "ctrl+z":
		return false, tea.Suspend
	}
	if n, ok := pages[name]; ok && m.mode != browsing && m.mode != helping { // to read what one speaks about
		m.roll(n * (m.page() - 1))
		return true, nil
	}
	switch m.mode {
	case filtering, noting, wording:
		return m.typed(name, k.Text)
	case confirming:
		return false, m.confirm(name)
	case asking:
		return m.choose(name)
	case helping:
		m.mode = browsing
		return false, nil
	}
	for _, k := range table() {
		if !has(k.names, name) || k.when != nil && !k.when(m) {
			continue
		}
		if k.decides {
			why := m.refused()
			if why == "" && m.quiet.again(name, m.o.Now()) {
				why = "too quick: a key that is held down answers one request"
			}
			if why != "" {
				m.say(out.Yellow, why)
				return false, m.stir()
			}
		}
		m.status = nil
		return k.own, k.do(m)
	}
	return false, m.stir() // a key that does nothing was not meant for this
}

func has(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

// refused says why a key may not decide now, "" if it may.
func (m *Model) refused() string {
	e := m.selected()
	switch {
	case m.cramped():
		return "the terminal was too small to show it"
	case m.busy != "":
		return "wait: " + m.busy + " is being answered"
	case m.judging != "":
		return "wait: the edit of " + m.judging + " is being judged"
	case !m.quiet.calm:
		return "too quick: something has just changed here. Look first"
	case e != nil && e.Gone:
		how := "move on with j or k"
		if m.mode != browsing {
			how = "esc goes back"
		}
		return went(e.A) + "; " + how
	case e != nil && m.sheets.Of(e.A.ID) == nil:
		return "wait: " + e.A.ID + " is still being read"
	}
	return ""
}

// paste takes pasted text, which never decides anything.
func (m *Model) paste(text string) (own bool, cmd tea.Cmd) {
	if m.unsent != nil {
		return false, m.recall()
	}
	switch m.mode {
	case filtering, noting, wording:
		return m.typed("", text)
	}
	m.say(out.Yellow, "pasted text answers nothing")
	return false, m.stir()
}

// move moves the cursor. An edit that was not sent stays in its file.
func (m *Model) move(n int) tea.Cmd {
	m.list().Move(n)
	return nil
}

// quit leaves, but not behind the back of an answer that is under way.
func (m *Model) quit() tea.Cmd {
	if m.busy != "" {
		m.say(out.Yellow, m.refused())
		return nil
	}
	return tea.Quit
}

// flip goes to the history and back.
func (m *Model) flip() tea.Cmd {
	m.history, m.scroll, m.draft = !m.history, 0, nil
	if m.history {
		return m.listPast()
	}
	return nil
}

// say writes the line that tells what happened last.
func (m *Model) say(style out.Style, text string) {
	m.status = []cell.Piece{{Text: m.o.Reader.Clean(text), Style: style}}
}

// fail says what went wrong, and the command that helps.
func (m *Model) fail(err error) {
	e := fail.As(err)
	m.say(out.Red, "✗ "+e.Msg)
	if e.Hint != "" && !errors.Is(err, errInterrupted) {
		m.status = append(m.status, cell.Piece{Text: "   " + m.o.Reader.Clean(e.Hint), Style: out.Dim})
	}
}
