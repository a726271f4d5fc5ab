package lsp

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/pkg/wire"
)

// SymbolsOptions of kx lsp symbols.
type SymbolsOptions struct {
	Options
	File, Query string
}

// NewSymbols returns the command; a nil run is the real one.
func NewSymbols(a *app.App, run func(context.Context, *SymbolsOptions) error) *app.Command {
	o := &SymbolsOptions{Options: options(a)}
	if run == nil {
		run = symbols
	}
	return &app.Command{
		Name:     "symbols",
		Usage:    "list the symbols of a file, or find some by name",
		What:     "Prints the symbols of FILE with how they stand in each other, or with --query those of the workspace whose names fit: 100 unless --limit says more.",
		Args:     "[FILE]",
		Flags:    append([]cli.Flag{&cli.StringFlag{Name: "query", Usage: "look for names with `Q` in all of the workspace", Destination: &o.Query}}, o.flags("symbols")...),
		Examples: []app.Example{{Line: "kx lsp symbols internal/clock/clock.go"}, {Line: "kx lsp symbols --query Trunc"}},
		Exits:    exits,
		Complete: map[string]app.Completer{"": app.Files},
		Run: func(ctx context.Context, args []string) error {
			if len(args) > 0 {
				o.File = args[0]
			}
			if err := o.check(); err != nil {
				return err
			}
			if (o.File == "") == (o.Query == "") {
				return fail.Usage("kx lsp symbols needs a file or --query Q, one of the two").WithHint("kx lsp symbols --help")
			}
			return run(ctx, o)
		},
	}
}

func symbols(ctx context.Context, o *SymbolsOptions) error {
	q := wire.CodeQuery{Query: o.Query}
	if o.File != "" {
		var err error
		if q.Path, err = o.file(o.File); err != nil {
			return err
		}
	}
	return o.question(ctx, "symbols", q)
}
