package root

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/version"
)

// ran is what a run of the fake tree left behind.
type ran struct {
	exit     int
	out, err string
	app      *app.App
	saw      string // what the command was given
}

// fake runs args on a tree with every kind of command.
func fake(t *testing.T, tty bool, env map[string]string, args ...string) ran {
	t.Helper()
	s, _, outBuf, errBuf := term.Test()
	s.OutTTY, s.ErrTTY = tty, tty
	a := app.New(s, func(k string) string { return env[k] }, "1.2.3")
	var r ran
	var text, long string
	var items cli.StringSlice
	var n int
	a.Root = &app.Command{Name: "kx", Usage: "u", What: "w", Flags: a.GlobalFlags(), Exits: everyExit, Commands: []*app.Command{
		version.New(a, nil),
		newHelp(a),
		{Name: "do", Usage: "do it", Args: "TOOL [JSON|-]", Flags: []cli.Flag{
			&cli.StringFlag{Name: "text", Aliases: []string{"t"}, Value: "none", Usage: "the `TEXT`", Destination: &text},
			&cli.StringSliceFlag{Name: "item", Usage: "an `ITEM`", Destination: &items},
			&cli.IntFlag{Name: "num", Aliases: []string{"n"}, Usage: "a `N`", Destination: &n},
			&cli.DurationFlag{Name: "wait", Usage: "a `DUR`"},
			&cli.StringFlag{Name: "end", Usage: "how to `END`", Destination: &long},
		}, Run: func(ctx context.Context, args []string) error {
			r.saw = fmt.Sprintf("%q text=%s items=%q n=%d", args, text, items.Value(), n)
			switch long {
			case "denied":
				return fmt.Errorf("wrapped: %w", fail.Denied("rule", "not allowed").WithHint("kx policy rules"))
			case "plain":
				return errors.New("plain trouble")
			case "status":
				return app.Status(4)
			case "int", "term":
				sig := map[string]syscall.Signal{"int": syscall.SIGINT, "term": syscall.SIGTERM}[long]
				if err := syscall.Kill(os.Getpid(), sig); err != nil {
					return err
				}
				<-ctx.Done()
				return fmt.Errorf("stopped: %w", ctx.Err())
			case "half":
				return out.Each(a.Printer(), out.Columns[version.Doc]{Row: func(version.Doc) []string { return nil }}, func(emit func(version.Doc) error) error {
					return errors.Join(emit(version.Doc{Type: "x"}), fail.Limit("limit", "too many"))
				})
			}
			return nil
		}},
		{Name: "noun", Usage: "hold verbs", Commands: []*app.Command{{Name: "verb", Usage: "v", Run: func(context.Context, []string) error { return nil }}}},
		{Name: "both", Usage: "take verbs and arguments", Args: "[ID]", Run: func(_ context.Context, args []string) error {
			r.saw = fmt.Sprintf("both %q", args)
			return nil
		}, Commands: []*app.Command{{Name: "list", Usage: "l", Run: func(context.Context, []string) error { r.saw = "list"; return nil }}}},
	}}
	r.exit = start(t.Context(), a, args)
	r.out, r.err, r.app = outBuf.String(), errBuf.String(), a
	return r
}

func TestArgumentsReachTheCommand(t *testing.T) {
	for line, want := range map[string]string{
		"do x":                                   `["x"] text=none items=[] n=0`,
		"do x - --json":                          `["x" "-"] text=none items=[] n=0`,
		"--text a do x":                          `["x"] text=a items=[] n=0`,
		"do -n -3 -ta x":                         `["x"] text=a items=[] n=-3`,
		"do --item a,b x --item c":               `["x"] text=none items=["a,b" "c"] n=0`,
		"do -- --json help":                      `["--json" "help"] text=none items=[] n=0`,
		"do help":                                `["help"] text=none items=[] n=0`,
		"do h":                                   `["h"] text=none items=[] n=0`,
		"do --text a text":                       `["text"] text=a items=[] n=0`,
		"do --text= x":                           `["x"] text= items=[] n=0`,
		"do -5":                                  `["-5"] text=none items=[] n=0`,
		"do --generate-bash-completion=false -5": "",
		"both":                                   `both []`,
		"both a3fk -q":                           `both ["a3fk"]`,
		"both -- list":                           `both ["list"]`,
		"both list":                              `list`,
	} {
		if r := fake(t, true, nil, strings.Fields(line)...); r.saw != want {
			t.Errorf("%q: %s\nwant %s\n%s", line, r.saw, want, r.err)
		}
	}
}

