package agent

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/base/lines"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/gate/scope"
	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/internal/model/route"
	"github.com/kxtools/kx/internal/record/session"
)

// RunOptions of kx agent run.
type RunOptions struct {
	App    *app.App
	Scope  func(file string) (scope.Scope, error)
	Become func(*app.App, *Spec) error
	Check  func(route.Ask) error // whether there is such a model

	Prompt       string
	Script       string
	Exec         string
	Model        string
	Role         string
	Attach       cli.StringSlice
	MaxTurns     int
	MaxCost      float64
	Wait         time.Duration
	NewSession   string
	Capabilities string
}

// NewRun returns the command; a nil run is the real one.
func NewRun(a *app.App, run func(context.Context, *RunOptions) error) *app.Command {
	o := &RunOptions{App: a, Scope: site.Of(a).Scope, Become: become, Check: func(ask route.Ask) error { return check(a, ask) }}
	if run == nil {
		run = start
	}
	return &app.Command{
		Name:  "run",
		Usage: "run an agent in this workspace",
		What: `
Runs a model in a loop: it answers with tool calls, the gate decides and runs them, and the results go back, until it is done. The prompt is an argument, or with - the standard input. With -o jsonl every event is printed as it happens, and a run record at the end.

The model is one of config.toml (--model ID, or the model of --role NAME and then those of its fallbacks; without either, that of [roles.default]), a script of turns (--script FILE, one JSON object a line) or any program (--exec CMD) that reads a request a line from its standard input and writes a turn a line. See kx.toml(5) and kx-json(7).

A provider that is busy is asked again, on its other accounts too, for as long as a turn may wait (5 minutes); each failure is an event. What was shown once is not asked again.

A word @PATH of the prompt attaches that file or folder of the workspace, --attach any file, also an image: up to 16 KiB whole, of up to 64 KiB the beginning, 200 KiB together. What is denied or protected is not read. What the model does not get to see is told to you and to it. The AGENTS.md of the workspace (else its CLAUDE.md), and those of the folders down to the current one, are read afresh for every turn; see kx agent context.

On a terminal a line at the bottom tells what runs, for how long, and whom it waits for. With --quiet or TERM=dumb nothing is drawn over, as a screen reader wants it. Ctrl-C ends the call that runs and parks; a second one ends everything at once.
`,
		Args: "[PROMPT|-]",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "model", Usage: "ask the model `ID`: PROVIDER/MODEL, or a name that only one provider has", Destination: &o.Model},
			&cli.StringFlag{Name: "role", Usage: "ask the model of the role `NAME`", Destination: &o.Role},
			&cli.StringFlag{Name: "script", Usage: "play the turns in `FILE`", Destination: &o.Script},
			&cli.StringFlag{Name: "exec", Usage: "let the program `CMD` be the model", Destination: &o.Exec},
			&cli.StringSliceFlag{Name: "attach", Usage: "attach `FILE`, also one outside of the workspace; may be repeated", Destination: &o.Attach},
			&cli.IntFlag{Name: "max-turns", Usage: "end after `N` turns", Destination: &o.MaxTurns},
			&cli.Float64Flag{Name: "max-cost", Usage: "end once the turns have cost `USD`", Destination: &o.MaxCost},
			&cli.DurationFlag{Name: "wait", Usage: "wait up to `DUR` for each approval before parking", Destination: &o.Wait},
			&cli.StringFlag{Name: "new-session", Usage: "give the session the id `ID`", Destination: &o.NewSession},
			&cli.StringFlag{Name: "capabilities", Usage: "hide and bar what the scopes in `FILE` say", Destination: &o.Capabilities},
		},
		Examples: []app.Example{
			{Line: `kx agent run "make the failing test pass" --wait 10m`, Does: "with the model of [roles.default]"},
			{Line: `kx agent run "explain main.go" --model anthropic/claude-sonnet-5`},
			{Line: `kx agent run "fix what @web/app.ts shows" --attach ~/screenshot.png --max-cost 0.50`},
			{Line: "kx agent run - --exec ./model -o jsonl < task.md"},
			{Line: "kx agent run --script turns.jsonl --mode plan"},
		},
		Exits: []app.Exit{
			{Status: 0, Means: "the run is complete"}, {Status: 1, Means: "the run failed"},
			{Status: 3, Means: "in the last turn that made calls one was denied, and none after it succeeded"},
			{Status: 4, Means: "the run is parked: a request waits for a person"}, {Status: 5}, {Status: 6}, {Status: 7, Means: "the session exists already"},
			{Status: 130}, {Status: 143},
		},
		Complete: map[string]app.Completer{"model": site.Of(a).CompleteModels, "role": site.Of(a).CompleteRoles, "script": app.Files, "attach": app.Files, "capabilities": app.Files},
		Run: func(ctx context.Context, args []string) error {
			if len(args) > 0 {
				o.Prompt = args[0]
			}
			return run(ctx, o)
		},
	}
}

