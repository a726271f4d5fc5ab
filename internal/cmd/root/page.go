package root

import (
	"context"
	"slices"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
)

// paged are the commands that a person reads page by page: they print what is there,
// and neither ask nor do anything.
var paged = []string{
	"kx agent context", "kx agent list", "kx agent show", "kx approve list", "kx approve show", "kx audit list", "kx audit show",
	"kx config show", "kx help", "kx host list", "kx model list", "kx policy lint", "kx policy matrix", "kx policy replay", "kx policy rules",
	"kx secret list", "kx session export", "kx tool list", "kx tool show", "kx trust list",
}

// page runs a command; a pager shows what is longer than the screen. With --no-input
// nobody is there to turn pages.
func page(ctx context.Context, a *app.App, path []*app.Command, run func(context.Context) error) error {
	if a.Globals.NoInput || a.Globals.Output.Resolve(a.IO.OutTTY).Data() || !slices.Contains(paged, app.Words(path)) {
		return run(ctx)
	}
	return a.IO.Paged(ctx, run)
}

// help prints the help of a command.
func help(ctx context.Context, a *app.App, path []*app.Command, args []string) error {
	text := func(context.Context) error { return a.Printer().Text(func(t *out.Text) { app.Help(t, path) }) }
	if slices.Contains(args, "--no-input") || a.Getenv("KX_NO_INPUT") != "" { // the line was not read yet
		return text(ctx)
	}
	return a.IO.Paged(ctx, text)
}