func TestErrorsAndStatuses(t *testing.T) {
	for _, c := range []struct {
		line string
		exit int
		err  string
	}{
		{"do", 2, "kx: kx do needs TOOL [JSON|-]\nhint: kx do --help\n"},
		{"do a b c", 2, "kx: kx do takes TOOL [JSON|-], got \"c\" too\nhint: kx do --help\n"},
		{"version x", 2, "kx: kx version takes no arguments, got \"x\"\nhint: kx version --help\n"},
		{"vresion", 2, "kx: unknown command \"vresion\"; did you mean version?\nhint: kx version\n"},
		{"do --num many x", 2, "kx: --num: expected a whole number, got \"many\"\nhint: kx do --help\n"},
		{"do -n many x", 2, "kx: --num: expected a whole number, got \"many\"\nhint: kx do --help\n"},
		{"do --wait 5 x", 2, "kx: --wait: expected a duration such as 30s, 5m or 24h, got \"5\"\nhint: kx do --help\n"},
		{"do --wait a:b x", 2, "kx: --wait: expected a duration such as 30s, 5m or 24h, got \"a:b\"\nhint: kx do --help\n"},
		{"do x --mode plann", 2, "kx: --mode: unknown mode \"plann\"; did you mean plan?\nhint: kx --help\n"},
		{"do x -o yaml", 2, "kx: --output: unknown format \"yaml\": expected auto, json, jsonl, table or md\n"},
		{"do x -o table --json", 2, "kx: --json and --output table contradict each other\n"},
		{"do x --end denied", 3, "kx: not allowed\nhint: kx policy rules\n"},
		{"do x --end plain", 1, "kx: plain trouble\n"},
		{"do x --end status", 4, ""},
		{"do x --end int", 130, "kx: interrupted\n"},
		{"do x --end term", 143, "kx: terminated\n"},
		{"do x -o json --json", 0, ""},
	} {
		r := fake(t, true, nil, strings.Fields(c.line)...)
		if r.exit != c.exit || r.err != c.err || r.out != "" {
			t.Errorf("%q: exit %d, want %d\nstderr %q\n  want %q\nstdout %q", c.line, r.exit, c.exit, r.err, c.err, r.out)
		}
	}
}

func TestErrorsAsData(t *testing.T) {
	const isData = `{"type":"error","v":1,"error":{"code":"`
	for _, c := range []struct {
		line string
		tty  bool
		env  map[string]string
		data bool
	}{
		{"do", true, nil, false},
		{"do", false, nil, true},
		{"do --json", true, nil, true},
		{"do -o jsonl", true, nil, true},
		{"do -o table", false, nil, false},
		{"do", true, map[string]string{"KX_OUTPUT": "json"}, true},
		{"do", false, map[string]string{"KX_OUTPUT": "table"}, false},
		{"do --ignore-env", false, map[string]string{"KX_OUTPUT": "table"}, true},
		{"do -o table", true, map[string]string{"KX_OUTPUT": "json"}, false},
		// The line itself is not understood.
		{"--bogus --json", true, nil, true},
		{"--bogus -o json", true, nil, true},
		{"--bogus -ojson", true, nil, true},
		{"--bogus -qo json", true, nil, true},
		{"--bogus --output=jsonl", true, nil, true},
		{"--bogus --output md", false, nil, false},
		{"--bogus -- --json", true, nil, false},
		{"--bogus -o", true, nil, false},
		{"--bogus", true, map[string]string{"KX_OUTPUT": "json"}, true},
		{"--bogus --ignore-env", true, map[string]string{"KX_OUTPUT": "json"}, false},
		{"noun", false, nil, true},
		{"do x", true, map[string]string{"KX_OUTPUT": "yaml"}, false},
		{"do x", true, map[string]string{"KX_MODE": "never"}, false},
		{"do x", true, map[string]string{"KX_LOG": "loud"}, false},
	} {
		r := fake(t, c.tty, c.env, strings.Fields(c.line)...)
		if r.exit != 2 || r.out != "" || strings.HasPrefix(r.err, isData) != c.data || (c.data && strings.Count(r.err, "\n") != 1) {
			t.Errorf("%q, terminal %v, %v: exit %d, %q", c.line, c.tty, c.env, r.exit, r.err)
		}
	}
	r := fake(t, false, nil, "do", "x", "--end", "half", "--json")
	if r.exit != 6 || r.out != `[{"type":"x","v":0,"version":"","go":"","os":"","arch":""}]`+"\n" || !strings.HasPrefix(r.err, isData+`limit"`) {
		t.Errorf("half a list: %d, %q, %q", r.exit, r.out, r.err)
	}
}

