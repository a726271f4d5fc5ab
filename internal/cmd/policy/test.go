package policy

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/policy/view"
	"github.com/kxtools/kx/internal/record/config"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/policy/rulefile"
	"github.com/kxtools/kx/pkg/wire"
)

// TestOptions of kx policy test.
type TestOptions struct {
	App  *app.App
	Open func(policyFile string) (*view.Deps, error)

	File     string
	Coverage bool
}

// TestDoc is one [[test]] and what it came to.
type TestDoc struct {
	Type   string       `json:"type"`
	V      int          `json:"v"`
	Tool   string       `json:"tool"`
	Input  any          `json:"input,omitempty"`
	Mode   string       `json:"mode"`
	Want   wire.Verdict `json:"want"`
	Got    wire.Verdict `json:"got"`
	OK     bool         `json:"ok"`
	Source string       `json:"source"`
	Rule   *wire.Rule   `json:"rule"`
	Reason string       `json:"reason"`
}

// UnreachedDoc is a rule that no test reaches.
type UnreachedDoc struct {
	Type string     `json:"type"`
	V    int        `json:"v"`
	Rule *wire.Rule `json:"rule"`
}

// NewTest returns the command; a nil run is the real one.
func NewTest(a *app.App, run func(context.Context, *TestOptions) error) *app.Command {
	o := &TestOptions{App: a, Open: func(file string) (*view.Deps, error) { return view.OpenWith(a, file) }}
	if run == nil {
		run = test
	}
	return &app.Command{
		Name:  "test",
		Usage: "run the tests of a policy file",
		What: `
Judges the call of every [[test]] (tool, input, mode, expect) of the user's policy.toml and of the trusted project's, and compares. With FILE it runs the tests of that file alone, with that file in the place of the user's: so a policy can be tried before it counts. Nothing is called, and any mode can be tested.

With --coverage it also lists the rules of the tested files that decide no part of any test.

A test that is not valid, names a tool that does not exist, or stands there twice is an error with its line (2).
`,
		Args:     "[FILE]",
		Flags:    []cli.Flag{&cli.BoolFlag{Name: "coverage", Usage: "list the rules that no test reaches", Destination: &o.Coverage}},
		Examples: []app.Example{{Line: "kx policy test"}, {Line: "kx policy test stricter.toml --coverage"}},
		Exits:    []app.Exit{{Status: fail.ExitFailed, Means: "a test fails"}, {Status: fail.ExitNotFound, Means: "there is no such file"}},
		Complete: map[string]app.Completer{"": app.Files},
		Run: func(ctx context.Context, args []string) error {
			if len(args) > 0 {
				o.File = args[0]
			}
			return run(ctx, o)
		},
	}
}

func test(_ context.Context, o *TestOptions) error {
	d, err := o.Open(o.File)
	if err != nil {
		return err
	}
	files := []*config.File{d.Judge.Config.UserPolicy}
	scopes := map[string]bool{policy.User.String(): true}
	if o.File == "" {
		files = append(files, d.Judge.Config.ProjectPolicy)
		scopes[policy.Project.String()] = true
	}
	reached, failed := map[string]bool{}, 0
	var docs []any
	for _, f := range files {
		if f == nil {
			continue
		}
		tests, err := testsOf(f)
		if err != nil {
			return err
		}
		for _, t := range tests {
			dec := d.Judge.Explain(t.Tool, t.Input, t.Mode, d.Loaded(t.Tool))
			for r := range dec.Deciding() {
				reached[r.Source] = true
			}
			doc := TestDoc{
				Type: "policy_test", V: wire.Version, Tool: t.Tool, Mode: t.Mode, Want: t.Expect, Got: dec.Decision,
				OK: dec.Decision == t.Expect, Source: fmt.Sprintf("%s:%d", f.Path, t.Line), Rule: dec.Rule, Reason: dec.Reason,
			}
			if t.Input != nil {
				doc.Input = t.Input
			}
			if !doc.OK {
				failed++
			}
			docs = append(docs, doc)
		}
	}
	total := len(docs)
	if o.Coverage {
		for _, r := range d.Judge.Rules.Set.Rules() {
			if w := r.Wire(); scopes[w.Scope] && !reached[w.Source] {
				docs = append(docs, UnreachedDoc{"unreached_rule", wire.Version, w})
			}
		}
	}
	if err := printTests(o, d, docs, total, failed); err != nil {
		return err
	}
	if failed > 0 {
		return app.Status(fail.ExitFailed)
	}
	return nil
}

// testsOf reads the tests of a file. One that can't mean what it says is no test.
func testsOf(f *config.File) ([]rulefile.Test, error) {
	parsed, err := rulefile.Parse(f.Data, f.Path, policy.User)
	if err != nil {
		return nil, fail.Config("%v", err).WithHint("kx policy test --help").Because(err)
	}
	seen := map[string]int{}
	for _, t := range parsed.Tests {
		bad := func(format string, args ...any) error {
			return fail.Config("%s:%d: %s", f.Path, t.Line, fmt.Sprintf(format, args...)).WithHint("kx tool list --all")
		}
		if _, ok := catalogue.Lookup(t.Tool); !ok {
			if near := catalogue.Suggest(t.Tool); near != "" {
				return nil, bad("no tool is called %s; did you mean %s?", t.Tool, near)
			}
			return nil, bad("no tool is called %s", t.Tool)
		}
		key := t.Tool + "\x00" + t.Mode + "\x00" + string(t.Input)
		if line, twice := seen[key]; twice {
			return nil, bad("the test at line %d is of the same call", line)
		}
		seen[key] = t.Line
	}
	return parsed.Tests, nil
}

func printTests(o *TestOptions, d *view.Deps, docs []any, total, failed int) error {
	p := o.App.Printer()
	if p.Format().Data() {
		return out.List(p, out.Columns[any]{}, docs)
	}
	var shown []any // what holds says nothing
	for _, doc := range docs {
		if t, ok := doc.(TestDoc); !ok || !t.OK {
			shown = append(shown, doc)
		}
	}
	if len(shown) > 0 {
		if err := out.List(p, testColumns, shown); err != nil {
			return err
		}
	}
	return p.Text(func(t *out.Text) {
		switch {
		case total == 0:
			t.Printf("no tests: a [[test]] in policy.toml names tool, input, mode and expect\n")
		case failed == 0:
			t.Printf("%s\n", view.Count(total, "test holds", "tests hold"))
		default:
			t.Printf("%s · %d hold · %s\n", view.Count(total, "test", "tests"), total-failed, view.Count(failed, "fails", "fail"))
		}
		if o.Coverage {
			n := len(docs) - total
			t.Printf("%s\n", view.Count(n, "rule is reached by no test", "rules are reached by no test"))
		}
	})
}

var testColumns = out.Columns[any]{
	Header: []string{"RESULT", "AT", "CALL", "MODE", "WANT", "GOT", "BY"},
	Row: func(doc any) []string {
		switch t := doc.(type) {
		case TestDoc:
			by := t.Reason
			if t.Rule != nil {
				by = view.RuleText(t.Rule) + "  " + view.Source(t.Rule)
			}
			call := t.Tool
			if t.Input != nil {
				call += fmt.Sprintf(" %s", t.Input)
			}
			return []string{"fails", view.Short(t.Source), call, t.Mode, string(t.Want), string(t.Got), by}
		case UnreachedDoc:
			return []string{"unreached", view.Source(t.Rule), string(t.Rule.Decision) + " " + view.RuleText(t.Rule), "", "", "", ""}
		}
		return nil
	},
}
