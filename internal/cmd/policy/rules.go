package policy

import (
	"context"
	"strconv"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/policy/view"
	"github.com/kxtools/kx/pkg/wire"
)

// RulesOptions of kx policy rules.
type RulesOptions struct {
	App  *app.App
	Open func() (*view.Deps, error)
}

// NewRules returns the command; a nil run is the real one.
func NewRules(a *app.App, run func(context.Context, *RulesOptions) error) *app.Command {
	o := &RulesOptions{App: a, Open: func() (*view.Deps, error) { return view.Open(a) }}
	if run == nil {
		run = listRules
	}
	return &app.Command{
		Name:     "rules",
		Usage:    "list the rules in force",
		What:     "Lists every rule that counts here, the built-in ones too, with its scope and where it stands, with --session ID also those of that session. The highest scope comes first; inside a scope the order never matters.",
		Examples: []app.Example{{Line: "kx policy rules"}, {Line: "kx policy rules -o jsonl | jq -r 'select(.decision==\"allow\").source'"}},
		Run:      func(ctx context.Context, _ []string) error { return run(ctx, o) },
	}
}

func listRules(_ context.Context, o *RulesOptions) error {
	d, err := o.Open()
	if err != nil {
		return err
	}
	var docs []wire.RuleDoc
	for i, r := range d.Judge.Rules.Set.Rules() {
		docs = append(docs, wire.RuleDoc{Type: "rule", V: wire.Version, Number: i + 1, Rule: *r.Wire()})
	}
	return out.List(o.App.Printer(), out.Columns[wire.RuleDoc]{
		Header: []string{"#", "SCOPE", "DECISION", "RULE", "SOURCE", "REASON"},
		Row: func(d wire.RuleDoc) []string {
			return []string{strconv.Itoa(d.Number), d.Scope, string(d.Decision), view.RuleText(&d.Rule), view.Source(&d.Rule), d.Reason}
		},
	}, docs)
}
