package sheet

import (
	"fmt"
	"unicode/utf8"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/policy/view"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/gate/replay"
	"github.com/kxtools/kx/internal/gate/widen"
	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/internal/record/config"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/wire"
)

const (
	// widest is how wide a part of a call may be and still line up.
	widest = 40
	// maxPart is how much of a part is repeated: it stands above, whole.
	maxPart = 160
)

// verdicts are what was decided of each part of the call.
func verdicts(a *wire.Approval) Part {
	p := Part{Name: "decided"}
	rows := view.Rows(a.Leaves, a.Points)
	if len(rows) == 0 {
		p.Lines = []Line{line(remark, "what was decided of its parts was not noted down: kx policy check tells")}
		return p
	}
	width := 0
	for i := range rows {
		part := term.Line(rows[i].Part)
		if n := utf8.RuneCountInString(part); n > maxPart {
			part = string([]rune(part)[:maxPart]) + "…"
		} else if n <= widest {
			width = max(width, n)
		}
		rows[i].Part = part
	}
	for i, r := range rows {
		l := Line{Text: out.Sprintf("%-*s  %-5s", width, r.Part, string(r.Verdict)), Hang: width + 9}
		for _, more := range []string{r.Why, r.Source} {
			if more != "" {
				l.Text += "  " + term.Line(more)
			}
		}
		if r.Runs != "" {
			l.Text += out.Sprintf(" · runs %s", r.Runs)
		}
		if r.Verdict != wire.Allow {
			l.Style = view.VerdictStyle[r.Verdict]
		}
		if i > maxLines {
			p.Lines = append(p.Lines, line(warning, "… %d more: kx approve show %s -o json | jq .leaves", len(rows)-i, a.ID))
			break
		}
		p.Lines = append(p.Lines, l)
	}
	return p
}

// Rules is the name of the part with the rules that an answer for longer would add.
const Rules = "an answer for the session or always adds"

// rules are what an allow for longer than once would add, or why there is none.
func (w *world) rules() Part {
	p := Part{Name: Rules}
	known, err := site.Of(w.app).Known()
	var list []policy.Rule
	if err == nil {
		list, err = widen.Rules(w.asked, policy.User, known)
	}
	if err != nil {
		p.Lines = []Line{line(remark, "nothing: %v", err)}
		return p
	}
	past := w.past(list)
	for i := range list {
		p.Lines = append(p.Lines, Line{Text: term.Line(written(&list[i])) + past[i], Hang: 2})
	}
	if old, err := w.policy(); err != nil {
		p.Lines = append(p.Lines, line(warning, "not always: %v", err))
	} else if _, err := widen.Policy(old, w.asked, list); err != nil {
		p.Lines = append(p.Lines, line(warning, "not always: %v", err))
	}
	return p
}

// policy is the user's policy file as it is.
func (w *world) policy() ([]byte, error) {
	if w.dirs.Config == "" {
		return nil, w.err
	}
	return config.ReadPolicy(w.dirs.Config, w.dirs.UID)
}

// past says how many calls of the record each rule speaks for, as far as that is
// known.
func (w *world) past(rules []policy.Rule) []string {
	words := make([]string, len(rules))
	st, err := site.Of(w.app).Peek()
	if err != nil {
		return words
	}
	calls, err := replay.Count(audit.New(st, w.app.Now), rules, w.ID)
	if err != nil {
		return words
	}
	for i, c := range calls {
		switch {
		case !c.Known:
		case c.N == 0:
			words[i] = "  (matches no past call)"
		case c.N == replay.MaxCalls:
			words[i] = fmt.Sprintf("  (matches %d past calls or more)", c.N)
		default:
			words[i] = "  (matches " + view.Count(c.N, "past call", "past calls") + ")"
		}
	}
	return words
}
