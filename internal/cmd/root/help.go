package root

import (
	"context"
	"slices"

	"github.com/kxtools/kx/internal/base/argv"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/man"
)

// newHelp returns kx help: the same as --help behind the words.
func newHelp(a *app.App) *app.Command {
	return &app.Command{
		Name:  "help",
		Usage: "explain a command",
		What:  "Prints what kx WORD --help prints, or the manual page of a subject: json, state, policy.",
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
		Run: func(ctx context.Context, args []string) error {
			line, err := argv.Normalize(a.Root.Node(), append(slices.Clone(args), "--help"))
			if err != nil && len(args) == 1 && man.Subject(args[0]) {
				return man.New(a, nil).Run(ctx, args)
			}
			if err != nil {
				return err
			}
			path := commands(a.Root, line.Path)
			return a.Printer().Text(func(t *out.Text) { app.Help(t, path) })
		},
	}
}
