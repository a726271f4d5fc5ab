package completion

import (
	"context"
	"strings"

	"github.com/kxtools/kx/internal/base/argv"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/app"
)

// NewComplete returns the hidden command that the scripts call with the words
// behind kx, the last of which is being typed. It prints a proposal a line, its
// help behind a TAB. The proposals ":files" and ":dirs" leave it to the shell to
// complete names of files or directories.
func NewComplete(a *app.App) *app.Command {
	return &app.Command{
		Name:     "__complete",
		Usage:    "propose words for the shell",
		What:     "Prints what may stand in the place of the last WORD.",
		Args:     "-- WORD...",
		Examples: []app.Example{{Line: "kx __complete -- ver"}},
		Hidden:   true,
		Raw:      true,
		Run: func(ctx context.Context, args []string) error {
			if args[0] == "--" {
				args = args[1:]
			}
			var b strings.Builder
			for _, p := range Propose(ctx, a.Root, args) {
				b.WriteString(term.Line(p.Value))
				if p.Help != "" {
					b.WriteString("\t" + term.Line(p.Help))
				}
				b.WriteByte('\n')
			}
			return a.Printer().Raw([]byte(b.String()))
		},
	}
}

// Propose returns what may stand in the place of the last word.
func Propose(ctx context.Context, root *app.Command, words []string) []app.Proposal {
	spot := argv.At(root.Node(), words)
	if spot == nil {
		return nil
	}
	path := []*app.Command{root}
	for _, n := range spot.Path[1:] {
		path = append(path, path[len(path)-1].Child(n.Name))
	}
	c := path[len(path)-1]

	var list []app.Proposal
	switch {
	case spot.Flag != "":
		for _, at := range path {
			if complete := at.Complete[spot.Flag]; complete != nil {
				list = complete(ctx, spot.Word)
			}
		}
	case len(spot.Flags) > 0:
		list = flags(path, spot)
	}
	if spot.Commands {
		for _, s := range c.Visible() {
			list = append(list, app.Proposal{Value: s.Name, Help: s.Usage})
		}
	}
	if complete := c.Complete[""]; spot.Arg && complete != nil {
		list = append(list, complete(ctx, spot.Word)...)
	}
	return matching(list, spot)
}

// flags proposes the long names of the flags that may still be given.
func flags(path []*app.Command, spot *argv.Spot) []app.Proposal {
	usage := map[string]string{}
	for _, c := range path {
		for _, f := range c.Flags {
			_, usage[f.Names()[0]] = app.FlagUsage(f)
		}
	}
	list := []app.Proposal{}
	for _, f := range spot.Flags {
		list = append(list, app.Proposal{Value: f.Dashed(), Help: usage[f.Names[0]]})
	}
	return append(list, app.Proposal{Value: "--help", Help: "print the help"})
}

// matching leaves what begins with the word, and puts before it what the shell
// takes for a part of the same word.
func matching(list []app.Proposal, spot *argv.Spot) []app.Proposal {
	var fits []app.Proposal
	for _, p := range list {
		if p == app.AnyFile || p == app.AnyDir {
			fits = append(fits, p)
		} else if strings.HasPrefix(p.Value, spot.Word) {
			p.Value = spot.Prefix + p.Value
			fits = append(fits, p)
		}
	}
	return fits
}
