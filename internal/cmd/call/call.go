// Package call is kx call: tool calls through the gate, one or a stream.
package call

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/lines"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/signals"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/gate"
	"github.com/kxtools/kx/internal/gate/scope"
	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/wire"
)

// Options of kx call.
type Options struct {
	App  *app.App
	Gate func(in scope.Scope, wait time.Duration) (*gate.Gate, error)
	Site *site.Site

	Tool         string
	Input        *string // nil if none was given, "-" for the standard input
	Stream       bool
	Capabilities string
	Wait         time.Duration
}

// New returns the command; a nil run is the real one.
func New(a *app.App, run func(context.Context, *Options) error) *app.Command {
	s := site.Of(a)
	o := &Options{App: a, Site: s, Gate: s.Calls}
	if run == nil {
		run = call
	}
	return &app.Command{
		Name:  "call",
		Usage: "run a tool through the gate",
		What: `
Runs one tool with a JSON input, or with - as the only argument a stream of calls from the standard input, one JSON object a line, and prints a result for each in the order of the calls.

The gate decides first: what is denied does not run (3), what needs a person is parked as a request (4) and runs when the same call comes again after kx approve allow, once. With --wait it waits that long for the answer.
`,
		Args: "TOOL|- [JSON|-]",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "capabilities", Usage: "hide and bar what the scopes in `FILE` say", Destination: &o.Capabilities},
			&cli.DurationFlag{Name: "wait", Usage: "wait up to `DUR` for a person, such as 30s or 10m", Destination: &o.Wait},
		},
		Examples: []app.Example{
			{Line: `kx call read_file '{"path":"README.md"}'`},
			{Line: `kx call bash '{"command":"go test ./..."}' --wait 10m`, Does: "ask, wait for the answer, run"},
			{Line: `jq -c '.calls[]' plan.json | kx call - | jq 'select(.status!="ok")'`, Does: "a stream"},
		},
		Exits: []app.Exit{{Status: 1, Means: "the tool ran and failed"}, {Status: 3}, {Status: 4}, {Status: 5}, {Status: 6}, {Status: 7}, {Status: 8}, {Status: 124}},
		Complete: map[string]app.Completer{
			"":             app.Values(catalogue.Names()...),
			"capabilities": app.Files,
		},
		Run: func(ctx context.Context, args []string) error {
			o.Tool, o.Stream = args[0], args[0] == "-"
			if len(args) > 1 {
				o.Input = &args[1]
			}
			switch {
			case o.Stream && o.Input != nil:
				return fail.Usage("a stream of calls takes no input of its own").WithHint("kx call - < calls.jsonl")
			case o.Wait < 0:
				return fail.Usage("--wait %s: expected a duration above 0", o.Wait).WithHint("kx call --help")
			}
			return run(ctx, o)
		},
	}
}

// slack is what a line of a stream may have beside the input of its call.
const slack = 1 << 20

func call(ctx context.Context, o *Options) error {
	in, err := o.Site.Scope(o.Capabilities)
	if err != nil {
		return err
	}
	g, err := o.Gate(in, o.Wait)
	if err != nil {
		return err
	}
	first, err := g.Begin()
	if err != nil {
		return err
	}
	if o.Stream {
		return stream(ctx, o, g, first)
	}
	c, err := single(ctx, o, first)
	if err != nil {
		return err
	}
	if o.Wait > 0 {
		g.Parked = func(a *wire.Approval) { o.App.Note("waiting for approval: kx approve allow %s", a.ID) }
	}
	return show(ctx, o.App, first.Do(ctx, *c))
}

// single makes the call of a command line.
func single(ctx context.Context, o *Options, b *gate.Batch) (*wire.Call, error) {
	c := &wire.Call{Tool: o.Tool, Input: json.RawMessage("{}")}
	if o.Input == nil {
		return c, nil
	}
	c.Input = json.RawMessage(*o.Input)
	err := error(nil)
	if *o.Input == "-" {
		c.Input, err = lines.ReadObject(o.App.IO.Input(ctx), b.MaxInput()+slack)
	} else {
		err = lines.CheckObject(c.Input)
	}
	if e := fail.As(err); e != nil && e.Exit == fail.ExitUsage {
		err = e.WithHint("kx tool show %s", o.Tool)
	}
	return c, err
}

