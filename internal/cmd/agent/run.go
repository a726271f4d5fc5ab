package agent

import (
	"context"
	"errors"
	"io"
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
	"github.com/kxtools/kx/internal/record/session"
)

// RunOptions of kx agent run.
type RunOptions struct {
	App    *app.App
	Scope  func(file string) (scope.Scope, error)
	Become func(*app.App, *Spec) error

	Prompt       string
	Script       string
	Exec         string
	MaxTurns     int
	Wait         time.Duration
	NewSession   string
	Capabilities string
}

// NewRun returns the command; a nil run is the real one.
func NewRun(a *app.App, run func(context.Context, *RunOptions) error) *app.Command {
	o := &RunOptions{App: a, Scope: site.Of(a).Scope, Become: become}
	if run == nil {
		run = start
	}
	return &app.Command{
		Name:  "run",
		Usage: "run an agent in this workspace",
		What: `
Runs a model in a loop: it answers with tool calls, the gate decides and runs them, and the results go back, until it is done. The prompt is an argument, or with - the standard input. With -o jsonl every event is printed as it happens, and a run record at the end.

On a terminal a line at the bottom tells what runs, for how long, and whom it waits for. With --quiet or TERM=dumb nothing is drawn over, as a screen reader wants it. Ctrl-C ends the call that runs and parks; a second one ends everything at once.

The model is a script of turns (--script FILE, one JSON object a line) or any program (--exec CMD) that reads a request a line from its standard input and writes a turn a line. See kx-json(7).
`,
		Args: "[PROMPT|-]",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "script", Usage: "play the turns in `FILE`", Destination: &o.Script},
			&cli.StringFlag{Name: "exec", Usage: "let the program `CMD` be the model", Destination: &o.Exec},
			&cli.IntFlag{Name: "max-turns", Usage: "end after `N` turns", Destination: &o.MaxTurns},
			&cli.DurationFlag{Name: "wait", Usage: "wait up to `DUR` for each approval before parking", Destination: &o.Wait},
			&cli.StringFlag{Name: "new-session", Usage: "give the session the id `ID`", Destination: &o.NewSession},
			&cli.StringFlag{Name: "capabilities", Usage: "hide and bar what the scopes in `FILE` say", Destination: &o.Capabilities},
		},
		Examples: []app.Example{
			{Line: `kx agent run "make the failing test pass" --exec ./model --wait 10m`},
			{Line: "kx agent run - --exec ./model -o jsonl < task.md"},
			{Line: "kx agent run --script turns.jsonl --mode plan"},
		},
		Exits: []app.Exit{
			{Status: 0, Means: "the run is complete"}, {Status: 1, Means: "the run failed"},
			{Status: 3, Means: "in the last turn that made calls one was denied, and none after it succeeded"},
			{Status: 4, Means: "the run is parked: a request waits for a person"}, {Status: 5}, {Status: 6}, {Status: 7, Means: "the session exists already"},
			{Status: 130}, {Status: 143},
		},
		Complete: map[string]app.Completer{"script": app.Files, "capabilities": app.Files},
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
	switch {
	case o.Script == "" && o.Exec == "":
		return fail.Unavailable("no_model", "no model is given").WithHint("kx agent run --exec ./model")
	case o.Script != "" && o.Exec != "":
		return fail.Usage("--script and --exec are two models; give one").WithHint("kx agent run --help")
	case o.MaxTurns < 0:
		return fail.Usage("--max-turns %d: expected a number above 0", o.MaxTurns)
	case o.Wait < 0:
		return fail.Usage("--wait %s: expected a duration above 0", o.Wait)
	}
	if o.NewSession != "" {
		if err := session.CheckID(o.NewSession); err != nil {
			return err
		}
	}
	spec := &Spec{ID: o.NewSession, Wait: o.Wait, Setup: Setup{Prompt: o.Prompt, Exec: o.Exec, MaxTurns: o.MaxTurns}}
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
		return fail.Usage("there is no prompt").WithHint(`kx agent run "what to do" --exec ./model`)
	case !utf8.ValidString(spec.Setup.Prompt):
		return fail.Usage("the prompt is not valid UTF-8")
	}
	return o.Become(o.App, spec)
}
