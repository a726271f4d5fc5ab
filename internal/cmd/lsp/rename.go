package lsp

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/call"
	"github.com/kxtools/kx/internal/tools/lsp"
	"github.com/kxtools/kx/pkg/wire"
)

// RenameOptions of kx lsp rename.
type RenameOptions struct {
	Options
	Symbol, Address, New string
	DryRun, Apply        bool
}

// NewRename returns the command; a nil run is the real one.
func NewRename(a *app.App, run func(context.Context, *RenameOptions) error) *app.Command {
	o := &RenameOptions{Options: options(a)}
	if run == nil {
		run = rename
	}
	return &app.Command{
		Name:  "rename",
		Usage: "give something another name everywhere",
		What: `
Gives an identifier the name NEW in all files of the workspace. --dry-run prints the unified diff and changes nothing; --apply makes it a call of apply_patch through the gate: each file is judged, a person sees the diff (4), and the same command again, after it was allowed, changes all of the files or none.

Comments, texts and files of other languages are not searched for the name.
`,
		Args: "[ADDRESS] NEW",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "dry-run", Usage: "print the patch", Destination: &o.DryRun},
			&cli.BoolFlag{Name: "apply", Usage: "apply the patch through the gate", Destination: &o.Apply},
			symbolFlag(&o.Symbol),
		}, o.flags("")...),
		Examples: []app.Example{
			{Line: "kx lsp rename main.go:12:trunc truncate --dry-run"},
			{Line: "kx lsp rename --symbol clock.trunc truncate --apply"},
		},
		Exits: []app.Exit{
			{Status: 1, Means: "the server refuses, as a name that is taken"}, {Status: 2, Means: "usage, or the address may mean several places"}, {Status: 3}, {Status: 4}, {Status: 5},
			{Status: 7, Means: "a file was changed meanwhile"}, {Status: 8, Means: "there is nothing to rename"}, {Status: 124, Means: "the server can't tell yet"},
		},
		Complete: map[string]app.Completer{"": app.Files},
		Run: func(ctx context.Context, args []string) error {
			if o.New = args[len(args)-1]; len(args) > 1 {
				o.Address = args[0]
			}
			if err := o.check(); err != nil {
				return err
			}
			if o.DryRun == o.Apply {
				return fail.Usage("kx lsp rename needs --dry-run or --apply, one of the two").WithHint("kx lsp rename --help")
			}
			return run(ctx, o)
		},
	}
}

func rename(ctx context.Context, o *RenameOptions) error {
	q, err := o.where("rename", o.Symbol, o.Address)
	if err != nil {
		return err
	}
	q.NewName = o.New
	c, err := o.ask("rename", q, true)
	if err != nil {
		return err
	}
	calls, err := o.Open()
	if err != nil {
		return err
	}
	got := o.read(ctx, calls.One(ctx, c))
	if got.err != nil || got.answer == nil {
		return o.show(got, nil)
	}
	diff := func(t *out.Text) { block(t, got.answer.Patch) }
	if o.DryRun {
		return o.show(got, diff)
	}
	input, err := wire.Marshal(map[string]string{"patch": got.answer.Patch})
	if err != nil {
		return err
	}
	r := calls.One(ctx, wire.Call{Tool: "apply_patch", Input: input})
	if got.err = call.Failure(ctx, r); got.err != nil {
		got.answer.ApprovalID = r.ApprovalID
		return o.show(got, diff)
	}
	got.answer.Applied = true
	return o.show(got, func(t *out.Text) {
		done := *got.answer
		done.Patch = ""
		for _, p := range done.Paths {
			t.Printf("%s\n", p)
		}
		block(t, lsp.Text(&done, forPeople()))
	})
}
