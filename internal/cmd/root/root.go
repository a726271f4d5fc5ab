// Package root is kx: it puts the tree of commands together, reads the command
// line, runs the command that it names and turns the end into an exit status.
//
// Invariants: errors are printed here and nowhere else, once; every exit status
// comes from internal/base/fail; nothing is opened before a command asks for it.
// cmd/kx calls Main.
package root

import (
	"context"
	"errors"

	"github.com/kxtools/kx/internal/base/argv"
	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/signals"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
)

// Main runs kx with args, the line without the program's name, and returns the
// exit status.
func Main(ctx context.Context, args []string, s *term.IO, getenv func(string) string, version string) int {
	a := app.New(s, getenv, version)
	a.Root = Tree(a)
	site.Hide(a)
	return start(ctx, a, args)
}

// start runs the line on the tree of a.
func start(ctx context.Context, a *app.App, args []string) int {
	ctx, stop := signals.Until(ctx)
	defer stop()
	err := run(ctx, a, args)
	if err == nil {
		return fail.ExitOK
	}
	if status := app.Status(0); errors.As(err, &status) {
		return int(status)
	}
	e := fail.As(signals.Named(ctx, err))
	if out.Error(a.IO, errorFormat(a, args), e) != nil {
		return fail.Worst(e.Exit, fail.ExitFailed) // nobody can be told more
	}
	return e.Exit
}

// run reads the line and does what it says.
func run(ctx context.Context, a *app.App, args []string) error {
	line, err := argv.Normalize(a.Root.Node(), args)
	if err != nil {
		return err
	}
	path := commands(a.Root, line.Path)
	if line.Help {
		return help(ctx, a, path, args)
	}
	if err := parse(ctx, path, line); err != nil {
		return err
	}
	if err := a.Settle(); err != nil {
		return err
	}
	c := path[len(path)-1]
	switch {
	case a.Globals.WantsVersion():
		return a.Root.Child("version").Run(ctx, nil)
	case c.Run != nil:
		if err := c.CheckArgs(app.Words(path), line.Args); err != nil {
			return err
		}
		return page(ctx, a, path, func(ctx context.Context) error { return c.Run(ctx, line.Args) })
	case c == a.Root:
		return help(ctx, a, path, args)
	}
	return bare(a, path)
}

// bare answers a noun that needs a verb.
func bare(a *app.App, path []*app.Command) error {
	err := fail.Usage("%s needs a command", app.Words(path)).WithHint("%s --help", app.Words(path))
	if a.Globals.Output.Resolve(a.IO.OutTTY).Data() {
		return err
	}
	toErr := *a.IO
	toErr.Out, toErr.OutColor = a.IO.Err, a.IO.ErrColor
	if out.New(&toErr, out.Table, false).Text(func(t *out.Text) { app.Help(t, path) }) != nil {
		return err
	}
	return app.Status(err.Exit)
}

// commands returns the commands that the nodes of a path stand for.
func commands(root *app.Command, nodes []*argv.Node) []*app.Command {
	path := []*app.Command{root}
	for _, n := range nodes[1:] {
		path = append(path, path[len(path)-1].Child(n.Name))
	}
	return path
}