const (
	maxPrompt = 16 << 20 // as much as a tool may read
	maxScript = 16 << 20
)

func start(ctx context.Context, o *RunOptions) error {
	ask := route.Ask{Model: o.Model, Role: o.Role}
	switch {
	case o.Script == "" && o.Exec == "":
		if err := o.Check(ask); err != nil {
			return err
		}
	case ask != route.Ask{}:
		return fail.Usage("--script and --exec are models; give one of them, or --model and --role").WithHint("kx agent run --help")
	}
	switch {
	case o.Script != "" && o.Exec != "":
		return fail.Usage("--script and --exec are two models; give one").WithHint("kx agent run --help")
	case o.MaxTurns < 0:
		return fail.Usage("--max-turns %d: expected a number above 0", o.MaxTurns)
	case o.MaxCost < 0 || math.IsNaN(o.MaxCost) || math.IsInf(o.MaxCost, 0):
		return fail.Usage("--max-cost %g: expected a number above 0", o.MaxCost)
	case o.Wait < 0:
		return fail.Usage("--wait %s: expected a duration above 0", o.Wait)
	}
	if o.NewSession != "" {
		if err := session.CheckID(o.NewSession); err != nil {
			return err
		}
	}
	spec := &Spec{ID: o.NewSession, Wait: o.Wait, Setup: Setup{Prompt: o.Prompt, Exec: o.Exec, Ask: ask, Attach: o.Attach.Value(), MaxTurns: o.MaxTurns, MaxCost: o.MaxCost}}
	var err error
	if spec.Setup.Scope, err = o.Scope(o.Capabilities); err != nil {
		return err
	}
	if o.Script != "" {
		data, _, err := fsx.ReadRegular(o.Script, maxScript)
		if errors.Is(err, os.ErrNotExist) {
			return fail.Usage("there is no file %s", o.Script)
		}
		if err != nil {
			return fail.Usage("%s can't be read: %v", o.Script, fsx.Reason(err))
		}
		if _, err := model.ParseScript(data, o.Script); err != nil {
			return err
		}
		spec.Setup.Script = string(data)
	}
	if o.Prompt == "-" {
		raw, err := io.ReadAll(io.LimitReader(o.App.IO.Input(ctx), maxPrompt+1))
		if err != nil {
			return lines.Broken(err)
		}
		if len(raw) > maxPrompt {
			return fail.Limit("prompt_bytes", "the prompt has more than %d bytes", maxPrompt)
		}
		spec.Setup.Prompt = string(raw)
	}
	switch {
	case spec.Setup.Prompt == "" && o.Script == "":
		return fail.Usage("there is no prompt").WithHint(`kx agent run "what to do"`)
	case !utf8.ValidString(spec.Setup.Prompt):
		return fail.Usage("the prompt is not valid UTF-8")
	}
	return o.Become(o.App, spec)
}

// check looks whether what is asked for is configured. Whether it has a key is known
// where it is asked.
func check(a *app.App, ask route.Ask) error {
	catalog, err := site.Of(a).Models()
	if err != nil {
		return err
	}
	_, err = route.Resolve(catalog, ask, nil)
	return err
}
