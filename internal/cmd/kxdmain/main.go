// Package kxdmain is kxd, the long-lived or heavy half of kx. It picks the verb
// that kx started it with; the verbs themselves live in the packages of their
// nouns. cmd/kxd calls Main.
package kxdmain

import (
	"context"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/signals"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
)

// Verb runs one job of kxd and returns the exit status.
type Verb func(ctx context.Context, args []string, s *term.IO, getenv func(string) string, version string) int

// verbs are the jobs of kxd.
var verbs = map[string]Verb{
	"agent":   runAgent,
	"approve": approve,
	"hook":    postHook,
	"lsp":     languages,
	"screen":  screen,
	"model":   testModel,
}

// Main runs kxd with args, the line without the program's name.
func Main(ctx context.Context, args []string, s *term.IO, getenv func(string) string, version string) int {
	ctx, stop := signals.Until(ctx)
	defer stop()
	if len(args) > 0 {
		if verb := verbs[args[0]]; verb != nil {
			return verb(ctx, args[1:], s, getenv, version)
		}
	}
	err := fail.Usage("kxd is started by kx; users never type it").WithHint("kx help")
	if out.Error(s, out.Auto, err) != nil {
		return fail.Worst(err.Exit, fail.ExitFailed)
	}
	return err.Exit
}

// handed does what a command of kx has handed over, under its globals, and says like it
// how that went. err is why there is nothing to do.
func handed(ctx context.Context, a *app.App, globals app.Globals, err error, do func() error) int {
	site.Hide(a)
	if err == nil {
		if a.Globals = globals; a.Globals.NoColor {
			a.IO.OutColor, a.IO.ErrColor = false, false
		}
		err = do()
	}
	if err == nil {
		return fail.ExitOK
	}
	e := fail.As(signals.Named(ctx, err))
	if out.Error(a.IO, a.Globals.Output, e) != nil {
		return fail.Worst(e.Exit, fail.ExitFailed)
	}
	return e.Exit
}
