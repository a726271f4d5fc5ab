package guard

import (
	"slices"
	"strings"

	"github.com/kxtools/kx/internal/gate/guard/deed"
	"github.com/kxtools/kx/internal/gate/guard/expand"
	"github.com/kxtools/kx/pkg/policy/shell"
)

// feed collects what the line prints, if it has a command that takes its input
// for code or for the names of files.
func (l *line) feed() {
	eats := false
	for i := range l.script.Leaves {
		leaf := &l.script.Leaves[i]
		eats = eats || readsCode(leaf) || strings.Contains(leaf.Via, "xargs") || leaf.Program() == "read" || deed.Eats(leaf.Program())
	}
	if !eats {
		return
	}
	for _, w := range l.script.Input {
		l.fed = append(l.fed, w.Text)
	}
	for i := range l.script.Leaves {
		switch leaf := &l.script.Leaves[i]; leaf.Program() {
		case "echo", "printf":
			argv := leaf.Argv()
			l.fed = append(l.fed, strings.Join(argv[1:], " "))
		case "find":
			if uses, filtered := found(leaf, leaf.Argv()); !filtered {
				for _, u := range uses {
					l.fed = append(l.fed, u.word.Text)
				}
			}
		}
	}
}

// readsCode reports whether a leaf runs what it reads: from its input, or from a
// command whose output it gets as a file.
func readsCode(leaf *shell.Leaf) bool {
	if leaf.RunsInput() {
		return true
	}
	if p := leaf.Program(); !leaf.Interprets() && p != "source" && p != "." {
		return false
	}
	return slices.ContainsFunc(leaf.Words, func(w shell.Word) bool {
		return strings.HasPrefix(w.Text, "<(") || strings.HasPrefix(w.Text, "/dev/")
	})
}

// runsValue reports whether programs run what a variable holds.
func runsValue(name string) bool {
	for _, part := range []string{"EDITOR", "VISUAL", "PAGER", "COMMAND", "ASKPASS", "BROWSER", "GIT_SSH", "EXTERNAL_DIFF"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// follow collects the folders that the line may move to.
func (l *line) follow() {
	for i := range l.script.Leaves {
		leaf := &l.script.Leaves[i]
		if p := leaf.Program(); p != "cd" && p != "pushd" {
			continue
		}
		for _, w := range leaf.Words[1:] {
			for _, text := range l.words.Expand(w) {
				if text = l.words.Tilde(text); text != "" && text[0] != '-' && expand.Sure(text) || text == "/" {
					l.moves = append(l.moves, text)
				}
			}
		}
	}
}
