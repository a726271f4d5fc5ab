package lsp

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/pkg/wire"
)

// Position is a verb that asks about a position.
type Position struct {
	Name, Usage, What string
	Items             string // what its limit counts
	Example           string
}

// positions are those verbs.
var positions = []Position{
	{"hover", "say what something is: its type, and its documentation",
		"Prints what the language server says of an identifier, as Markdown: its type or signature, and its documentation. 2,000 characters unless --limit says more.",
		"characters", "kx lsp hover internal/clock/clock.go:41:6"},
	{"definition", "find where something is defined",
		"Prints where an identifier is defined. A place outside of the workspace, as in a library, is marked; its text is shown only where a rule allows to read there.",
		"places", "kx lsp definition web/app.ts:12:render"},
	{"references", "find all uses of something",
		"Prints all uses of an identifier in the workspace, with its declaration: 50 unless --limit says more.",
		"places", "kx lsp references --symbol clock.Truncate"},
	{"implementation", "find what implements an interface or a method",
		"Prints the implementations of an interface, a trait, an abstract class, or one of their methods.",
		"places", "kx lsp implementation --symbol Store.Get"},
	{"type-definition", "find where the type of something is defined",
		"Prints where the type of an identifier is defined.",
		"places", "kx lsp type-definition main.py:3:config"},
	{"callers", "find what calls a function",
		"Prints the places that call a function or a method, and the function that each stands in.",
		"places", "kx lsp callers src/lib.rs:20:parse"},
}

// PositionOptions of such a verb.
type PositionOptions struct {
	Options
	Verb    string
	Symbol  string
	Address string // an address, or with Symbol a file
}

// exits are the statuses of a question.
var exits = []app.Exit{
	{Status: 0, Means: "there is an answer, which may be that there is nothing"}, {Status: 1, Means: "the server answers with an error, as some do where there is no name"}, {Status: 2, Means: "usage, or the address may mean several places"}, {Status: 3}, {Status: 4},
	{Status: 5, Means: "there is no language server that could tell"}, {Status: 7}, {Status: 8, Means: "no such file, or nothing of that name"},
	{Status: 124, Means: "the server can't tell yet"},
}

// NewPosition returns the command of a verb; a nil run is the real one.
func NewPosition(a *app.App, p Position, run func(context.Context, *PositionOptions) error) *app.Command {
	o := &PositionOptions{Options: options(a), Verb: p.Name}
	if run == nil {
		run = position
	}
	return &app.Command{
		Name: p.Name, Usage: p.Usage, What: p.What,
		Args:     "[ADDRESS]",
		Flags:    append([]cli.Flag{symbolFlag(&o.Symbol)}, o.flags(p.Items)...),
		Examples: []app.Example{{Line: p.Example}},
		Exits:    exits,
		Complete: map[string]app.Completer{"": app.Files},
		Run: func(ctx context.Context, args []string) error {
			if len(args) > 0 {
				o.Address = args[0]
			}
			if err := o.check(); err != nil {
				return err
			}
			return run(ctx, o)
		},
	}
}

func symbolFlag(to *string) cli.Flag {
	return &cli.StringFlag{Name: "symbol", Usage: "what is called `NAME` or CONTAINER.NAME; an argument is then the file to look in", Destination: to}
}

func position(ctx context.Context, o *PositionOptions) error {
	q, err := o.where(o.Verb, o.Symbol, o.Address)
	if err != nil {
		return err
	}
	return o.question(ctx, o.Verb, q)
}

// where is what an address or a symbol means.
func (o *Options) where(verb, symbol, address string) (q wire.CodeQuery, err error) {
	switch {
	case symbol == "" && address == "":
		return q, fail.Usage("kx lsp %s needs an address (FILE:LINE:COL or FILE:LINE:NAME), or --symbol NAME", verb).WithHint("kx lsp %s --help", verb)
	case symbol == "":
		return o.address(address)
	}
	q.Symbol = symbol
	if address != "" {
		q.Path, err = o.file(address)
	}
	return q, err
}