func TestHelpIsAnsweredEverywhere(t *testing.T) {
	for line, want := range map[string]string{
		"":                     "kx: u\n",
		"--help":               "kx: u\n",
		"help":                 "kx: u\n",
		"help noun verb":       "kx noun verb: v\n",
		"noun verb --help":     "kx noun verb: v\n",
		"--help noun":          "kx noun: hold verbs\n",
		"do a b c --num x -h":  "kx do: do it\n",
		"--version":            "kx 1.2.3 (",
		"noun --version":       "kx 1.2.3 (",
		"version --no-color":   "kx 1.2.3 (",
		"help both":            "kx both: take verbs and arguments\n",
		"do --mode never -h x": "kx do: do it\n",
	} {
		r := fake(t, true, nil, strings.Fields(line)...)
		if r.exit != 0 || !strings.HasPrefix(r.out, want) || r.err != "" || r.saw != "" {
			t.Errorf("%q: exit %d, %.60q, %q, ran %s", line, r.exit, r.out, r.err, r.saw)
		}
	}
	r := fake(t, true, nil, "noun")
	if r.exit != 2 || r.out != "" || !strings.HasPrefix(r.err, "kx noun: hold verbs\n") {
		t.Errorf("a bare noun: exit %d, %q, %.60q", r.exit, r.out, r.err)
	}
	if r := fake(t, true, nil, "help", "nuon"); r.exit != 2 || !strings.Contains(r.err, "did you mean noun?") {
		t.Errorf("help for a typo: exit %d, %q", r.exit, r.err)
	}
}

func TestGlobals(t *testing.T) {
	env := map[string]string{"KX_MODE": "accept-edits", "KX_SESSION": "a3fk", "KX_NO_INPUT": "1", "KX_OUTPUT": "md"}
	for _, c := range []struct {
		line string
		env  map[string]string
		want app.Globals
	}{
		{"do x", nil, app.Globals{Output: out.Auto}},
		{"do x", env, app.Globals{Output: out.MD, Mode: "acceptEdits", Session: "a3fk", NoInput: true}},
		{"do x --ignore-env", env, app.Globals{Output: out.Auto, IgnoreEnv: true}},
		{"do x --mode dontAsk --session b --json", env, app.Globals{Output: out.JSON, Mode: "dontAsk", Session: "b", NoInput: true}},
		{"do x", map[string]string{"KX_MODE": "", "KX_NO_INPUT": "", "KX_OUTPUT": "", "KX_SESSION": ""}, app.Globals{Output: out.Auto}},
		{"-C d do -vvq --no-color --no-input --state-dir s --config-dir c --as me --key k --mode bypass-permissions x", nil, app.Globals{
			Dir: "d", Output: out.Auto, Verbose: 2, Quiet: true, NoColor: true, NoInput: true, StateDir: "s", ConfigDir: "c", As: "me", Key: "k", Mode: "bypassPermissions"}},
	} {
		r := fake(t, true, c.env, strings.Fields(c.line)...)
		got := r.app.Globals
		same := cmp.FilterPath(func(p cmp.Path) bool {
			f, ok := p.Index(-1).(cmp.StructField)
			return ok && strings.ToLower(f.Name()[:1]) == f.Name()[:1]
		}, cmp.Ignore())
		if diff := cmp.Diff(c.want, got, same); diff != "" || r.exit != 0 {
			t.Errorf("%q: exit %d, %s\n-want +got:\n%s", c.line, r.exit, r.err, diff)
		}
	}
}

// TestOutputThatCannotBeWritten ends a command and a help with a failure.
func TestOutputThatCannotBeWritten(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for _, args := range [][]string{{"version"}, {"--help"}, {"man"}, {"completion", "bash"}, {"__complete", "--", ""}} {
		s, _, _, errs := term.Test()
		s.Out = term.To(full)
		if exit := Main(t.Context(), args, s, func(string) string { return "" }, "1"); exit != 1 || !strings.Contains(errs.String(), "no space") {
			t.Errorf("%q: exit %d, %s", args, exit, errs)
		}
		s.Err = term.To(full)
		if exit := Main(t.Context(), args, s, func(string) string { return "" }, "1"); exit != 1 {
			t.Errorf("%q, nobody to tell: exit %d", args, exit)
		}
	}
}
