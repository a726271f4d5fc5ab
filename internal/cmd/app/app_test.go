package app

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/term"
)

func TestArity(t *testing.T) {
	for args, want := range map[string][2]int{
		"": {0, 0}, "SHELL": {1, 1}, "[ID]": {0, 1}, "TOOL [JSON|-]": {1, 2}, "FILE...": {1, -1}, "[ARG...]": {0, -1},
		"NAME -- COMMAND [ARG...]": {2, -1}, "SERVER TOOL [JSON]": {2, 3}, "[SERVER [TOOL]]": {0, 2}, "[FILE ...]": {0, -1},
	} {
		if least, most := arity(args); least != want[0] || most != want[1] {
			t.Errorf("arity(%q) = %d, %d, want %v", args, least, most, want)
		}
	}
}

func TestCheckArgs(t *testing.T) {
	c := &Command{Args: "SERVER TOOL [JSON]"}
	for n, want := range map[int]string{
		0: "kx x needs SERVER TOOL [JSON]", 1: "kx x needs SERVER TOOL [JSON]", 2: "", 3: "", 4: `kx x takes SERVER TOOL [JSON], got "a" too`,
	} {
		err := c.CheckArgs("kx x", strings.Split(strings.Repeat("a", n), "")[:n])
		if got := fail.As(err); (got == nil) != (want == "") || got != nil && (got.Msg != want || got.Exit != fail.ExitUsage) {
			t.Errorf("%d arguments: %v, want %q", n, err, want)
		}
	}
}

func TestParseMode(t *testing.T) {
	for name, want := range map[string]string{
		"default": "default", "acceptEdits": "acceptEdits", "accept-edits": "acceptEdits", "bypass-permissions": "bypassPermissions",
		"plan": "plan", "dont-ask": "dontAsk", "dontAsk": "dontAsk", "DontAsk": "", "accept_edits": "", "": "", "yolo": "",
	} {
		got, err := ParseMode(name)
		if got != want || (err == nil) != (want != "") || err != nil && fail.Exit(err) != fail.ExitUsage {
			t.Errorf("ParseMode(%q) = %q, %v", name, got, err)
		}
	}
}

func TestAllExits(t *testing.T) {
	c := &Command{Exits: []Exit{{Status: 8}, {Status: 3, Means: "deny"}}}
	got := ""
	for _, e := range c.AllExits() {
		got += " " + strings.Fields(e.Means)[0]
	}
	if got != " done usage, deny not" {
		t.Errorf("the exits are%s", got)
	}
}

func TestHelp(t *testing.T) {
	root := &Command{Name: "kx", Flags: []cli.Flag{&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}}}}
	c := &Command{
		Name: "do", Usage: "do it", What: "First.\n\nSecond " + strings.Repeat("word ", 20), Args: "TOOL",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "text", Aliases: []string{"t"}, Value: "none", Usage: "the `TEXT` to do"},
			&cli.StringSliceFlag{Name: "item", Usage: "an `ITEM`"},
			&cli.BoolFlag{Name: "a-very-long-name-of-a-flag", Usage: "last"},
		},
		Examples: []Example{{"kx do x", "does x"}},
		Exits:    []Exit{{Status: 3, Means: "no"}},
		Run:      nil,
		Commands: []*Command{{Name: "shown", Usage: "be seen"}, {Name: "hid", Usage: "be unseen", Hidden: true}},
	}
	s, _, got, _ := term.Test()
	if err := out.New(s, out.Table, false).Text(func(t *out.Text) { Help(t, []*Command{root, c}) }); err != nil {
		t.Fatal(err)
	}
	want := `kx do: do it

First.

Second word word word word word word word word word word word word word word
word word word word word word

USAGE
  kx do COMMAND [ARG...]

COMMANDS
  shown  be seen

FLAGS
  -t, --text TEXT  the TEXT to do (default none)
  --item ITEM      an ITEM; may be repeated
  --a-very-long-name-of-a-flag
                   last

GLOBAL FLAGS
  -q|--quiet · -h|--help
  (kx --help explains them)

EXAMPLES
  kx do x
      does x

EXIT STATUS
    0  done
    2  usage, or an invalid policy or configuration: nothing ran
    3  no
`
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestLog(t *testing.T) {
	for _, c := range []struct {
		g     Globals
		env   string
		tty   bool
		level zerolog.Level
	}{
		{Globals{}, "", false, zerolog.WarnLevel},
		{Globals{Quiet: true}, "debug", false, zerolog.Disabled},
		{Globals{Verbose: 1}, "", false, zerolog.DebugLevel},
		{Globals{Verbose: 2}, "", false, zerolog.TraceLevel},
		{Globals{}, "info", false, zerolog.InfoLevel},
		{Globals{IgnoreEnv: true}, "info", false, zerolog.WarnLevel},
		{Globals{}, "", true, zerolog.WarnLevel},
	} {
		s, _, _, errs := term.Test()
		s.ErrTTY = c.tty
		a := New(s, func(string) string { return c.env }, "")
		a.Globals = c.g
		if got := a.Log().GetLevel(); got != c.level {
			t.Errorf("%+v, KX_LOG=%s: level %v, want %v", c.g, c.env, got, c.level)
		}
		a.Log().Error().Str("page", "\u202e").Msg("m")
		switch {
		case c.level == zerolog.Disabled && errs.Len() > 0:
			t.Errorf("a quiet log says %q", errs)
		case c.tty && !strings.Contains(errs.String(), `\u202e`):
			t.Errorf("on a terminal the log says %q", errs)
		case c.level != zerolog.Disabled && !c.tty && !json.Valid(errs.Bytes()):
			t.Errorf("on a pipe the log says %q", errs)
		}
	}
}
