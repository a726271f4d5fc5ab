package live

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/approve/live/cell"
	"github.com/kxtools/kx/internal/cmd/approve/live/queue"
	"github.com/kxtools/kx/internal/cmd/approve/sheet"
)

// The smallest terminal that has room for a request.
const (
	minWidth  = 40
	minHeight = 10
)

// The list leaves columns out where the screen is narrow, and has wider ones where it
// is roomy.
const (
	narrow = 60
	roomy  = 100
)

// room is how many requests of the list are drawn: with its header at most a third
// of the screen.
func (m *Model) room() int { return max(1, m.h/3-1) }

// View implements tea.Model.
func (m *Model) View() tea.View {
	rows, cursor := m.rows()
	lines := make([]string, len(rows))
	for i, r := range rows {
		lines[i] = r.Render(m.w, m.o.Color)
	}
	v := tea.NewView(strings.Join(lines, "\n"))
	v.AltScreen, v.Cursor = true, cursor
	return v
}

// cramped reports whether there is no room to show a request, and so none to answer it.
func (m *Model) cramped() bool { return m.w < minWidth || m.h < minHeight }

// rows are the lines of the screen, from the top.
func (m *Model) rows() ([]cell.Row, *tea.Cursor) {
	if m.cramped() {
		return []cell.Row{{{Text: fmt.Sprintf("too small: %dx%d is needed", minWidth, minHeight)}}}, nil
	}
	if m.mode == helping {
		return m.help(), nil
	}
	rows := append([]cell.Row{m.title()}, m.entries()...)
	foot, cursor := m.foot()
	body := m.body()
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
func (m *Model) title() cell.Row {
	l := m.list()
	what := fmt.Sprintf("%d waiting", m.wait.Waiting())
	if m.history {
		what = "history"
		if m.past.All != nil {
			what += fmt.Sprintf(", %d answered", len(m.past.All))
		}
	}
	r := cell.Row{{Text: "kx approve", Style: out.Bold}}
	if m.known || m.history {
		r = append(r, cell.Piece{Text: " · " + what})
	}
	if m.o.Session != "" {
		r = append(r, cell.Piece{Text: " in session " + m.o.Session})
	}
	if l.Filter != "" {
		r = append(r, cell.Piece{Text: fmt.Sprintf(" · /%s  %d of %d", l.Filter, len(l.Shown), len(l.All))})
	}
	if m.history && m.remark != "" {
		r = append(r, cell.Piece{Text: " · " + m.remark, Style: out.Dim})
	}
	return r
}

// column is a column of the list.
type column struct {
	name  string
	width int
	text  func(m *Model, e *queue.Entry) string
}

// columns are those that there is room for. The last takes what is left.
func (m *Model) columns() []column {
	session, tool := 10, 12
	if m.w >= roomy {
		session, tool = 16, 18
	}
	list := []column{
		{"AGE", 4, func(m *Model, e *queue.Entry) string { return sheet.Age(m.o.Now(), e.A.CreatedAt) }},
		{"SESSION", session, func(_ *Model, e *queue.Entry) string { return e.A.Session }},
		{"CALLER", 8, func(_ *Model, e *queue.Entry) string { return e.A.Caller }},
		{"TOOL", tool, func(_ *Model, e *queue.Entry) string { return e.A.Tool }},
	}
	if m.w < narrow { // the effect needs the room
		list = append(list[:1], list[3])
	}
	if m.history {
		list = append(list, column{"STATE", 9, func(_ *Model, e *queue.Entry) string { return e.A.State }})
	} else if m.w >= roomy {
		list = append(list, column{"SANDBOX", 16, func(_ *Model, e *queue.Entry) string { return e.A.Sandbox }})
	}
	return append(list, column{"EFFECT", m.w, func(_ *Model, e *queue.Entry) string {
		if e.Gone {
			return went(e.A)
		}
		return e.Brief
	}})
}

// entries draws those requests of the list that there is room for.
func (m *Model) entries() []cell.Row {
	l, room := m.list(), m.room()
	if len(l.Shown) == 0 {
		return nil
	}
	columns := m.columns()
	head := "  "
	for _, c := range columns {
		head += cell.Fit(c.name, c.width, true) + " "
	}
	rows := []cell.Row{{{Text: strings.TrimRight(head, " "), Style: out.Dim}}}
	top := l.Top(room)
	for i := top; i < min(top+room, len(l.Shown)); i++ {
		e := l.Shown[i]
		mark, style := "  ", out.Style("")
		switch {
		case e.A.ID == l.Sel:
			mark, style = "▸ ", out.Bold
		case e.Gone:
			style = out.Dim
		}
		text := mark
		for _, c := range columns[:len(columns)-1] {
			text += cell.Fit(c.text(m, e), c.width, true) + " "
		}
		rows = append(rows, cell.Row{{Text: text + columns[len(columns)-1].text(m, e), Style: style}})
	}
	return rows
}

// foot is what happened last and what the keys do, or what is being typed.
func (m *Model) foot() ([]cell.Row, *tea.Cursor) {
	var rows []cell.Row
	var text string
	for _, p := range m.status {
		text += p.Text
	}
	switch {
	case len(m.status) > 1 && cell.Width(text) > m.w: // an error, and below it the way out
		rows = []cell.Row{{m.status[0]}, {{Text: strings.TrimSpace(m.status[1].Text), Style: m.status[1].Style}}}
	default:
		rows = []cell.Row{m.status}
	}
	prompt := ""
	switch m.mode {
	case filtering:
		prompt = "filter: "
	case noting:
		prompt = "deny " + m.wait.Sel + " with a note: "
	case wording:
		prompt = "answer: "
	case confirming:
		return append(rows, cell.Row{{Text: m.question(), Style: out.Bold}}), nil
	case asking:
		return append(rows, cell.Row{{Text: m.form.Keys()}}), nil
	}
	if prompt == "" {
		return append(rows, cell.Row{{Text: m.keys()}}), nil
	}
	shown, x := m.field.Window(m.w - cell.Width(prompt))
	return append(rows, cell.Row{{Text: prompt, Style: out.Bold}, {Text: shown}}), tea.NewCursor(cell.Width(prompt)+x, 0)
}

// keys is the line of keys, as much of it as fits. Help is always there.
func (m *Model) keys() string {
	const gap = "  "
	last, e := "", m.selected()
	var labels []string
	for _, k := range table() {
		switch {
		case k.label == "" || k.when != nil && !k.when(m) || k.decides && e != nil && e.Gone:
		case has(k.names, "?"):
			last = k.label
		default:
			labels = append(labels, k.label)
		}
	}
	for len(labels) > 0 && cell.Width(strings.Join(append(labels[:len(labels):len(labels)], last), gap)) > m.w {
		labels = labels[:len(labels)-1]
	}
	return strings.Join(append(labels, last), gap)
}

// help tells all keys.
func (m *Model) help() []cell.Row {
	rows := []cell.Row{{{Text: "kx approve · keys", Style: out.Bold}}, nil}
	const names = 20 // as wide as the longest
	var lines []string
	keys := table()
	for i := 0; i < len(keys); i++ {
		k := keys[i]
		if k.help == "" {
			continue
		}
		for i+1 < len(keys) && keys[i+1].help == k.help { // there and back
			i++
			k.names = slices.Concat(k.names, keys[i].names)
		}
		lines = append(lines, cell.Fit(strings.Join(k.names, " "), names, true)+" "+k.help)
	}
	lines = append(lines, cell.Fit("ctrl+c", names, true)+" leave at once")
	const others = 4 // rows of the help that tell no key
	if n := m.h - others; len(lines) > n {
		left := len(lines) - n + 1
		lines = append(lines[:n-1], "… "+count(left, "more key")+": kx help approvals")
	}
	for _, l := range lines {
		rows = append(rows, cell.Row{{Text: l}})
	}
	for len(rows) < m.h-2 {
		rows = append(rows, nil)
	}
	return append(rows, cell.Row{{Text: "A key that answers counts when nothing has changed under it for 0.3 s.", Style: out.Dim}}, cell.Row{{Text: "any key goes back"}})
}
