package approve

import (
	"context"
	"errors"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/pkg/wire"
)

// WaitOptions of kx approve wait.
type WaitOptions struct {
	App  *app.App
	Open func() (*approval.Store, error)
	Wait func(ctx context.Context, store *approval.Store, id string) error

	ID      string
	Timeout time.Duration
}

// NewWait returns the command; a nil run is the real one.
func NewWait(a *app.App, run func(context.Context, *WaitOptions) error) *app.Command {
	o := &WaitOptions{App: a, Open: func() (*approval.Store, error) { return open(a) }, Wait: site.Of(a).Await}
	if run == nil {
		run = wait
	}
	return &app.Command{
		Name:     "wait",
		Usage:    "wait until a request is answered",
		What:     "Returns when the request is no longer pending, and prints it with its answer.",
		Args:     "ID",
		Flags:    []cli.Flag{&cli.DurationFlag{Name: "timeout", Usage: "give up after `DUR`", Destination: &o.Timeout}},
		Examples: []app.Example{{Line: "kx approve wait 7k2q --timeout 10m"}},
		Exits: []app.Exit{
			{Status: 0, Means: "allowed, answered or used"}, {Status: 3, Means: "denied, expired or cancelled"},
			{Status: 8}, {Status: 124, Means: "still pending when the timeout was over"},
		},
		Complete: map[string]app.Completer{"": ids(a)},
		Run: func(ctx context.Context, args []string) error {
			if o.ID = args[0]; o.Timeout < 0 {
				return fail.Usage("--timeout %s: expected a duration above 0", o.Timeout).WithHint("kx approve wait --help")
			}
			return run(ctx, o)
		},
	}
}

func wait(ctx context.Context, o *WaitOptions) error {
	store, err := o.Open()
	if err != nil {
		return err
	}
	a, err := store.Get(o.ID)
	if err != nil {
		return err
	}
	if o.Timeout > 0 {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, o.Timeout)
		defer cancel()
	}
	if err := o.Wait(ctx, store, a.ID); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return fail.Timeout("request %s is still pending", a.ID).WithHint("kx approve show %s", a.ID)
		}
		return err
	}
	if a, err = store.Get(a.ID); err != nil {
		return err
	}
	if err := print(o.App, a); err != nil {
		return err
	}
	switch a.State {
	case wire.ApprovalDenied, wire.ApprovalExpired, wire.ApprovalCancelled:
		return app.Status(fail.ExitDenied)
	}
	return nil
}
