package completion

import (
	"context"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/completions"
	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/app"
)

func tree() *app.Command {
	echo := func(_ context.Context, word string) []app.Proposal {
		return []app.Proposal{{Value: "a3fk", Help: "an agent"}, {Value: "b" + word}}
	}
	return &app.Command{
		Name:     "kx",
		Flags:    []cli.Flag{&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "as `F`"}, &cli.BoolFlag{Name: "json", Usage: "as data"}, &cli.StringFlag{Name: "C"}},
		Complete: map[string]app.Completer{"output": app.Values("json", "jsonl", "md"), "C": app.Dirs},
		Commands: []*app.Command{
			{Name: "approve", Usage: "answer", Args: "[ID]", Complete: map[string]app.Completer{"": echo}, Commands: []*app.Command{
				{Name: "allow", Usage: "say yes"}, {Name: "__no", Hidden: true},
			}},
			{Name: "read", Usage: "read it", Args: "FILE", Complete: map[string]app.Completer{"": app.Files}},
			{Name: "__complete", Hidden: true},
		},
	}
}

func TestPropose(t *testing.T) {
	for line, want := range map[string]string{
		"":                       "approve=answer read=read it",
		"a":                      "approve=answer",
		"approve ":               "allow=say yes a3fk=an agent b",
		"approve a3":             "a3fk=an agent",
		"approve --json a":       "allow=say yes a3fk=an agent",
		"approve -- a":           "a3fk=an agent",
		"approve a3fk ":          "a3fk=an agent b",
		"approve --":             "--output=as F --json=as data --help=print the help",
		"approve --json --":      "--output=as F --help=print the help",
		"--output ":              "json md jsonl",
		"approve -o js":          "json jsonl",
		"approve --output=jsonl": "--output=jsonl",
		"read x":                 ":files",
		"-C ":                    ":dirs",
		"bogus ":                 "",
		"--bogus ":               "",
		"read -- --":             ":files",
	} {
		words := strings.Split(line, " ")
		got := map[string]bool{}
		for _, p := range Propose(t.Context(), tree(), words) {
			if p.Help != "" {
				p.Value += "=" + p.Help
			}
			got[p.Value] = true
		}
		for w := range got {
			if !strings.Contains(" "+want+" ", " "+w+" ") {
				t.Errorf("%q proposes %q", line, w)
			}
			want = strings.Replace(want, w, "", 1)
		}
		if strings.TrimSpace(want) != "" {
			t.Errorf("%q does not propose %q", line, want)
		}
	}
}

func TestScripts(t *testing.T) {
	for _, f := range files {
		s, _, got, _ := term.Test()
		a := app.New(s, func(string) string { return "" }, "")
		if err := New(a, nil).Run(t.Context(), []string{f.shell}); err != nil {
			t.Fatal(err)
		}
		want, err := completions.FS.ReadFile(f.name)
		if err != nil || got.String() != string(want) || len(want) == 0 {
			t.Errorf("%s: %v, %d bytes", f.shell, err, got.Len())
		}
	}
	s, _, _, _ := term.Test()
	err := New(app.New(s, nil, ""), nil).Run(t.Context(), []string{"tcsh"})
	if fail.Exit(err) != fail.ExitUsage {
		t.Errorf("tcsh: %v", err)
	}
}
