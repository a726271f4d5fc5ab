package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/root"
)

// The last line of an error is the next command to type, so it must be one:
// every hint in the source that begins with kx names commands and flags that
// there are.
func TestHints(t *testing.T) {
	s, _, _, _ := term.Test()
	tree := root.Tree(app.New(s, func(string) string { return "" }, "test"))
	hints := 0
	for _, dir := range []string{"../../internal", "../../pkg"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if hint := hintOf(n); strings.HasPrefix(hint, "kx ") {
					hints++
					if why := untypable(tree, strings.Fields(hint)[1:]); why != "" {
						t.Errorf("%s: the hint %q: %s", path, hint, why)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if hints < 50 {
		t.Errorf("only %d hints were found", hints)
	}
}

// hintOf returns the literal hint of an error, or "".
func hintOf(n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return ""
	}
	if sel, ok := call.Fun.(*ast.SelectorExpr); !ok || sel.Sel.Name != "WithHint" {
		return ""
	}
	lit, ok := call.Args[0].(*ast.BasicLit)
	if !ok {
		return ""
	}
	hint, _ := strconv.Unquote(lit.Value)
	return hint
}

// untypable says why no command line begins with these words. A verb of the
// format stands for a word that is known only later.
func untypable(c *app.Command, words []string) string {
	path := []*app.Command{c}
	for i, w := range words {
		switch last := path[len(path)-1]; {
		case strings.HasPrefix(w, "%"), w == "...":
			return ""
		case strings.HasPrefix(w, "--"):
			if name, _, _ := strings.Cut(w[2:], "="); !strings.HasPrefix(name, "%") && name != "help" && !flagged(path, name) {
				return "there is no flag " + w
			}
		case last.Child(w) != nil:
			path = append(path, last.Child(w))
		case len(last.Commands) > 0 && last.Args == "" && i > 0 && !strings.HasPrefix(words[i-1], "-"):
			return "there is no command " + w + " of " + app.Words(path)
		case i == 0 && !strings.HasPrefix(w, "-"):
			return "there is no command " + w
		}
	}
	return ""
}

func flagged(path []*app.Command, name string) bool {
	for _, c := range path {
		for _, f := range c.Flags {
			if slices.Contains(f.Names(), name) {
				return true
			}
		}
	}
	return false
}
