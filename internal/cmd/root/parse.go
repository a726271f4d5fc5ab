package root

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/argv"
	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
)

// parse gives every flag of the line its value. The parser sees only the
// commands of the path and none of the arguments: it finds nothing to dispatch,
// to suggest or to print by itself.
func parse(ctx context.Context, path []*app.Command, line *argv.Line) error {
	var below []*cli.Command
	for i := len(path) - 1; i > 0; i-- {
		below = []*cli.Command{{
			Name:            path[i].Name,
			Flags:           path[i].Flags,
			Subcommands:     below,
			HideHelp:        true,
			HideHelpCommand: true,
			SkipFlagParsing: path[i].Raw,
			OnUsageError:    badFlag(path[:i+1]),
			Action:          nothing,
		}}
	}
	parser := &cli.App{
		Name:                      path[0].Name,
		Flags:                     path[0].Flags,
		Commands:                  below,
		HideHelp:                  true,
		HideHelpCommand:           true,
		HideVersion:               true,
		DisableSliceFlagSeparator: true,
		OnUsageError:              badFlag(path[:1]),
		Action:                    nothing,
		ExitErrHandler:            func(*cli.Context, error) {},
		Writer:                    io.Discard,
		ErrWriter:                 io.Discard,
	}
	return parser.RunContext(ctx, line.Argv[:len(line.Argv)-len(line.Args)])
}

func nothing(*cli.Context) error { return nil }

// kind says what the value of a flag looks like.
func kind(f cli.Flag) string {
	switch f.(type) {
	case *cli.IntFlag, *cli.Int64Flag, *cli.UintFlag, *cli.Uint64Flag, *cli.IntSliceFlag:
		return "a whole number"
	case *cli.Float64Flag:
		return "a number"
	case *cli.DurationFlag:
		return "a duration such as 30s, 5m or 24h"
	case *cli.TimestampFlag:
		return "a time such as 2006-01-02T15:04:05Z"
	}
	return "another value"
}

// badFlag turns the parser's complaint about a value into ours. It names the
// flag last: `invalid value "x" for flag -wait: parse error`.
func badFlag(path []*app.Command) cli.OnUsageErrorFunc {
	c := path[len(path)-1]
	return func(_ *cli.Context, err error, _ bool) error {
		value, rest, _ := strings.Cut(strings.TrimPrefix(err.Error(), "invalid value "), " for flag -")
		name, _, ok := strings.Cut(rest, ":")
		i := slices.IndexFunc(c.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
		if !ok || i < 0 {
			return fail.Usage("%v", err).WithHint("%s --help", app.Words(path))
		}
		return fail.Usage("--%s: expected %s, got %s", name, kind(c.Flags[i]), value).WithHint("%s --help", app.Words(path))
	}
}

// errorFormat is the format for errors. Where the line was not understood, it
// is what the words seem to ask for.
func errorFormat(a *app.App, args []string) out.Format {
	if a.Globals.Output != "" {
		return a.Globals.Output
	}
	name, ignoreEnv := "", false
	for i, w := range args {
		if w == "--" {
			break
		}
		next := ""
		if i+1 < len(args) {
			next = args[i+1]
		}
		short, isShort := strings.CutPrefix(w, "-")
		short = strings.TrimLeft(short, "qv")
		switch {
		case w == "--json":
			return out.JSON
		case w == "--ignore-env":
			ignoreEnv = true
		case w == "--output", isShort && short == "o":
			name = next
		case strings.HasPrefix(w, "--output="):
			name = w[len("--output="):]
		case isShort && strings.HasPrefix(short, "o"):
			name = strings.TrimPrefix(short[1:], "=")
		}
	}
	a.Globals.IgnoreEnv = a.Globals.IgnoreEnv || ignoreEnv
	if name == "" {
		name = a.Getenv("KX_OUTPUT")
	}
	if f, ok := out.Parse(name); ok {
		return f
	}
	return out.Auto
}
