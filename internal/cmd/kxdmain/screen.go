package kxdmain

import (
	"context"

	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/app"
	cmdapprove "github.com/kxtools/kx/internal/cmd/approve"
	"github.com/kxtools/kx/internal/cmd/approve/live/tty"
	"github.com/kxtools/kx/internal/cmd/handover"
)

// screen is the screen of kx approve, which becomes this process.
func screen(ctx context.Context, args []string, s *term.IO, getenv func(string) string, version string) int {
	a, spec := app.New(s, getenv, version), &cmdapprove.ScreenSpec{}
	err := handover.Read("screen", args, "kx approve", spec)
	return handed(ctx, a, spec.Globals, err, func() error { return tty.Run(ctx, a, spec.ID) })
}
