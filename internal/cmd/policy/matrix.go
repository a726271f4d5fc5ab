package policy

import (
	"context"
	"path"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/policy/view"
	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/policy/mode"
	"github.com/kxtools/kx/pkg/wire"
)

// MatrixOptions of kx policy matrix.
type MatrixOptions struct {
	App  *app.App
	Open func() (*view.Deps, error)

	Tool string
}

// NewMatrix returns the command; a nil run is the real one.
func NewMatrix(a *app.App, run func(context.Context, *MatrixOptions) error) *app.Command {
	o := &MatrixOptions{App: a, Open: func() (*view.Deps, error) { return view.Open(a) }}
	if run == nil {
		run = matrix
	}
	return &app.Command{
		Name:  "matrix",
		Usage: "show what every mode makes of every tool",
		What:  "Shows, for each tool that is there or that rules can speak of, what happens in each of the five modes when only the rules without conditions count. A cell that an input can change is marked with *, and the rules that can change it are named below.",
		Flags: []cli.Flag{&cli.StringFlag{Name: "tool", Usage: "only tools that match `GLOB`; an MCP tool by its full name", Destination: &o.Tool}},
		Examples: []app.Example{
			{Line: "kx policy matrix"},
			{Line: "kx policy matrix --tool 'write_*'"},
			{Line: "kx policy matrix -o jsonl | jq -r 'select(.modes.dontAsk.decision==\"allow\").tool'"},
		},
		Exits: []app.Exit{{Status: 8, Means: "no tool matches"}},
		Run:   func(ctx context.Context, _ []string) error { return run(ctx, o) },
	}
}

func matrix(_ context.Context, o *MatrixOptions) error {
	if _, err := path.Match(o.Tool, ""); err != nil {
		return fail.Usage("--tool %q is not a glob", o.Tool)
	}
	d, err := o.Open()
	if err != nil {
		return err
	}
	var names []string
	for _, n := range slices.Concat(d.Tools.Names(), catalogue.Names()) {
		ok, _ := path.Match(o.Tool, n)
		if (ok || o.Tool == "") && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	if _, known := catalogue.Lookup(o.Tool); known && len(names) == 0 {
		names = []string{o.Tool}
	}
	if len(names) == 0 {
		return fail.NotFound("no_such_tool", "no tool matches %q", o.Tool).WithHint("kx tool list --all")
	}
	rows := d.Judge.Matrix(names, d.Loaded)
	p := o.App.Printer()
	header := append(append([]string{"TOOL"}, mode.All...), "RULE", "SOURCE")
	if err := out.List(p, out.Columns[wire.MatrixRow]{Header: header, Row: cells}, rows); err != nil {
		return err
	}
	if p.Format().Data() {
		return nil
	}
	var seen []string
	for _, r := range rows {
		for _, n := range r.Notes {
			if !slices.Contains(seen, n) {
				seen = append(seen, n)
			}
		}
	}
	return p.Text(func(t *out.Text) {
		for i, n := range seen {
			switch {
			case p.Format() == out.MD && i == 0:
				t.Printf("\n\\* depends on the input:\n\n")
				fallthrough
			case p.Format() == out.MD:
				t.Printf("- %s\n", d.Shortened(n))
			case i == 0:
				t.Printf("* depends on the input: %s\n", d.Shortened(n))
			default:
				t.Printf("                        %s\n", d.Shortened(n))
			}
		}
	})
}

func cells(r wire.MatrixRow) []string {
	row := []string{r.Tool}
	for _, m := range mode.All {
		c := r.Modes[m]
		star := ""
		if c.Conditional {
			star = "*"
		}
		row = append(row, string(c.Decision)+star)
	}
	return append(row, view.RuleText(r.Rule), view.Source(r.Rule))
}
