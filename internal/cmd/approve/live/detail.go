package live

import (
	"fmt"
	"strings"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/approve/sheet"
	"github.com/kxtools/kx/pkg/wire"
)

// body is what is said of the request under the cursor, with a rule above it.
func (m *Model) body(height int) []row {
	if m.selected() == nil {
		return m.nothing()
	}
	lines := m.detail()
	rows := []row{m.heading()}
	height -= len(rows)
	m.height = height
	m.scroll = max(0, min(m.scroll, len(lines)-m.page()))
	rest := len(lines) - m.scroll
	if rest <= height {
		return append(rows, lines[m.scroll:]...)
	}
	rows = append(rows, lines[m.scroll:m.scroll+height-1]...)
	return append(rows, row{{fmt.Sprintf("↓ %s (space)", more(rest-height+1)), out.Dim}})
}

// more counts lines that are not in sight.
func more(n int) string { return strings.Replace(count(n, "line"), " ", " more ", 1) }

// page is how many lines of a request are read at once.
func (m *Model) page() int { return max(2, m.height) }

// roll reads on or back.
func (m *Model) roll(n int) { m.scroll = max(0, min(m.scroll+n, len(m.detail())-m.page())) }

// heading is the rule above a request.
func (m *Model) heading() row {
	a := m.selected().a
	text := fmt.Sprintf("── %s  %s  asked %s ago ", a.ID, a.Tool, sheet.Age(m.o.Now(), a.CreatedAt))
	switch {
	case m.draft != nil:
		text = fmt.Sprintf("── %s  %s  edited; would be: %s ", a.ID, a.Tool, m.draft.verdict)
	case m.mode == confirming:
		text = fmt.Sprintf("── %s  %s  these rules would be added ", a.ID, a.Tool)
	}
	if m.scroll > 0 {
		text += fmt.Sprintf("· ↑ %s ", count(m.scroll, "line"))
	}
	return row{{text, out.Bold}, {strings.Repeat("─", max(0, m.w-cells(text))), out.Dim}}
}

// detail is what the body shows, laid out.
func (m *Model) detail() []row {
	e := m.selected()
	switch {
	case e == nil:
		return nil
	case m.mode == asking || m.mode == wording:
		return m.form.rows(m.w)
	}
	r := m.sheets[e.a.ID]
	if r == nil || r.sheet == nil {
		return []row{{{"reading …", out.Dim}}}
	}
	switch {
	case m.draft != nil:
		return layout(m.draft.sheet.Parts, m.w)
	case m.mode == confirming:
		if i := ruled(r.sheet); i >= 0 {
			return layout(r.sheet.Parts[i:i+1], m.w)
		}
	}
	if r.rows == nil || r.width != m.w {
		r.rows, r.width = layout(r.sheet.Parts, m.w), m.w
	}
	return r.rows
}

// ruled is the part of a sheet with the rules that an answer would add, -1 for none.
func ruled(s *sheet.Sheet) int {
	for i, p := range s.Parts {
		if p.Name == sheet.Rules {
			return i
		}
	}
	return -1
}

// margin stands before the lines of a named part.
const margin = 2

// layout wraps a sheet to a width.
func layout(parts []sheet.Part, width int) []row {
	var rows []row
	for _, p := range parts {
		indent := ""
		if p.Name != "" {
			if len(rows) > 0 {
				rows = append(rows, nil)
			}
			for _, line := range wrap(p.Name, width, margin) {
				rows = append(rows, row{{line, out.Bold}})
			}
			indent = strings.Repeat(" ", margin)
		}
		for _, l := range p.Lines {
			for _, line := range wrap(l.Text, width-len(indent), l.Hang) {
				rows = append(rows, row{{indent, ""}, {line, l.Style}})
			}
		}
	}
	return rows
}

// question is what has to be confirmed.
func (m *Model) question() string {
	return "allow " + m.wait.sel + " always, and add these rules to policy.toml? [y]es  [n]o"
}

// nothing is what stands where no request does.
func (m *Model) nothing() []row {
	l := m.list()
	switch {
	case l.filter != "" && len(l.all) > 0:
		return []row{nil, {{"Nothing has these words. esc shows all.", ""}}}
	case m.history && m.past.all == nil, !m.history && !m.known:
		return []row{nil, {{"reading …", out.Dim}}}
	case m.history:
		return []row{nil, {{"Nothing was answered yet.", ""}}}
	}
	rows := []row{nil, {{"Nothing waits. New requests appear here.", ""}}}
	if len(m.told) > 0 {
		rows = append(rows, nil, row{{"answered last:", out.Dim}})
	}
	for i := len(m.told) - 1; i >= 0; i-- {
		rows = append(rows, row{{"  " + m.told[i], out.Dim}})
	}
	return rows
}

// verdict is the strictest of what was decided of a call's parts.
func verdict(a *wire.Approval) wire.Verdict {
	v := wire.Allow
	see := func(points []wire.Point) {
		for _, p := range points {
			switch {
			case p.Decision == wire.Deny:
				v = wire.Deny
			case p.Decision == wire.Ask && v != wire.Deny:
				v = wire.Ask
			}
		}
	}
	see(a.Points)
	for _, l := range a.Leaves {
		see(l.Points)
	}
	return v
}
