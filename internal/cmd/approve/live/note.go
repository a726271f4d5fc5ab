package live

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/approve/live/cell"
)

// typed takes a key, or pasted text, while something is typed.
func (m *Model) typed(name, text string) (own bool, cmd tea.Cmd) {
	switch name {
	case "esc":
		return false, m.leave()
	case "enter":
		return false, m.enter()
	}
	if !m.field.Edit(name) && text != "" {
		m.field.Insert(text)
	}
	if m.mode == filtering {
		m.list().Look(m.field.String())
		m.scroll = 0
	}
	return true, nil
}

// find opens the filter.
func (m *Model) find() tea.Cmd {
	m.mode, m.field = filtering, cell.Field{}
	m.field.Insert(m.list().Filter)
	return nil
}

// leave goes back without what was typed.
func (m *Model) leave() tea.Cmd {
	switch m.mode {
	case filtering:
		m.list().Look("")
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
		m.form.Write(m.field.String())
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
