// Package completion is kx completion, which prints the script for a shell, and
// the hidden kx __complete, which the scripts ask for proposals.
//
// Invariants: no script evaluates what is typed; it hands the words to kx as
// arguments. kx __complete never fails and opens nothing that the completer of
// a command does not open.
package completion

import (
	"context"
	"slices"
	"strings"

	"github.com/kxtools/kx/completions"
	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/cmd/app"
)

// files are the scripts by the name of their shell.
var files = []struct{ shell, name string }{
	{"bash", "kx.bash"},
	{"zsh", "_kx"},
	{"fish", "kx.fish"},
	{"pwsh", "kx.ps1"},
}

// Options of kx completion.
type Options struct {
	App *app.App

	Shell string
}

// New returns the command; a nil run is the real one.
func New(a *app.App, run func(context.Context, *Options) error) *app.Command {
	o := &Options{App: a}
	if run == nil {
		run = script
	}
	return &app.Command{
		Name:  "completion",
		Usage: "print the completion script for a shell",
		What:  "Prints the script that lets a shell complete kx: commands, flags and their values. SHELL is bash, zsh, fish or pwsh.",
		Args:  "SHELL",
		Examples: []app.Example{
			{Line: "kx completion bash > ~/.local/share/bash-completion/completions/kx"},
			{Line: "kx completion zsh > ~/.zfunc/_kx", Does: "where ~/.zfunc is in $fpath"},
			{Line: "kx completion fish > ~/.config/fish/completions/kx.fish"},
			{Line: "kx completion pwsh >> $PROFILE"},
		},
		Complete: map[string]app.Completer{"": app.Values(shells()...)},
		Run: func(ctx context.Context, args []string) error {
			o.Shell = args[0]
			return run(ctx, o)
		},
	}
}

func shells() []string {
	var names []string
	for _, f := range files {
		names = append(names, f.shell)
	}
	return names
}

func script(_ context.Context, o *Options) error {
	i := slices.Index(shells(), o.Shell)
	if i < 0 {
		return fail.Usage("no completion for the shell %q: expected %s", o.Shell, strings.Join(shells(), ", ")).
			WithHint("kx completion --help")
	}
	text, err := completions.FS.ReadFile(files[i].name)
	if err != nil {
		return err
	}
	return o.App.Printer().Raw(text)
}
