package agent

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/signals"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/agent/tell"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/pkg/wire"
)

// Stream prints what a run emits as it happens: its events, and the run at the end.
// How it ended is said by the error that it ends with, or by nothing.
func Stream(ctx context.Context, a *app.App, run func(emit func(any) error) error) error {
	if a.Printer().Format().Data() {
		return records(a, run)
	}
	p, live := a.Printer(), tell.NewLive(a.Now)
	var status *term.Status
	if !a.Globals.Quiet {
		status = a.IO.Status(func(cells int) string { return live.Status(cells, ctx.Err() != nil) })
	}
	live.Footed = status != nil
	defer status.Close()
	stopping := context.AfterFunc(ctx, status.Redraw)
	defer stopping()
	var killed atomic.Bool // what happens from now on nobody is told
	calm := signals.Last(ctx, func() {
		killed.Store(true)
		status.Close()
		if id := live.Session(); id != "" {
			_ = out.Error(a.IO, a.Globals.Output, fail.New("killed", fail.ExitInterrupted, "killed").WithHint("kx agent resume %s", id))
		}
	})
	err := run(func(doc any) error {
		e, ok := doc.(wire.Event)
		if !ok || killed.Load() {
			return nil
		}
		err := p.Text(func(t *out.Text) { live.Event(t, e) })
		status.Redraw()
		return err
	})
	if !calm() {
		select {} // the last word has been said, and this process is about to be killed
	}
	return err
}

// records prints what a run emits for programs. Whoever watches them is told at once
// what waits.
func records(a *app.App, run func(emit func(any) error) error) error {
	var failed error
	told := map[string]bool{}
	err := out.Each(a.Printer(), out.Columns[any]{}, func(emit func(any) error) error {
		failed = run(func(doc any) error {
			e, _ := doc.(wire.Event)
			switch e.Event {
			case "approval":
				a.Note("⏸ %s", tell.Waiting(e.Data))
			case "turn_start":
				for _, loss := range tell.Losses(e.Data) {
					if !told[loss] {
						told[loss] = true
						a.Note("%s", loss)
					}
				}
			}
			return emit(doc)
		})
		return nil
	})
	return errors.Join(err, failed)
}
