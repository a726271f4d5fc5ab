package agent

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/agent"
	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/record/session"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/wire"
)

// ForkOptions of kx agent fork.
type ForkOptions struct {
	App   *app.App
	State func() (*state.State, error)

	ID string
	At int
}

// NewFork returns the command; a nil run is the real one.
func NewFork(a *app.App, run func(context.Context, *ForkOptions) error) *app.Command {
	o := &ForkOptions{App: a, State: site.Of(a).State}
	if run == nil {
		run = fork
	}
	return &app.Command{
		Name:  "fork",
		Usage: "go another way from a turn of a run",
		What: `
Makes a new session that begins with the turns of another one, up to the last that is over or to --at TURN. The other one stays as it is, and may run meanwhile. kx agent resume goes on with the new one.

It has the same model, mode, scopes and limits. It does not have what waits for an answer, nor the rules that people gave the other session: what needs an answer is asked anew. Files are what they are now: they don't go back to what they were at that turn.
`,
		Args:     "ID",
		Flags:    []cli.Flag{&cli.IntFlag{Name: "at", Usage: "end with turn `TURN`", Destination: &o.At}},
		Examples: []app.Example{{Line: "kx agent fork a3fk --at 3"}},
		Exits:    []app.Exit{{Status: 1, Means: "its record is damaged before that turn"}, {Status: 7, Means: "no turn is over yet"}, {Status: 8, Means: "there is no such session or turn"}},
		Complete: map[string]app.Completer{"": ids(a)},
		Run: func(ctx context.Context, args []string) error {
			o.ID = args[0]
			return run(ctx, o)
		},
	}
}

func fork(_ context.Context, o *ForkOptions) error {
	if o.At < 0 {
		return fail.Usage("--at %d: expected the number of a turn", o.At)
	}
	st, err := o.State()
	if err != nil {
		return err
	}
	store := session.New(st, o.App.Now)
	from, err := store.Meta(o.ID)
	if err != nil {
		return err
	}
	if shared(from.ID) {
		return fail.Usage("session %s is no run of an agent", from.ID).WithHint("kx agent list")
	}
	events, turns, err := agent.Until(from.ID, store.Events(from.ID), o.At)
	if err != nil {
		return err
	}
	m, err := store.Fork(session.Meta{
		Session: wire.Session{Workspace: from.Workspace, Mode: from.Mode, Model: from.Model, State: session.Parked, Parent: from.ID, Turns: turns},
		Agent:   from.Agent,
	}, events)
	if err != nil {
		return err
	}
	return o.App.Printer().Record(m.Session, func(t *out.Text) {
		t.Printf("%s  from turn %d of %s; go on with   kx agent resume %s\n", t.Paint(out.Bold, m.ID), turns, from.ID, m.ID)
	})
}
