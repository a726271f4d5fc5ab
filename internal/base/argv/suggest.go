package argv

import (
	"slices"
	"strings"
	"unicode"

	"github.com/kxtools/kx/internal/base/fail"
)

// maxHint caps a proposed line: a longer one is no help to read.
const maxHint = 200

// maxEdits caps how far a word may be from the one that is proposed for it.
const maxEdits = 3

// unknownWord is the error for a word that is no command.
func (r *reader) unknownWord(i int) error {
	word := r.words[i]
	shown := strings.TrimPrefix(Words(r.path)+" "+word, r.path[0].Name+" ")
	better := r.near(word)
	if better == "" {
		better = r.path[0].only(word, "")
		if better == "" || len(r.path) > 1 {
			return fail.Usage("unknown command %q", shown).WithHint("%s --help", Words(r.path))
		}
	}
	return fail.Usage("unknown command %q; did you mean %s?", shown, better).WithHint("%s", r.instead(i, better))
}

// only returns the path to the command of that name if there is exactly one,
// for those who type the verb and forget the noun.
func (n *Node) only(name, above string) string {
	found := ""
	for _, c := range n.Nodes {
		at := strings.TrimPrefix(above+" "+c.Name, " ")
		if c.Name != name {
			at = c.only(name, at)
		}
		if at != "" && found != "" {
			return ""
		}
		found += at
	}
	return found
}

// unknownFlag notes a flag that nobody on the path, or below, defines.
func (r *reader) unknownFlag(i int, name string) {
	word := r.words[i]
	shown := "-" + name
	if strings.HasPrefix(word, "--") {
		shown = "--" + name
	}
	var names []string
	for _, n := range r.path {
		names = append(names, n.long()...)
	}
	if len(r.node().Nodes) > 0 {
		names = append(names, r.node().longBelow()...)
	}
	typed := strings.TrimLeft(word, "-")
	typed, value, eq := strings.Cut(typed, "=")
	better := Nearest(typed, names)
	if better == "" || len(typed) < 2 {
		r.complain(fail.Usage("unknown flag %s", shown).WithHint("%s --help", Words(r.path)))
		return
	}
	if eq {
		value = "=" + value
	}
	if !strings.HasPrefix(word, "--") {
		shown = "-" + typed
	}
	r.complain(fail.Usage("unknown flag %s; did you mean --%s?", shown, better).
		WithHint("%s", r.instead(i, "--"+better+value)))
}

func (n *Node) long() []string {
	names := []string{"help"}
	for _, f := range n.flags() {
		for _, name := range f.Names {
			if len(name) > 1 {
				names = append(names, name)
			}
		}
	}
	return names
}

func (n *Node) longBelow() []string {
	var names []string
	for _, c := range n.Nodes {
		names = append(append(names, c.long()...), c.longBelow()...)
	}
	return names
}

func (r *reader) needsValue(name string) {
	r.wants = name
	r.complain(fail.Usage("%s needs a value", dashed(name)).WithHint("%s --help", Words(r.path)))
}

// mistyped reports whether the first argument of a node with children was to be one
// of them: what follows, another argument or a flag of a child, says so.
func (r *reader) mistyped() bool {
	n := r.node()
	return len(n.Nodes) > 0 && len(r.args) > 0 && !r.ended && r.near(r.args[0]) != ""
}

// near is the child of the last node that a word is close to.
func (r *reader) near(word string) string {
	var names []string
	for _, c := range r.node().Nodes {
		if !strings.HasPrefix(c.Name, "_") {
			names = append(names, c.Name)
		}
	}
	return Nearest(word, names)
}

// misplaced is the error for a flag of another command.
func (r *reader) misplaced(g given) error {
	if r.mistyped() {
		return r.unknownWord(r.first)
	}
	r.err = nil
	r.unknownFlag(g.at, g.name)
	return r.err
}

// complain keeps the first error: help, wherever it stands, goes before it.
func (r *reader) complain(err *fail.Error) {
	if r.err == nil {
		r.err = err
	}
}

// instead is the line with another word at i, or the way to the help when that
// would be long or unfit to be typed.
func (r *reader) instead(i int, word string) string {
	words := slices.Clone(r.words)
	words[i] = ""
	line := r.path[0].Name
	for k, w := range words {
		if k == i {
			line += " " + word
			continue
		}
		line += " " + Quote(w)
	}
	if len(line) > maxHint || strings.ContainsFunc(line, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return Words(r.path) + " --help"
	}
	return line
}

// Quote writes a word so that a shell reads it back unchanged.
func Quote(w string) string {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@%+,"
	if w != "" && strings.Trim(w, safe) == "" {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// Nearest returns the name that word is most likely a slip of, or "": the only
// one that it begins, or the closest within a third of its letters. Of two that
// are equally close the first in order is taken.
func Nearest(word string, names []string) string {
	const shortest = 2 // fewer letters begin almost anything
	begins := ""
	for _, n := range names {
		if len(word) >= shortest && strings.HasPrefix(n, word) {
			if begins != "" && begins != n {
				begins = ""
				break
			}
			begins = n
		}
	}
	if begins != "" {
		return begins
	}
	best, nearest := min((len(word)+1)/3, maxEdits)+1, ""
	for _, n := range names {
		if len(n) > len(word)+maxEdits || len(word) > len(n)+maxEdits {
			continue
		}
		if d := distance(word, n); d < best {
			best, nearest = d, n
		}
	}
	return nearest
}

// distance counts the letters that were added, left out, changed or swapped
// with their neighbour.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
