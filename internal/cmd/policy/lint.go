package policy

import (
	"context"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/policy/view"
	"github.com/kxtools/kx/pkg/policy/lint"
	"github.com/kxtools/kx/pkg/wire"
)

// LintOptions of kx policy lint.
type LintOptions struct {
	App  *app.App
	Open func() (*view.Deps, error)
}

// LintDoc is one finding.
type LintDoc struct {
	Type   string     `json:"type"`
	V      int        `json:"v"`
	Code   string     `json:"code"`
	Rule   *wire.Rule `json:"rule"`
	Detail string     `json:"detail"`
	Remedy string     `json:"remedy"`
}

// NewLint returns the command; a nil run is the real one.
func NewLint(a *app.App, run func(context.Context, *LintOptions) error) *app.Command {
	o := &LintOptions{App: a, Open: func() (*view.Deps, error) { return view.Open(a) }}
	if run == nil {
		run = findings
	}
	return &app.Command{
		Name:  "lint",
		Usage: "find rules that do nothing, or too much",
		What: `
Reports rules that another one makes useless (shadowed, duplicate), that no call can meet (dead), that name a tool which does not exist (unknown_tool), that allow everything or a program that runs whatever its arguments say (allow_all), or that allow a program which runs whatever files say (runs_files), and what to do about each. What it says of a rule is proven; a rule that it says nothing of may be of no use all the same.

A file that can't be read as a policy is an error with its line (2).
`,
		Examples: []app.Example{{Line: "kx policy lint"}},
		Exits:    []app.Exit{{Status: 1, Means: "there are findings"}},
		Run:      func(ctx context.Context, _ []string) error { return run(ctx, o) },
	}
}

func findings(_ context.Context, o *LintOptions) error {
	d, err := o.Open()
	if err != nil {
		return err
	}
	docs := []LintDoc{}
	for _, f := range lint.Rules(d.Judge.Rules.Set.Rules()) {
		docs = append(docs, LintDoc{Type: "finding", V: wire.Version, Code: f.Code, Rule: f.Rule.Wire(), Detail: f.Detail, Remedy: f.Remedy})
	}
	if err := out.List(o.App.Printer(), out.Columns[LintDoc]{
		Header: []string{"CODE", "DECISION", "RULE", "SOURCE", "DETAIL"},
		Row: func(f LintDoc) []string {
			return []string{f.Code, string(f.Rule.Decision), view.RuleText(f.Rule), view.Source(f.Rule), d.Shortened(f.Detail + "; " + f.Remedy)}
		},
		Empty: "nothing to say",
	}, docs); err != nil {
		return err
	}
	if len(docs) > 0 {
		return app.Status(fail.ExitFailed)
	}
	return nil
}
