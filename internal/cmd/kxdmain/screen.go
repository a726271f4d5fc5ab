package kxdmain

import (
	"context"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/signals"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/app"
	cmdapprove "github.com/kxtools/kx/internal/cmd/approve"
	"github.com/kxtools/kx/internal/cmd/approve/live/tty"
	"github.com/kxtools/kx/internal/cmd/handover"
	"github.com/kxtools/kx/internal/cmd/site"
)

// screen is the screen of kx approve, which becomes this process.
func screen(ctx context.Context, args []string, s *term.IO, getenv func(string) string, version string) int {
	a := app.New(s, getenv, version)
	site.Hide(a)
	var spec cmdapprove.ScreenSpec
	err := handover.Read("screen", args, "kx approve", &spec)
	if err == nil {
		if a.Globals = spec.Globals; a.Globals.NoColor {
			s.OutColor, s.ErrColor = false, false
		}
		err = tty.Run(ctx, a, spec.ID)
	}
	if err == nil {
		return fail.ExitOK
	}
	e := fail.As(signals.Named(ctx, err))
	if out.Error(s, a.Globals.Output, e) != nil {
		return fail.Worst(e.Exit, fail.ExitFailed)
	}
	return e.Exit
}
