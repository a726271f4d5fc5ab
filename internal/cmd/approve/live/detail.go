package live

import (
	"fmt"
	"strings"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/approve/live/cell"
	"github.com/kxtools/kx/internal/cmd/approve/live/shelf"
	"github.com/kxtools/kx/internal/cmd/approve/sheet"
)

// body is what is said of the request under the cursor, with a rule above it.
func (m *Model) body() []cell.Row {
	if m.selected() == nil {
		return m.nothing()
	}
	lines := m.detail()
	rows := []cell.Row{m.heading()}
	height := m.page()
	m.scroll = max(0, min(m.scroll, len(lines)-height))
	rest := len(lines) - m.scroll
	if rest <= height {
		return append(rows, lines[m.scroll:]...)
	}
	rows = append(rows, lines[m.scroll:m.scroll+height-1]...)
	on := "space"
	if m.mode != browsing {
		on = "PgDn"
	}
	return append(rows, cell.Row{{Text: fmt.Sprintf("↓ %s (%s)", more(rest-height+1), on), Style: out.Dim}})
}

// more counts lines that are not in sight.
func more(n int) string { return strings.Replace(count(n, "line"), " ", " more ", 1) }

// page is how many lines of a request there is room for: below the title, the list and
// the rule above it, and above the foot.
func (m *Model) page() int {
	foot, _ := m.foot()
	return max(2, m.h-len(m.entries())-len(foot)-2)
}

// roll reads on or back.
func (m *Model) roll(n int) { m.scroll = max(0, min(m.scroll+n, len(m.detail())-m.page())) }

// heading is the rule above a request.
func (m *Model) heading() cell.Row {
	a := m.selected().A
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
	return cell.Row{{Text: text, Style: out.Bold}, {Text: strings.Repeat("─", max(0, m.w-cell.Width(text))), Style: out.Dim}}
}

// detail is what the body shows, laid out.
func (m *Model) detail() []cell.Row {
	e := m.selected()
	switch {
	case e == nil:
		return nil
	case m.mode == asking || m.mode == wording:
		return shelf.Layout([]sheet.Part{m.form.Part()}, m.w)
	}
	s := m.sheets.Of(e.A.ID)
	switch {
	case s == nil:
		return []cell.Row{{{Text: "reading …", Style: out.Dim}}}
	case m.draft != nil:
		return shelf.Layout(m.draft.sheet.Parts, m.w)
	case m.mode == confirming:
		if i := ruled(s); i >= 0 {
			return shelf.Layout(s.Parts[i:i+1], m.w)
		}
	}
	return m.sheets.Rows(e.A.ID, m.w)
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

// question is what has to be confirmed.
func (m *Model) question() string {
	return "allow " + m.wait.Sel + " always, and add these rules to policy.toml? [y]es  [n]o"
}

// nothing is what stands where no request does.
func (m *Model) nothing() []cell.Row {
	l := m.list()
	switch {
	case l.Filter != "" && len(l.All) > 0:
		return []cell.Row{nil, {{Text: "Nothing has these words. esc shows all."}}}
	case m.history && m.past.All == nil, !m.history && !m.known:
		return []cell.Row{nil, {{Text: "reading …", Style: out.Dim}}}
	case m.history:
		return []cell.Row{nil, {{Text: "Nothing was answered yet."}}}
	}
	rows := []cell.Row{nil, {{Text: "Nothing waits. New requests appear here."}}}
	if len(m.told) > 0 {
		rows = append(rows, nil, cell.Row{{Text: "answered last:", Style: out.Dim}})
	}
	for i := len(m.told) - 1; i >= 0; i-- {
		rows = append(rows, cell.Row{{Text: "  " + m.told[i], Style: out.Dim}})
	}
	return rows
}
