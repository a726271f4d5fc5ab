package guard

import (
	"strings"

	"github.com/kxtools/kx/internal/gate/guard/deed"
	"github.com/kxtools/kx/internal/gate/guard/expand"
	"github.com/kxtools/kx/pkg/policy/shell"
)

// maxForms is how many forms of a command are looked at, where variables may have
// several values.
const maxForms = 8

// argv returns the words of a leaf, in every form that they may take. The form in
// which a variable has become several words comes last, if there is one.
func (l *line) argv(leaf *shell.Leaf) (forms [][]string, split bool) {
	count := 1
	words, plain := make([][]string, 0, len(leaf.Words)), make([]bool, 0, len(leaf.Words))
	for _, w := range leaf.Words {
		for _, texts := range l.words.Fields(w) {
			if texts = texts[:min(len(texts), maxForms)]; len(texts) == 0 {
				continue
			}
			count = max(count, len(texts))
			words, plain = append(words, texts), append(plain, w.Literal)
			split = split || !w.Literal && strings.ContainsAny(texts[0], " \t\n")
		}
	}
	for k := range count {
		forms = append(forms, assemble(words, plain, k, false))
	}
	if split {
		forms = append(forms, assemble(words, plain, 0, true))
	}
	return forms, split
}

// assemble puts the k-th texts of the words together. Without its quotes, which are
// not told, a word that is not plain is split at its spaces.
func assemble(words [][]string, plain []bool, k int, split bool) []string {
	argv := make([]string, 0, len(words))
	for i, texts := range words {
		text := texts[min(k, len(texts)-1)]
		known := strings.ReplaceAll(text, expand.Unset, "")
		switch {
		case plain[i]:
			argv = append(argv, text)
		case split || i == 0:
			argv = append(argv, strings.Fields(known)...)
		case known == text || known != "":
			argv = append(argv, known)
		}
	}
	return argv
}

// become returns the names that a computed name of a program may come to: itself
// if it is known, else those of the tables that it can be.
func become(name string) []string {
	if !strings.ContainsAny(name, expand.Wildcards) {
		return []string{name}
	}
	name = base(name)
	if !expand.Sure(name) {
		return nil
	}
	var out []string
	for _, known := range append(deed.Programs(), programs()...) {
		if expand.Glob(name, known) {
			out = append(out, known)
		}
	}
	return out
}
