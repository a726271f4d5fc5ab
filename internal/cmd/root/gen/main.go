// Command gen writes what is made from the tree of commands: the man pages of
// section 1 and the completion scripts. "make man completions" runs it and the
// results are committed; its test tells when they are stale.
package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/root"
	"github.com/kxtools/kx/man"
)

// targets are what can be made, and the files that belong to it in its folder.
var targets = map[string]struct {
	make    func() map[string][]byte
	pattern string
}{
	"man":         {pages, "*.1"},
	"completions": {scripts, "*kx*"},
}

func main() {
	if len(os.Args) != 3 || targets[os.Args[1]].make == nil {
		fmt.Fprintln(os.Stderr, "usage: gen man|completions DIR")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// write puts the files of a target into dir and takes away those of commands
// that are gone.
func write(target, dir string) error {
	t := targets[target]
	files := t.make()
	old, err := fs.Glob(os.DirFS(dir), t.pattern)
	if err != nil {
		return err
	}
	for _, name := range old {
		if files[name] == nil {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// tree returns the commands, without anything around them.
func tree() *app.Command {
	s, _, _, _ := term.Test()
	a := app.New(s, func(string) string { return "" }, "")
	a.Root = root.Tree(a)
	return a.Root
}

// handwritten are the pages of the other sections.
func handwritten() []string {
	names, err := fs.Glob(man.FS, "*.[57]")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	return names
}
