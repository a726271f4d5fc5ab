package live

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/approve/sheet"
)

// The smallest terminal that has room for a request.
const (
	minWidth  = 40
	minHeight = 10
)

// room is how many requests of the list are drawn: with its header at most a third
// of the screen.
func (m *Model) room() int { return max(1, m.h/3-1) }

// View implements tea.Model.
func (m *Model) View() tea.View {
	rows, cursor := m.rows()
	lines := make([]string, len(rows))
	for i, r := range rows {
		lines[i] = r.render(m.w, m.o.Color)
	}
	v := tea.NewView(strings.Join(lines, "\n"))
	v.AltScreen, v.Cursor = true, cursor
	return v
}

// rows are the lines of the screen, from the top.
func (m *Model) rows() ([]row, *tea.Cursor) {
	if m.w < minWidth || m.h < minHeight {
		return []row{{{fmt.Sprintf("too small: %dx%d is needed", minWidth, minHeight), ""}}}, nil
	}
	if m.mode == helping {
		return m.help(), nil
	}
	rows := append([]row{m.title()}, m.entries()...)
	foot, cursor := m.foot()
	body := m.body(m.h - len(rows) - len(foot))
	for len(rows)+len(body)+len(foot) < m.h {
		body = append(body, nil)
	}
	rows = append(append(rows, body...), foot...)
	if cursor != nil {
		cursor.Y = m.h - 1
	}
	return rows, cursor
}

// title says where one is and how much waits.
func (m *Model) title() row {
	l := m.list()
	what := fmt.Sprintf("%d waiting", m.wait.waiting())
	if m.history {
		what = "history"
		if m.past.all != nil {
			what += fmt.Sprintf(", %d answered", len(m.past.all))
		}
	}
	r := row{{"kx approve", out.Bold}, {" · " + what, ""}}
	if m.o.Session != "" {
		r = append(r, piece{" in session " + m.o.Session, ""})
	}
	if l.filter != "" {
		r = append(r, piece{fmt.Sprintf(" · /%s  %d of %d", l.filter, len(l.shown), len(l.all)), ""})
	}
	if m.history && m.remark != "" {
		r = append(r, piece{" · " + m.remark, out.Dim})
	}
	return r
}

// column is a column of the list.
type column struct {
	name  string
	width int
	text  func(m *Model, e *entry) string
}

// columns are those that there is room for. The last takes what is left.
func (m *Model) columns() []column {
	list := []column{
		{"AGE", 4, func(m *Model, e *entry) string { return sheet.Age(m.o.Now(), e.a.CreatedAt) }},
		{"SESSION", 10, func(_ *Model, e *entry) string { return e.a.Session }},
		{"CALLER", 8, func(_ *Model, e *entry) string { return e.a.Caller }},
		{"TOOL", 12, func(_ *Model, e *entry) string { return e.a.Tool }},
	}
	if m.w < 60 { // the effect needs the room
		list = append(list[:1], list[3])
	}
	if m.history {
		list = append(list, column{"STATE", 9, func(_ *Model, e *entry) string { return e.a.State }})
	} else if m.w >= 100 {
		list = append(list, column{"SANDBOX", 16, func(_ *Model, e *entry) string { return e.a.Sandbox }})
	}
	return append(list, column{"EFFECT", m.w, func(_ *Model, e *entry) string {
		if e.gone {
			return became(e.a) + " elsewhere"
		}
		return e.brief
	}})
}

// entries draws those requests of the list that there is room for.
func (m *Model) entries() []row {
	l, room := m.list(), m.room()
	if len(l.shown) == 0 {
		return nil
	}
	columns := m.columns()
	head := "  "
	for _, c := range columns {
		head += fit(c.name, c.width, true) + " "
	}
	rows := []row{{{strings.TrimRight(head, " "), out.Dim}}}
	top := l.top(room)
	for i := top; i < min(top+room, len(l.shown)); i++ {
		e := l.shown[i]
		mark, style := "  ", out.Style("")
		switch {
		case e.a.ID == l.sel:
			mark, style = "▸ ", out.Bold
		case e.gone:
			style = out.Dim
		}
		text := mark
		for _, c := range columns[:len(columns)-1] {
			text += fit(c.text(m, e), c.width, true) + " "
		}
		rows = append(rows, row{{text + columns[len(columns)-1].text(m, e), style}})
	}
	return rows
}

// foot is what happened last and what the keys do, or what is being typed.
func (m *Model) foot() ([]row, *tea.Cursor) {
	var rows []row
	var text string
	for _, p := range m.status {
		text += p.text
	}
	switch {
	case len(m.status) > 1 && cells(text) > m.w: // an error, and below it the way out
		rows = []row{{m.status[0]}, {{strings.TrimSpace(m.status[1].text), m.status[1].style}}}
	default:
		rows = []row{m.status}
	}
	prompt := ""
	switch m.mode {
	case filtering:
		prompt = "filter: "
	case noting:
		prompt = "deny " + m.wait.sel + " with a note: "
	case wording:
		prompt = "answer: "
	case confirming:
		return append(rows, row{{m.question(), out.Bold}}), nil
	case asking:
		return append(rows, row{{m.form.keys(), ""}}), nil
	}
	if prompt == "" {
		return append(rows, row{{m.keys(), ""}}), nil
	}
	shown, x := m.field.window(m.w - cells(prompt))
	return append(rows, row{{prompt, out.Bold}, {shown, ""}}), tea.NewCursor(cells(prompt)+x, 0)
}

// window is the part of a line around its cursor that fits, and where the cursor is.
func (f *field) window(width int) (text string, x int) {
	from := f.at
	for x = 0; from > 0; from-- { // to the left of the cursor, one cell free for it
		w := cells(f.text[from-1])
		if x+w > width-1 {
			break
		}
		x += w
	}
	return strings.Join(f.text[from:], ""), x
}

// keys is the line of keys, as much of it as fits. Help is always there.
func (m *Model) keys() string {
	const gap = "  "
	last := ""
	var labels []string
	for _, k := range table() {
		switch {
		case k.label == "" || k.when != nil && !k.when(m):
		case has(k.names, "?"):
			last = k.label
		default:
			labels = append(labels, k.label)
		}
	}
	for len(labels) > 0 && cells(strings.Join(append(labels[:len(labels):len(labels)], last), gap)) > m.w {
		labels = labels[:len(labels)-1]
	}
	return strings.Join(append(labels, last), gap)
}

// help tells all keys.
func (m *Model) help() []row {
	rows := []row{{{"kx approve · keys", out.Bold}}, nil}
	var lines []string
	for _, k := range table() {
		if k.help != "" {
			lines = append(lines, fit(strings.Join(k.names, " "), 14, true)+" "+k.help)
		}
	}
	lines = append(lines, fit("ctrl+c", 14, true)+" leave at once")
	const gap, quietRows = 2, 4
	per := m.h - quietRows
	if len(lines) <= per || m.w < 2*minWidth {
		for _, l := range lines[:min(len(lines), max(per, 0))] {
			rows = append(rows, row{{l, ""}})
		}
	} else {
		half := (len(lines) + 1) / 2
		for i := range half {
			r := row{{fit(lines[i], m.w/2-gap, true), ""}, {"  ", ""}}
			if i+half < len(lines) {
				r = append(r, piece{lines[i+half], ""})
			}
			rows = append(rows, r)
		}
	}
	for len(rows) < m.h-2 {
		rows = append(rows, nil)
	}
	return append(rows, row{{"A key that answers counts when nothing has changed under it for 0.3 s.", out.Dim}}, row{{"any key goes back", ""}})
}