// show prints a result and turns it into the exit status. For a person, an error
// stands on the standard error like any other.
func show(ctx context.Context, a *app.App, r *wire.Result) error {
	failed := Failure(ctx, r)
	if failed != nil {
		r.Error = failed.Wire()
	}
	p := a.Printer()
	if err := p.Record(r, func(t *out.Text) {
		if text := r.Output.Text(); text != "" && (r.Error == nil || text != r.Error.Message) {
			t.Printf("%s", out.Block(text))
			if text[len(text)-1] != '\n' {
				t.Printf("\n")
			}
		}
	}); err != nil {
		return err
	}
	if failed != nil && !p.Format().Data() {
		return failed
	}
	if exit := gate.Exit(r); exit != 0 {
		return app.Status(exit)
	}
	return nil
}

// Failure is the error of a result, nil if it has none; a call that a signal ended says
// which one.
func Failure(ctx context.Context, r *wire.Result) *fail.Error {
	e := r.Error
	if e == nil {
		return nil
	}
	return fail.As(signals.Named(ctx, &fail.Error{Code: e.Code, Exit: e.Exit, Msg: e.Message, Hint: e.Hint}))
}

// window is how many calls of a stream share the limits of a batch: a stream has
// no turns.
const window = 16

// Windows returns the batch of each next call of a stream, which begins with first.
func Windows(g *gate.Gate, first *gate.Batch) func() (*gate.Batch, error) {
	count, batch := 0, first
	return func() (*gate.Batch, error) {
		if count > 0 && count%window == 0 {
			b, err := g.Begin()
			if err != nil {
				return nil, err
			}
			batch = b
		}
		count++
		return batch, nil
	}
}

// stream runs calls as they come. A line that is no call gives an error record
// in its place, and the others run.
func stream(ctx context.Context, o *Options, g *gate.Gate, batch *gate.Batch) error {
	in := lines.New(o.App.IO.Input(ctx), batch.MaxInput()+slack)
	var broken error
	next := func() (gate.Item, bool) {
		line, n, err := in.Next()
		switch {
		case errors.Is(err, io.EOF):
			return gate.Item{}, false
		case fail.Exit(err) == fail.ExitLimit:
			return gate.Item{Err: fail.Limit("input_bytes", "line %d: %v", n, err).WithHint("kx config show")}, true
		case err != nil:
			broken = lines.Broken(err)
			return gate.Item{}, false
		}
		c, err := wire.ParseCall(line)
		switch {
		case err != nil:
			return gate.Item{Err: fail.Usage("line %d: %v", n, err).WithHint("kx call --help")}, true
		case c.Session != "" && c.Session != g.Session:
			return gate.Item{Err: fail.Usage("line %d: it belongs to session %s, this stream to %s", n, c.Session, g.Session).
				WithHint("kx call - --session %s", c.Session)}, true
		}
		return gate.Item{Call: *c}, true
	}
	worst := fail.ExitOK
	err := out.Each(o.App.Printer(), columns, func(emit func(any) error) error {
		return g.Stream(ctx, next, Windows(g, batch), func(a gate.Answer) error {
			worst = fail.Worst(worst, a.Exit())
			if a.Err != nil {
				return emit(wire.ErrorDoc{Type: "error", V: wire.Version, Error: *fail.As(a.Err).Wire()})
			}
			return emit(a.Result)
		})
	})
	switch {
	case err != nil:
		return err
	case broken != nil:
		return broken
	case worst != fail.ExitOK:
		return app.Status(worst)
	}
	return nil
}

// columns show the results of a stream to a person.
var columns = out.Columns[any]{
	Header: []string{"ID", "TOOL", "STATUS", "DETAIL"},
	Row: func(doc any) []string {
		switch d := doc.(type) {
		case *wire.Result:
			if d.Error != nil {
				return []string{d.ID, d.Tool, string(d.Status), d.Error.Message}
			}
			return []string{d.ID, d.Tool, string(d.Status), firstLine(d.Output.Text())}
		case wire.ErrorDoc:
			return []string{"", "", "error", d.Error.Message}
		}
		return nil
	},
	Empty: "no calls",
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
