package secret

import (
	"context"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/record/secret"
	"github.com/kxtools/kx/pkg/wire"
)

// RemoveOptions of kx secret rm.
type RemoveOptions struct {
	App   *app.App
	Store func(context.Context) (*secret.Store, error)
	Human func(ctx context.Context, line, question string) (wire.Decider, error)

	Slot string
}

// NewRemove returns the command; a nil run is the real one.
func NewRemove(a *app.App, run func(context.Context, *RemoveOptions) error) *app.Command {
	o := &RemoveOptions{App: a, Store: site.Of(a).Secrets, Human: site.Of(a).Human}
	if run == nil {
		run = remove
	}
	return &app.Command{
		Name:  "rm",
		Usage: "revoke a secret",
		What: `
Takes the value of a slot away, and keeps that it was revoked. Whatever needs it stops working until it is set again. From then on kx does not know the value any more, and does not take it out of what it prints: revoke a key where it was issued, too.

Only a person may do this: on a terminal, or with the approver key in --key FILE.
`,
		Args:     "SLOT",
		Examples: []app.Example{{Line: "kx secret rm model.anthropic.work"}},
		Exits: []app.Exit{
			{Status: fail.ExitDenied, Means: "nobody confirmed it"},
			{Status: fail.ExitNotFound, Means: "the slot was never set"},
		},
		Complete: map[string]app.Completer{"": slots(a)},
		Run: func(ctx context.Context, args []string) error {
			o.Slot = args[0]
			return run(ctx, o)
		},
	}
}

func remove(ctx context.Context, o *RemoveOptions) error {
	if err := secret.Check(o.Slot); err != nil {
		return err
	}
	store, err := o.Store(ctx)
	if err != nil {
		return err
	}
	in, err := store.Info(o.Slot)
	if err != nil {
		return err
	}
	if in.State == secret.Revoked {
		return show(o.App, in)
	}
	by, err := o.Human(ctx, "kx secret rm "+o.Slot, out.Sprintf("Revoke %s? What needs it stops working.", o.Slot))
	if err != nil {
		return err
	}
	if err := record(o.App, "rm", o.Slot, by); err != nil {
		return err
	}
	if err := store.Revoke(o.Slot); err != nil {
		return err
	}
	if in, err = store.Info(o.Slot); err != nil {
		return err
	}
	return show(o.App, in)
}
