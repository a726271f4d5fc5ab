package live

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/term"
)

// maxField is the longest text that is typed: a note and an answer are read by a
// model, and a host refuses more.
const maxField = 8 << 10

// field is a line that is being typed.
type field struct {
	text []string // its characters
	at   int      // how many of them are before the cursor
}

func (f *field) String() string { return strings.Join(f.text, "") }

// insert puts text at the cursor. Line ends become spaces, what steers a terminal
// becomes visible.
func (f *field) insert(s string) {
	s = term.Line(strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' || r == '\t' }), " "))
	if len(f.String())+len(s) > maxField {
		return
	}
	var list []string
	each(s, func(g string, _ int) { list = append(list, g) })
	f.text = append(f.text[:f.at:f.at], append(list, f.text[f.at:]...)...)
	f.at += len(list)
}

// edit does what a key does to a line; false if it does nothing.
func (f *field) edit(name string) bool {
	cut := func(from, to int) {
		f.text = append(f.text[:from:from], f.text[to:]...)
		f.at = from
	}
	word := f.at // where the word before the cursor begins
	for word > 0 && f.text[word-1] == " " {
		word--
	}
	for word > 0 && f.text[word-1] != " " {
		word--
	}
	switch name {
	case "left", "ctrl+b":
		f.at = max(0, f.at-1)
	case "right", "ctrl+f":
		f.at = min(len(f.text), f.at+1)
	case "home", "ctrl+a":
		f.at = 0
	case "end", "ctrl+e":
		f.at = len(f.text)
	case "backspace", "ctrl+h":
		cut(max(0, f.at-1), f.at)
	case "delete", "ctrl+d":
		cut(f.at, min(len(f.text), f.at+1))
	case "ctrl+w", "alt+backspace":
		cut(word, f.at)
	case "ctrl+u":
		cut(0, f.at)
	case "ctrl+k":
		cut(f.at, len(f.text))
	default:
		return false
	}
	return true
}

// typed takes a key, or pasted text, while something is typed.
func (m *Model) typed(name, text string) (own bool, cmd tea.Cmd) {
	switch name {
	case "esc":
		return false, m.leave()
	case "enter":
		return false, m.enter()
	}
	if !m.field.edit(name) && text != "" {
		m.field.insert(text)
	}
	if m.mode == filtering {
		m.list().look(m.field.String())
		m.scroll = 0
	}
	return true, nil
}

// find opens the filter.
func (m *Model) find() tea.Cmd {
	m.mode, m.field = filtering, field{}
	m.field.insert(m.list().filter)
	return nil
}

// leave goes back without what was typed.
func (m *Model) leave() tea.Cmd {
	switch m.mode {
	case filtering:
		m.list().look("")
		m.mode = browsing
	case wording:
		m.mode = asking
	default:
		m.mode = browsing
		m.say("", "nothing was sent")
	}
	return nil
}

// enter takes what was typed.
func (m *Model) enter() tea.Cmd {
	switch m.mode {
	case filtering:
		m.mode = browsing
	case wording:
		m.mode = asking
		m.form.words[m.form.step] = strings.TrimSpace(m.field.String())
	case noting:
		note := strings.TrimSpace(m.field.String())
		if note == "" {
			m.say(out.Yellow, "the note is empty; esc goes back, and d denies without one")
			return m.stir()
		}
		if why := m.refused(); why != "" {
			m.say(out.Yellow, why)
			return m.stir()
		}
		m.mode = browsing
		return m.refuse(note)
	}
	return nil
}
