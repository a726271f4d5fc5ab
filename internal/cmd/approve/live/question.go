package live

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/approve/sheet"
	"github.com/kxtools/kx/pkg/wire"
)

// form is the answer to the questions of a request, as far as it is given.
type form struct {
	a      *wire.Approval
	step   int      // the question that is shown; behind the last one all answers are
	at     int      // the option under the cursor
	picked [][]bool // by question and option
	words  []string // by question
}

// ask opens the form of the request under the cursor.
func (m *Model) ask() tea.Cmd {
	a := m.sheets[m.wait.sel].a
	f := &form{a: a, words: make([]string, len(a.Questions))}
	for _, q := range a.Questions {
		f.picked = append(f.picked, make([]bool, len(q.Options)))
	}
	m.form, m.mode, m.scroll = f, asking, 0
	return nil
}

// over reports whether all answers are shown.
func (f *form) over() bool { return f.step == len(f.a.Questions) }

// given reports whether the question that is shown has an answer.
func (f *form) given() bool {
	return slices.Contains(f.picked[f.step], true) || f.words[f.step] != ""
}

// pick chooses an option, or takes it back where there may be several.
func (f *form) pick(i int) {
	p := f.picked[f.step]
	if i >= len(p) {
		return
	}
	f.at = i
	if f.a.Questions[f.step].MultiSelect {
		p[i] = !p[i]
		return
	}
	clear(p)
	p[i] = true
}

// choose takes a key in a form. Nothing is sent before all answers were seen.
func (m *Model) choose(name string) (own bool, cmd tea.Cmd) {
	f := m.form
	switch {
	case name == "esc" && f.step > 0:
		f.step, f.at = f.step-1, 0
	case name == "esc" || name == "q":
		m.mode, m.form = browsing, nil
		m.say("", "nothing was sent")
	case f.over() && name == "enter":
		if why := m.refused(); why != "" {
			m.say(out.Yellow, why)
			return false, m.stir()
		}
		m.mode, m.form = browsing, nil
		return false, m.send(func(ctx context.Context, d Desk, id string) (*wire.Approval, error) {
			return d.Reply(ctx, id, f.answers(), "")
		})
	case f.over():
		return false, m.stir()
	case name == "down" || name == "j":
		f.at = min(f.at+1, len(f.picked[f.step])-1)
	case name == "up" || name == "k":
		f.at = max(0, f.at-1)
	case len(name) == 1 && name >= "1" && name <= "9":
		f.pick(int(name[0] - '1'))
	case name == "space":
		f.pick(f.at)
	case name == "t":
		m.mode, m.field = wording, field{}
		m.field.insert(f.words[f.step])
	case name == "enter":
		if !f.given() && !f.a.Questions[f.step].MultiSelect {
			f.pick(f.at)
		}
		if !f.given() {
			m.say(out.Yellow, "choose with space or a number, or write with t")
			return false, m.stir()
		}
		f.step, f.at, m.status = f.step+1, 0, nil
	default:
		return false, m.stir()
	}
	return true, m.unlessCalm()
}

// unlessCalm begins an unrest when all answers come into sight, so that no key that
// was meant for the last question sends them.
func (m *Model) unlessCalm() tea.Cmd {
	if m.form != nil && m.form.over() {
		return m.stir()
	}
	return nil
}

// answers are what is sent.
func (f *form) answers() []wire.QuestionAnswer {
	var list []wire.QuestionAnswer
	for i, q := range f.a.Questions {
		ans := wire.QuestionAnswer{QuestionID: q.ID, SelectedOptionIDs: []string{}, FreeformAnswer: f.words[i]}
		for j, o := range q.Options {
			if f.picked[i][j] {
				ans.SelectedOptionIDs = append(ans.SelectedOptionIDs, o.ID)
			}
		}
		list = append(list, ans)
	}
	return list
}

// rows draw the form.
func (f *form) rows(width int) []row {
	if f.over() {
		return f.overview(width)
	}
	q := f.a.Questions[f.step]
	p := sheet.Part{Name: "question"}
	if n := len(f.a.Questions); n > 1 {
		p.Name = fmt.Sprintf("question %d of %d", f.step+1, n)
	}
	if q.MultiSelect {
		p.Name += " (several answers)"
	}
	for line := range strings.Lines(q.Question) {
		p.Lines = append(p.Lines, sheet.Line{Text: out.Sprintf("%s", strings.TrimSuffix(line, "\n"))})
	}
	for j, o := range q.Options {
		mark, box := " ", "( )"
		if q.MultiSelect {
			box = "[ ]"
		}
		if f.picked[f.step][j] {
			box = box[:1] + "x" + box[2:]
		}
		l := sheet.Line{Hang: 8}
		if j == f.at {
			mark, l.Style = "▸", out.Bold
		}
		l.Text = out.Sprintf("%s %s %d %s", mark, box, j+1, o.Label)
		if o.Description != "" {
			l.Text += out.Sprintf(": %s", o.Description)
		}
		p.Lines = append(p.Lines, l)
	}
	if w := f.words[f.step]; w != "" {
		p.Lines = append(p.Lines, sheet.Line{Text: out.Sprintf("  in words: %s", w), Hang: 4})
	}
	return layout([]sheet.Part{p}, width)
}

// overview draws all answers before they are sent.
func (f *form) overview(width int) []row {
	p := sheet.Part{Name: "your answers"}
	for i, q := range f.a.Questions {
		p.Lines = append(p.Lines, sheet.Line{Text: out.Sprintf("%s", q.Question), Hang: 2})
		for j, o := range q.Options {
			if f.picked[i][j] {
				p.Lines = append(p.Lines, sheet.Line{Text: out.Sprintf("  ✓ %s", o.Label), Hang: 4, Style: out.Bold})
			}
		}
		if f.words[i] != "" {
			p.Lines = append(p.Lines, sheet.Line{Text: out.Sprintf("  %q", f.words[i]), Hang: 4, Style: out.Bold})
		}
	}
	return layout([]sheet.Part{p}, width)
}

// keys is the line of keys of a form.
func (f *form) keys() string {
	switch {
	case f.over():
		return "[enter] send  [esc] back"
	case f.a.Questions[f.step].MultiSelect:
		return "[1-9, space] choose  [t]ext  [enter] next  [esc] back"
	}
	return "[1-9, ↑↓] choose  [t]ext  [enter] next  [esc] back"
}
