package agent

import (
	"context"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/record/session"
)

// ShowOptions of kx agent show.
type ShowOptions struct {
	App  *app.App
	Open func() (*session.Store, error)

	ID string
}

// NewShow returns the command; a nil run is the real one.
func NewShow(a *app.App, run func(context.Context, *ShowOptions) error) *app.Command {
	o := &ShowOptions{App: a, Open: func() (*session.Store, error) { return open(a) }}
	if run == nil {
		run = show
	}
	return &app.Command{
		Name:     "show",
		Usage:    "show what a run did",
		What:     "Prints the session and then its events in order. In the JSON formats the first record is the session and the others are its events.",
		Args:     "ID",
		Examples: []app.Example{{Line: "kx agent show a3fk"}, {Line: "kx agent show a3fk -o jsonl | jq -r 'select(.event==\"tool_call\").data.tool'"}},
		Exits:    []app.Exit{{Status: 1, Means: "the session is damaged"}, {Status: 8}},
		Complete: map[string]app.Completer{"": ids(a)},
		Run: func(ctx context.Context, args []string) error {
			o.ID = args[0]
			return run(ctx, o)
		},
	}
}

func show(_ context.Context, o *ShowOptions) error {
	store, err := o.Open()
	if err != nil {
		return err
	}
	m, err := store.Meta(o.ID)
	if err != nil {
		return err
	}
	p := o.App.Printer()
	if p.Format().Data() {
		return out.Each(p, out.Columns[any]{}, func(emit func(any) error) error {
			if err := emit(m.Session); err != nil {
				return err
			}
			for e, err := range store.Events(m.ID) {
				if err != nil {
					return err
				}
				if err := emit(e); err != nil {
					return err
				}
			}
			return nil
		})
	}
	var broken error
	tell := newTeller(false)
	if err := p.Text(func(t *out.Text) {
		t.Printf("%s  %s  %s  mode %s  %s\n", t.Paint(out.Bold, m.ID), m.State, m.Model, m.Mode, m.Workspace)
		for e, err := range store.Events(m.ID) {
			if err != nil {
				broken = fail.As(err)
				continue
			}
			tell.event(t, e)
		}
	}); err != nil {
		return err
	}
	return broken
}
