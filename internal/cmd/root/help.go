package root

import (
	"context"

	"github.com/kxtools/kx/internal/base/argv"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
)

// newHelp returns kx help: the same as --help behind the words.
func newHelp(a *app.App) *app.Command {
	return &app.Command{
		Name:  "help",
		Usage: "explain a command",
		What:  "Prints what kx WORD --help prints.",
		Args:  "[WORD...]",
		Examples: []app.Example{
			{Line: "kx help"},
			{Line: "kx help completion"},
		},
		Complete: map[string]app.Completer{"": func(context.Context, string) []app.Proposal {
			var list []app.Proposal
			for _, c := range a.Root.Visible() {
				list = append(list, app.Proposal{Value: c.Name, Help: c.Usage})
			}
			return list
		}},
		Run: func(_ context.Context, args []string) error {
			line, err := argv.Normalize(a.Root.Node(), append(args, "--help"))
			if err != nil {
				return err
			}
			path := commands(a.Root, line.Path)
			return a.Printer().Text(func(t *out.Text) { app.Help(t, path) })
		},
	}
}
