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
)

// Verb runs one job of kxd and returns the exit status.
type Verb func(ctx context.Context, args []string, s *term.IO, getenv func(string) string, version string) int

// verbs are the jobs of kxd.
var verbs = map[string]Verb{
	"agent":   runAgent,
	"approve": approve,
	"hook":    postHook,
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
