package root

import (
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"github.com/kxtools/kx/internal/base/argv"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/app"
)

// tree returns the real tree and the App below it.
func tree() *app.App {
	s, _, _, _ := term.Test()
	a := app.New(s, func(string) string { return "" }, "")
	a.Root = Tree(a)
	return a
}

// TestEveryLevelExplainsItself walks the tree and reads the help of each level.
func TestEveryLevelExplainsItself(t *testing.T) {
	a := tree()
	a.Root.Walk(func(path []*app.Command) {
		c, words := path[len(path)-1], app.Words(path)
		s, _, help, _ := term.Test()
		if err := out.New(s, out.Table, false).Text(func(t *out.Text) { app.Help(t, path) }); err != nil {
			t.Fatal(err)
		}
		sections := []string{"\nUSAGE\n", "\nGLOBAL FLAGS\n", "\nEXAMPLES\n  kx", "\nEXIT STATUS\n    0  "}
		if len(c.Commands) > 0 {
			sections = append(sections, "\nCOMMANDS\n")
		}
		if len(c.Flags) > 0 && len(path) > 1 {
			sections = append(sections, "\nFLAGS\n")
		}
		for _, want := range sections {
			if !strings.Contains(help.String(), want) {
				t.Errorf("kx help for %q lacks %q", words, want)
			}
		}
		if c.Usage == "" || strings.HasSuffix(c.Usage, ".") || strings.ToLower(c.Usage[:1]) != c.Usage[:1] {
			t.Errorf("%s: the usage %q is no line in lower case without a full stop", words, c.Usage)
		}
		if strings.TrimSpace(c.What) == "" || len(c.Examples) == 0 {
			t.Errorf("%s does not say what it does, or has no example", words)
		}
		if c.Run == nil && len(c.Commands) == 0 {
			t.Errorf("%s does nothing", words)
		}
		for _, line := range strings.Split(help.String(), "\n") {
			if len([]rune(line)) > 80 && !strings.HasPrefix(line, "  kx") {
				t.Errorf("%s: a line of the help is too wide: %q", words, line)
			}
		}
	})
}

// TestFlagsAreOnTheirLevelOnly: a flag that stands on two levels of a path could
// not be hoisted, and what a completer is for must exist.
func TestFlagsAreOnTheirLevelOnly(t *testing.T) {
	tree().Root.Walk(func(path []*app.Command) {
		seen := map[string]string{"h": "help", "help": "help"}
		for i, c := range path {
			for _, f := range c.Flags {
				_, usage := app.FlagUsage(f)
				if usage == "" || strings.HasSuffix(usage, ".") {
					t.Errorf("%s: --%s has the usage %q", app.Words(path), f.Names()[0], usage)
				}
				for _, name := range f.Names() {
					if at := seen[name]; at != "" {
						t.Errorf("%s: the flag %s stands at %s and at %s", app.Words(path), name, at, c.Name)
					}
					seen[name] = app.Words(path[:i+1])
				}
			}
		}
		c := path[len(path)-1]
		for name := range c.Complete {
			found := name == "" && c.Args != ""
			for _, f := range c.Flags {
				found = found || f.Names()[0] == name
			}
			if !found {
				t.Errorf("%s completes %q, which it does not take", app.Words(path), name)
			}
		}
		names := map[string]bool{}
		for _, s := range c.Commands {
			if names[s.Name] {
				t.Errorf("%s has two commands %s", app.Words(path), s.Name)
			}
			names[s.Name] = true
		}
	})
}

// TestEveryExampleIsUnderstood reads the examples as a shell does and then as
// kx does, and expects that each shows its own command.
func TestEveryExampleIsUnderstood(t *testing.T) {
	a := tree()
	a.Root.Walk(func(path []*app.Command) {
		for _, e := range path[len(path)-1].Examples {
			file, err := syntax.NewParser().Parse(strings.NewReader(e.Line), "")
			if err != nil {
				t.Errorf("%s: %q: %v", app.Words(path), e.Line, err)
				continue
			}
			own := false
			syntax.Walk(file, func(n syntax.Node) bool {
				call, ok := n.(*syntax.CallExpr)
				if !ok || len(call.Args) == 0 || call.Args[0].Lit() != "kx" {
					return true
				}
				line, err := argv.Normalize(a.Root.Node(), literal(call.Args[1:]))
				if err != nil {
					t.Errorf("%s: %q: %v", app.Words(path), e.Line, err)
					return true
				}
				words := argv.Words(line.Path)
				own = own || strings.HasPrefix(words, app.Words(path))
				cmds := commands(a.Root, line.Path)
				if c := cmds[len(cmds)-1]; !line.Help && c.Run != nil {
					if err := c.CheckArgs(words, line.Args); err != nil {
						t.Errorf("%s: %q: %v", app.Words(path), e.Line, err)
					}
				}
				return true
			})
			if !own {
				t.Errorf("%s: the example %q shows another command", app.Words(path), e.Line)
			}
		}
	})
}

// literal returns what the shell makes of words; what it would expand stays.
func literal(words []*syntax.Word) []string {
	var list []string
	for _, w := range words {
		var b strings.Builder
		syntax.Walk(w, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Lit:
				b.WriteString(n.Value)
			case *syntax.SglQuoted:
				b.WriteString(n.Value)
			case *syntax.ParamExp:
				b.WriteString("$" + n.Param.Value)
				return false
			}
			return true
		})
		list = append(list, b.String())
	}
	return list
}

// What is paged is there, and paged is what prints a list.
func TestPagedCommands(t *testing.T) {
	known := map[string]bool{}
	tree().Root.Walk(func(path []*app.Command) { known[app.Words(path)] = true })
	for _, words := range paged {
		if !known[words] {
			t.Errorf("there is no %s", words)
		}
	}
	for words := range known {
		if (strings.HasSuffix(words, " list") || strings.HasSuffix(words, " show")) && !slices.Contains(paged, words) {
			t.Errorf("%s is not paged", words)
		}
	}
}
