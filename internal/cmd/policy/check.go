package policy

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/jail"
	"github.com/kxtools/kx/internal/base/lines"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/policy/view"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/gate"
	"github.com/kxtools/kx/internal/gate/judge"
	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/policy/mode"
	"github.com/kxtools/kx/pkg/wire"
)

// CheckOptions of kx policy check.
type CheckOptions struct {
	App  *app.App
	Open func() (*view.Deps, error)

	Tool     string
	Input    string
	Stream   bool
	ExitZero bool
}

// NewCheck returns the command; a nil run is the real one.
func NewCheck(a *app.App, run func(context.Context, *CheckOptions) error) *app.Command {
	o := &CheckOptions{App: a, Open: func() (*view.Deps, error) { return view.Open(a) }}
	if run == nil {
		run = check
	}
	return &app.Command{
		Name:  "check",
		Usage: "explain what would happen to a call",
		What: `
Prints the decision for a call and the rules that led to it. Without an input the answer is the cell of the matrix: what the rules without conditions say. With --mode any mode can be explained, also one that a session could not have.

With - it reads calls or tool records from the standard input, one JSON object a line, and prints a decision for each.
`,
		Args: "[-]",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "tool", Usage: "the `TOOL` that is called", Destination: &o.Tool},
			&cli.StringFlag{Name: "input", Usage: "its input as `JSON`, or - for the standard input", Destination: &o.Input},
			&cli.BoolFlag{Name: "exit-zero", Usage: "exit with 0 whatever the decision is", Destination: &o.ExitZero},
		},
		Examples: []app.Example{
			{Line: `kx policy check --tool bash --input '{"command":"git status && rm -rf build"}'`},
			{Line: "kx policy check --tool write_file --mode plan"},
			{Line: "kx tool list -o jsonl | kx policy check - --mode plan --exit-zero"},
		},
		Exits: []app.Exit{
			{Status: 0, Means: "allow"}, {Status: 3, Means: "deny"}, {Status: 4, Means: "ask"}, {Status: 8, Means: "no such tool"},
		},
		Complete: map[string]app.Completer{"tool": app.Values(catalogue.Names()...)},
		Run: func(ctx context.Context, args []string) error {
			if o.Stream = len(args) == 1; o.Stream && args[0] != "-" {
				return fail.Usage("check takes - or --tool, not %q", args[0]).WithHint("kx policy check --tool %s", args[0])
			}
			if o.Stream == (o.Tool != "") || o.Stream && o.Input != "" {
				return fail.Usage("say which call: --tool NAME [--input JSON], or - for a stream").WithHint("kx policy check --help")
			}
			return run(ctx, o)
		},
	}
}

// maxInput is the largest input that is explained: as large as a call's may be
// by default, with room for what stands around it in a line.
const maxInput = 17 << 20

func check(ctx context.Context, o *CheckOptions) error {
	d, err := o.Open()
	if err != nil {
		return err
	}
	if o.Stream {
		return checkStream(ctx, o, d)
	}
	input := []byte(o.Input)
	switch {
	case o.Input == "-":
		input, err = lines.ReadObject(o.App.IO.Input(ctx), maxInput)
	case o.Input != "":
		err = lines.CheckObject(input)
	}
	if e := fail.As(err); e != nil {
		return e.WithHint("kx tool show %s", o.Tool)
	}
	dec := explain(d, &wire.Call{Tool: o.Tool, Input: input})
	if err := o.App.Printer().Record(dec, func(t *out.Text) { view.Explain(t, dec) }); err != nil {
		return err
	}
	if o.App.Notes() && o.Tool == "bash" && dec.Decision == wire.Allow && !d.Judge.Config.Experimental.UnsandboxedBash && !gate.OnHost(dec) {
		if w, err := site.Of(o.App).Walls(); err != nil || w.Kind != jail.Full {
			o.App.Note("a call on this machine would ask all the same: %s", judge.NoSandbox)
		}
	}
	return o.exit(exitOf(dec, true))
}

func (o *CheckOptions) exit(status int) error {
	if status == fail.ExitOK || o.ExitZero {
		return nil
	}
	return app.Status(status)
}

// explain decides one call, in its own mode if it has one.
func explain(d *view.Deps, c *wire.Call) *wire.Decision {
	m := d.Judge.Mode
	if own, ok := mode.Parse(c.Mode); ok {
		m = own
	}
	dec := d.Judge.Explain(c.Tool, c.Input, m, d.Loaded(c.Tool))
	dec.ID, dec.Extra = c.ID, c.Extra
	if _, known := catalogue.Lookup(c.Tool); !known {
		if near := catalogue.Suggest(c.Tool); near != "" {
			dec.Hint = "did you mean " + near + "?"
		}
	}
	return dec
}

// exitOf is the exit status of a decision. A tool that does not exist is not
// found when it is asked for alone, and denied like others in a batch.
func exitOf(d *wire.Decision, alone bool) int {
	if _, known := catalogue.Lookup(d.Tool); !known && alone {
		return fail.ExitNotFound
	}
	switch d.Decision {
	case wire.Allow:
		return fail.ExitOK
	case wire.Ask:
		return fail.ExitPending
	}
	return fail.ExitDenied
}

var decisionColumns = out.Columns[any]{
	Header: []string{"TOOL", "DECISION", "RULE", "SOURCE", "REASON"},
	Row: func(doc any) []string {
		if e, ok := doc.(out.Encoded); ok {
			doc = e.Doc
		}
		switch d := doc.(type) {
		case *wire.Decision:
			return []string{d.Tool, string(d.Decision), view.RuleText(d.Rule), view.Source(d.Rule), strings.TrimSpace(view.OwnReason(d) + " " + d.Hint)}
		case wire.ErrorDoc:
			return []string{"", "error", "", "", d.Error.Message}
		}
		return nil
	},
	Empty: "no calls",
}
