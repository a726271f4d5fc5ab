package view

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/wire"
)

// VerdictStyle colours a verdict; the word says it, too.
var VerdictStyle = map[wire.Verdict]out.Style{wire.Allow: out.Green, wire.Ask: out.Yellow, wire.Deny: out.Red}

// Row is one line of an explanation: a part of the call, what was decided of it,
// why, and where that stands. A row without a part goes on with the one above.
type Row struct {
	Part    string
	Verdict wire.Verdict
	Why     string
	Source  string
	Runs    string // what code of the workspace it runs
}

// Explain prints a decision for a person: the verdict, then what each part of
// the call came to, then the rules that lost.
func Explain(t *out.Text, d *wire.Decision) {
	t.Printf("%s  %s", t.Paint(VerdictStyle[d.Decision], fmt.Sprintf("%-5s", d.Decision)), d.Tool)
	if !d.Loaded && d.Reason != policy.ReasonUnknownTool {
		t.Printf("  (not available here)")
	}
	t.Printf("\n")
	if d.Reason == policy.ReasonUnknownTool {
		t.Printf("  there is no such tool; %s\n", Or(d.Hint, "kx tool list --all names those there are"))
	} else {
		print(t, rows(d))
	}
	for _, r := range d.LosingRules {
		if r.Scope != "builtin" {
			t.Printf("  lost: %s %s  %s  %s\n", string(r.Decision), RuleText(&r), Source(&r), lost(&r))
		}
	}
	if g := d.Guard; g != nil {
		t.Printf("guard %s: %s\n", g.Name, term.Line(g.Reason))
		t.Printf("nothing allows this: no rule, no mode, no answer\n")
	} else if d.Decision != d.BaseDecision {
		t.Printf("the rules say %s; mode %s makes it %s\n", string(d.BaseDecision), d.EffectiveMode, string(d.Decision))
	}
	if d.Mandatory && d.Guard == nil {
		t.Printf("only a person can allow this, whatever the mode\n")
	}
	t.Printf("mode %s · nothing was run\n", d.EffectiveMode)
}

// lost says to which rule another one lost, and why.
func lost(r *wire.Rule) string {
	if r.LostTo == "" {
		return r.Lost
	}
	return "to " + Short(r.LostTo) + ": " + r.Lost
}

// does says in words what a point of a command does to its resource.
var does = map[string]string{"read": "reads ", "write": "writes ", "net": "reaches "}

func rows(d *wire.Decision) []Row {
	list := Rows(d.Leaves, d.Points)
	if len(list) == 0 {
		list = append(list, pointRow("without an input", &wire.Point{Decision: d.BaseDecision, Rule: d.Rule, Reason: OwnReason(d)}))
	}
	return list
}

// Rows are the lines about the parts of a call, not sanitised.
func Rows(leaves []wire.Leaf, points []wire.Point) []Row {
	var list []Row
	for _, l := range leaves {
		part := strings.Join(l.Argv, " ")
		if l.Via != "" {
			part += " (" + l.Via + ")"
		}
		for _, p := range l.Points {
			r := pointRow(part, &p)
			if word := does[p.Effect]; word != "" {
				r.Why = strings.TrimSuffix(word+p.Resource+": "+r.Why, ": ")
			}
			if part != "" {
				r.Runs = l.Runs
			}
			list, part = append(list, r), ""
		}
	}
	for _, p := range points {
		list = append(list, pointRow(Or(strings.TrimSpace(p.Effect+" "+p.Resource), "the call"), &p))
	}
	return list
}

func pointRow(part string, p *wire.Point) Row {
	r := Row{Part: part, Verdict: p.Decision, Why: p.Reason, Source: Source(p.Rule)}
	switch {
	case p.Rule == nil:
		r.Source = "built-in"
	case p.Rule.Scope == "builtin" && p.Reason == "":
		r.Why, r.Source = "built-in", ""
	case p.Rule.Scope != "builtin" && p.Reason == "":
		r.Why = RuleText(p.Rule)
	case p.Rule.Scope != "builtin":
		r.Why = RuleText(p.Rule) + ": " + p.Reason
	}
	return r
}

// OwnReason is the reason of a decision where it says more than which rule it was.
func OwnReason(d *wire.Decision) string {
	if d.Rule != nil && d.Reason == policy.RuleReason(d.Rule) {
		return ""
	}
	return d.Reason
}

// widest is how wide a part may be and still line up: a longer one pushes only
// its own line.
const widest = 40

func print(t *out.Text, rows []Row) {
	part, why := 0, 0
	for i := range rows {
		r := &rows[i]
		r.Part, r.Why = term.Line(r.Part), term.Line(r.Why)
		if n := utf8.RuneCountInString(r.Part); n <= widest {
			part = max(part, n)
		}
		if r.Source != "" {
			why = max(why, min(widest, utf8.RuneCountInString(r.Why)))
		}
	}
	for _, r := range rows {
		t.Printf("  %-*s  %s  ", part, r.Part, t.Paint(VerdictStyle[r.Verdict], fmt.Sprintf("%-5s", r.Verdict)))
		if r.Source == "" {
			t.Printf("%s", r.Why)
		} else {
			t.Printf("%-*s  %s", why, r.Why, r.Source)
		}
		if r.Runs != "" {
			t.Printf(" · runs %s", r.Runs)
		}
		t.Printf("\n")
	}
}

// RuleText writes in one line what a rule speaks of.
func RuleText(r *wire.Rule) string {
	if r == nil {
		return ""
	}
	var parts []string
	if r.Tool != "*" || r.Effect == "" && len(r.When) == 0 {
		parts = append(parts, r.Tool)
	}
	if r.Effect != "" {
		parts = append(parts, r.Effect)
	}
	for _, k := range slices.Sorted(maps.Keys(r.When)) {
		v := fmt.Sprintf("%q", r.When[k])
		if k != "command" {
			v = k + "=" + v
		}
		parts = append(parts, v)
	}
	if r.Final {
		parts = append(parts, "final")
	}
	return strings.Join(parts, " ")
}

// Source says where a rule stands, as short as a person can still find it.
func Source(r *wire.Rule) string {
	if r == nil {
		return ""
	}
	return Short(r.Source)
}

// Short is the name of a file as a person knows it.
func Short(path string) string {
	base := filepath.Base(path)
	if filepath.Base(filepath.Dir(path)) == ".kx" {
		return ".kx/" + base
	}
	return base
}

// Or is the first of the two that says something.
func Or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// Count writes a number with what it counts.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
