package agent

import (
	"context"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/record/session"
)

// ResumeOptions of kx agent resume.
type ResumeOptions struct {
	App    *app.App
	Open   func() (*session.Store, error)
	Become func(*app.App, *Spec) error

	ID   string
	Wait time.Duration
}

// NewResume returns the command; a nil run is the real one.
func NewResume(a *app.App, run func(context.Context, *ResumeOptions) error) *app.Command {
	o := &ResumeOptions{App: a, Open: func() (*session.Store, error) { return open(a) }, Become: become}
	if run == nil {
		run = resume
	}
	return &app.Command{
		Name:     "resume",
		Usage:    "go on with a run that parked or died",
		What:     "Goes on exactly where the run stopped, with the model that it had. Calls that were answered run now; a call that was under way when the run died is not run again: its result is unknown, and the model is told so.",
		Args:     "ID",
		Flags:    []cli.Flag{&cli.DurationFlag{Name: "wait", Usage: "wait up to `DUR` for each approval before parking again", Destination: &o.Wait}},
		Examples: []app.Example{{Line: "kx agent resume a3fk"}},
		Exits: []app.Exit{
			{Status: 0, Means: "the run is complete"}, {Status: 1}, {Status: 3}, {Status: 4, Means: "it is parked again"}, {Status: 5}, {Status: 6},
			{Status: 7, Means: "it runs, or is over"}, {Status: 8}, {Status: 130}, {Status: 143},
		},
		Complete: map[string]app.Completer{"": ids(a)},
		Run: func(ctx context.Context, args []string) error {
			o.ID = args[0]
			return run(ctx, o)
		},
	}
}

func resume(_ context.Context, o *ResumeOptions) error {
	store, err := o.Open()
	if err != nil {
		return err
	}
	m, err := store.Meta(o.ID)
	if err != nil {
		return err
	}
	switch {
	case o.Wait < 0:
		return fail.Usage("--wait %s: expected a duration above 0", o.Wait)
	case shared(m.ID):
		return fail.Usage("session %s is no run of an agent", m.ID).WithHint("kx agent list")
	case store.Running(m.ID):
		return fail.Conflict("session_running", "session %s is running (pid %d)", m.ID, store.PID(m.ID)).WithHint("kx agent show %s", m.ID)
	}
	if err := Over(m); err != nil {
		return err
	}
	return o.Become(o.App, &Spec{Resume: m.ID, Wait: o.Wait})
}
