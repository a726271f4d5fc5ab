package policy

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/pkg/wire"
)

// verdictStyle colours a verdict; the word says it, too.
var verdictStyle = map[wire.Verdict]out.Style{wire.Allow: out.Green, wire.Ask: out.Yellow, wire.Deny: out.Red}

// explain prints a decision for a person: the verdict, then what each part of
// the call came to, then the rules that lost.
func explain(t *out.Text, d *wire.Decision) {
	t.Printf("%s  %s", t.Paint(verdictStyle[d.Decision], fmt.Sprintf("%-5s", d.Decision)), d.Tool)
	if !d.Loaded {
		t.Printf("  (not available here)")
	}
	t.Printf("\n")
	width := 0
	for _, l := range d.Leaves {
		width = max(width, len(strings.Join(l.Argv, " ")))
	}
	width = min(width, 40) // a longer command pushes its own line only
	for _, l := range d.Leaves {
		name := strings.Join(l.Argv, " ")
		if l.Via != "" {
			name += " (" + l.Via + ")"
		}
		for i, p := range l.Points {
			if i > 0 {
				name = ""
			}
			t.Printf("  %-*s  %-5s  %s\n", width, name, p.Decision, pointText(&p))
		}
	}
	for _, p := range d.Points {
		t.Printf("  %-*s  %-5s  %s\n", width, strings.TrimSpace(p.Effect+" "+p.Resource), p.Decision, because(&p))
	}
	if len(d.Leaves)+len(d.Points) == 0 {
		t.Printf("  %s\n", because(&wire.Point{Rule: d.Rule, Reason: d.Reason}))
	}
	for _, r := range d.LosingRules {
		if r.Scope != "builtin" {
			t.Printf("  lost: %s\n", ruleText(&r))
		}
	}
	if d.ModeEffect != "" {
		t.Printf("the rules say %s; mode %s makes it %s\n", d.BaseDecision, d.EffectiveMode, d.Decision)
	}
	if d.Mandatory {
		t.Printf("only a person can allow this, whatever the mode\n")
	}
	t.Printf("mode %s · nothing was run\n", d.EffectiveMode)
}

// pointText says what a point of a command does, and why it was decided so.
func pointText(p *wire.Point) string {
	does := map[string]string{"read": "reads", "write": "writes", "net": "reaches"}[p.Effect]
	if does == "" {
		return because(p)
	}
	return does + " " + p.Resource + "  " + because(p)
}

func because(p *wire.Point) string {
	switch {
	case p.Rule != nil && p.Rule.Scope == "builtin" && p.Reason == "":
		return "built-in"
	case p.Rule != nil && p.Reason != "":
		return ruleText(p.Rule) + "  " + p.Reason
	case p.Rule != nil:
		return ruleText(p.Rule)
	case p.Reason != "":
		return p.Reason
	}
	return "built-in"
}

// ruleText writes a rule in one line: what it speaks of, and where it stands.
func ruleText(r *wire.Rule) string {
	if r == nil {
		return ""
	}
	parts := []string{r.Tool}
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
	parts = append(parts, string(r.Decision))
	if r.Final {
		parts = append(parts, "final")
	}
	source := r.Source
	if source != "built-in" {
		source = filepath.Base(source)
	}
	return strings.Join(parts, " ") + "  " + source
}
