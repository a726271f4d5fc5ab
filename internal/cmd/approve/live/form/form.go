// Package form is the answer of a person to the questions of a request, one question
// after the other, and at the end all answers before they are sent.
//
// Invariant: an option that is not there is not chosen, and nothing is sent that was
// not shown. The screen of kx approve hands it keys and draws its parts.
package form

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/approve/sheet"
	"github.com/kxtools/kx/pkg/wire"
)

// Form is the answer as far as it is given.
type Form struct {
	Step int // the question that is shown; behind the last one all answers are

	a      *wire.Approval
	at     int      // the option under the cursor
	picked [][]bool // by question and option
	words  []string // by question
}

// New returns an empty answer to the questions of a request.
func New(a *wire.Approval) *Form {
	f := &Form{a: a, words: make([]string, len(a.Questions))}
	for _, q := range a.Questions {
		f.picked = append(f.picked, make([]bool, len(q.Options)))
	}
	return f
}

// Over reports whether all answers are shown.
func (f *Form) Over() bool { return f.Step == len(f.a.Questions) }

// Words are what was written to the question that is shown.
func (f *Form) Words() string { return f.words[f.Step] }

// Write answers the question that is shown in words.
func (f *Form) Write(s string) { f.words[f.Step] = strings.TrimSpace(s) }

// given reports whether the question that is shown has an answer.
func (f *Form) given() bool { return slices.Contains(f.picked[f.Step], true) || f.Words() != "" }

// pick chooses an option, or takes it back where there may be several.
func (f *Form) pick(i int) {
	p := f.picked[f.Step]
	if i >= len(p) {
		return
	}
	f.at = i
	if f.a.Questions[f.Step].MultiSelect {
		p[i] = !p[i]
		return
	}
	clear(p)
	p[i] = true
}

// Done is what a key has come to.
type Done int

// What a key has come to.
const (
	Nothing Done = iota // it means nothing here
	Taken
	Lacking // there is no answer yet to go on from
	Writing // the person wants to write
	Leaving // the person leaves without an answer
	Sending // all was seen and may be sent
)

// Key takes a key.
func (f *Form) Key(name string) Done {
	switch {
	case name == "esc" && f.Step > 0:
		f.Step, f.at = f.Step-1, 0
	case name == "esc" || name == "q":
		return Leaving
	case f.Over() && name == "enter":
		return Sending
	case f.Over():
		return Nothing
	case name == "down" || name == "j":
		f.at = max(0, min(f.at+1, len(f.picked[f.Step])-1))
	case name == "up" || name == "k":
		f.at = max(0, f.at-1)
	case len(name) == 1 && name >= "1" && name <= "9":
		f.pick(int(name[0] - '1'))
	case name == "space":
		f.pick(f.at)
	case name == "t":
		return Writing
	case name == "enter":
		return f.next()
	default:
		return Nothing
	}
	return Taken
}

// next goes on to the next question. Where one option is to be chosen, that under the
// cursor is.
func (f *Form) next() Done {
	if !f.given() && !f.a.Questions[f.Step].MultiSelect {
		f.pick(f.at)
	}
	if !f.given() {
		return Lacking
	}
	f.Step, f.at = f.Step+1, 0
	return Taken
}

// Answers are what is sent.
func (f *Form) Answers() []wire.QuestionAnswer {
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

// Part is what is shown.
func (f *Form) Part() sheet.Part {
	if f.Over() {
		return f.overview()
	}
	q := f.a.Questions[f.Step]
	p := sheet.Part{Name: "question"}
	if n := len(f.a.Questions); n > 1 {
		p.Name = fmt.Sprintf("question %d of %d", f.Step+1, n)
	}
	if q.MultiSelect {
		p.Name += " (several answers)"
	}
	p.Lines = text(q.Question)
	for j, o := range q.Options {
		mark, box := " ", "( )"
		if q.MultiSelect {
			box = "[ ]"
		}
		if f.picked[f.Step][j] {
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
	if w := f.words[f.Step]; w != "" {
		p.Lines = append(p.Lines, sheet.Line{Text: out.Sprintf("  in words: %s", w), Hang: 4})
	}
	return p
}

// Line is the line of Part with the option under the cursor, -1 for none.
func (f *Form) Line() int {
	if f.Over() {
		return -1
	}
	return len(text(f.a.Questions[f.Step].Question)) + f.at
}

// text is a question as it is drawn.
func text(question string) (list []sheet.Line) {
	for line := range strings.Lines(question) {
		list = append(list, sheet.Line{Text: out.Sprintf("%s", strings.TrimSuffix(line, "\n"))})
	}
	return list
}

// overview draws all answers before they are sent.
func (f *Form) overview() sheet.Part {
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
	return p
}

// Keys is the line of keys of a form.
func (f *Form) Keys() string {
	switch {
	case f.Over():
		return "[enter] send  [esc] back"
	case f.a.Questions[f.Step].MultiSelect:
		return "[1-9, space] choose  [t]ext  [enter] next  [esc] back"
	}
	return "[1-9, ↑↓] choose  [t]ext  [enter] next  [esc] back"
}
