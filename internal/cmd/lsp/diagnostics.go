package lsp

import (
	"context"
	"strings"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/tools/file/place"
	"github.com/kxtools/kx/internal/tools/lsp"
	"github.com/kxtools/kx/pkg/wire"
)

// DiagnosticsOptions of kx lsp diagnostics.
type DiagnosticsOptions struct {
	Options
	Files []string
}

// NewDiagnostics returns the command; a nil run is the real one.
func NewDiagnostics(a *app.App, run func(context.Context, *DiagnosticsOptions) error) *app.Command {
	o := &DiagnosticsOptions{Options: options(a)}
	if run == nil {
		run = diagnostics
	}
	return &app.Command{
		Name:  "diagnostics",
		Usage: "list errors and warnings",
		What: `
Prints what the language server finds in each FILE, or without one in all files of the workspace: clean (0) or findings (1). Where it can't tell yet the answer is pending (124), and unavailable (5) where there is no server; neither is clean.

Several files are a batch: a document each, and the worst exit status.
`,
		Args:  "[FILE...]",
		Flags: o.flags("findings"),
		Examples: []app.Example{
			{Line: "kx lsp diagnostics web/app.ts"},
			{Line: "kx lsp diagnostics --wait 1m", Does: "all of the workspace"},
			{Line: "kx lsp diagnostics *.py -o jsonl | jq -r .state"},
		},
		Exits: []app.Exit{
			{Status: 0, Means: "clean"}, {Status: 1, Means: "there are findings"}, {Status: 3}, {Status: 4}, {Status: 5, Means: "there is no language server that could tell"},
			{Status: 8, Means: "no such file"}, {Status: 124, Means: "the server can't tell yet"},
		},
		Complete: map[string]app.Completer{"": app.Files},
		Run: func(ctx context.Context, args []string) error {
			o.Files = args
			if err := o.check(); err != nil {
				return err
			}
			return run(ctx, o)
		},
	}
}

func diagnostics(ctx context.Context, o *DiagnosticsOptions) error {
	if len(o.Files) == 0 {
		return o.question(ctx, "diagnostics", wire.CodeQuery{})
	}
	var list []wire.Call
	for _, f := range o.Files {
		path, err := o.file(f)
		if err != nil {
			return err
		}
		c, err := o.ask("diagnostics", wire.CodeQuery{Path: path}, false)
		if err != nil {
			return err
		}
		list = append(list, c)
	}
	calls, err := o.Open()
	if err != nil {
		return err
	}
	if len(list) == 1 {
		return o.show(o.read(ctx, calls.One(ctx, list[0])), nil)
	}
	return o.batch(ctx, calls, list)
}

// batch prints the replies as they come, in the order of the files. What is no answer
// is an error in its place.
func (o *DiagnosticsOptions) batch(ctx context.Context, calls Calls, list []wire.Call) error {
	p, worst, at := o.App.Printer(), fail.ExitOK, 0
	each := func(emit func(any) error) error {
		return calls.All(ctx, list, func(r *wire.Result) error {
			got, file := o.read(ctx, r), o.Files[at]
			at++
			worst = fail.Worst(worst, got.exit())
			if !p.Format().Data() {
				return p.Text(func(t *out.Text) { oneOf(t, file, got) })
			}
			if got.answer == nil {
				return emit(wire.ErrorDoc{Type: "error", V: wire.Version, Error: *got.err.Wire()})
			}
			return emit(got.answer)
		})
	}
	var err error
	if p.Format().Data() {
		err = out.Each(p, out.Columns[any]{}, each)
	} else {
		err = each(nil)
	}
	if err == nil && worst != fail.ExitOK {
		return app.Status(worst)
	}
	return err
}

// oneOf prints the reply to one of several files, which its last line names.
func oneOf(t *out.Text, file string, r reply) {
	var lines []string
	if r.answer != nil {
		if text := lsp.Text(r.answer, forPeople()); text != "" {
			lines = strings.Split(text, "\n")
		}
	}
	name := place.Name(file) + ": "
	if r.err != nil {
		lines = append(lines, name+r.err.Msg)
	} else if n := len(lines); n > 0 {
		lines[n-1] = name + lines[n-1]
	}
	block(t, strings.Join(lines, "\n"))
}
