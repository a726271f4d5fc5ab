package shell

import (
	"fmt"
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/kxtools/kx/pkg/policy/shell/effect"
	"github.com/kxtools/kx/pkg/policy/shell/program"
	"github.com/kxtools/kx/pkg/policy/shell/word"
)

// call walks a simple command and what it wraps.
func (w *walker) call(call *syntax.CallExpr, files []File, unknown string, s scope) []string {
	w.assignValues(call.Assigns, s)
	w.words(s, call.Args...)
	written, plain := make([]Word, len(call.Args)), true
	for i, arg := range call.Args {
		written[i] = word.Of(arg)
		plain = plain && written[i].Literal
	}
	words := written
	if !plain {
		words = make([]Word, 0, len(call.Args))
		for _, arg := range call.Args {
			words = word.All(words, arg)
		}
	}
	if len(words) > 0 && (words[0].Text == "[" || words[0].Text == "test") && len(words) == len(call.Args) {
		for i, arg := range call.Args {
			words[i].Number = !words[i].Literal && w.number(arg)
		}
	}
	if why := dangerousAssigns(call.Assigns); why != "" {
		unknown = why
	}
	if len(call.Args) > 0 && call.Args[0].Lit() == "in" {
		unknown = "in is a word of bash's own" // bash can't parse it
	}
	if len(words) == 0 {
		// x=1 alone; the redirects of such a line are still opened.
		if len(call.Assigns) > 0 {
			w.add(Leaf{Kind: Neutral, Files: files, Unknown: unknown, Words: assignWords(call.Assigns)}, s)
		} else {
			w.add(Leaf{Files: files, Unknown: unknown}, s)
		}
		return s.dirs
	}
	at := len(w.leaves)
	after := w.simple(words, files, unknown, s)
	if len(words) != len(written) {
		w.spread = true
		w.leaves[at].Words, w.leaves[at].Spread = written, words
	}
	return after
}

// simple adds the leaf of a simple command, then those that it runs.
func (w *walker) simple(words []Word, files []File, unknown string, s scope) []string {
	leaf := Leaf{Words: words, Files: files, Unknown: unknown}
	first := words[0]
	if !first.Literal || first.Text == "" {
		leaf.Unknown = "the name of the command is computed"
		w.add(leaf, s)
		return nil
	}
	if !plainName(first.Text) {
		leaf.Unknown = "the name of the command has characters that look like others"
	}
	name := path.Base(first.Text)
	switch name {
	case "cd":
		leaf.Kind = Neutral
		w.add(leaf, s)
		return changeDir(words[1:], s.dirs)
	case "pushd", "popd":
		w.add(leaf, s)
		return nil
	}
	e := program.Describe(name, words[1:])
	leaf.Files = append(leaf.Files, e.Files...)
	leaf.Operands, leaf.URLs, leaf.Plain, leaf.Opaque, leaf.Unlisted = e.Operands, e.URLs, e.Plain, e.Opaque, e.Unlisted
	leaf.Scripts, leaf.Project = e.Scripts, e.Project
	if e.Unknown != "" {
		leaf.Unknown = e.Unknown
	}
	switch {
	case e.Neutral:
		leaf.Kind = Neutral
	case e.Through && len(e.Runs) > 0:
		leaf.Kind = Transparent
	}
	own := s
	if e.Dir != nil && len(e.Runs) == 0 {
		own.dirs = changeDir([]Word{*e.Dir}, s.dirs)
		own.inDir(e.Dir, s.dirs, &leaf)
	}
	at := w.add(leaf, own)
	return w.runs(at, name, &e, s)
}

// inDir keeps the folder itself as it is seen from where the command stands.
func (s *scope) inDir(dir *Word, from []string, leaf *Leaf) {
	for i := range leaf.Files {
		f := &leaf.Files[i]
		if f.Path == *dir && !f.Write && s.dirs != nil {
			f.Path.Text = "."
		}
	}
	if s.dirs == nil && from != nil {
		leaf.Unknown = "the folder it works in can't be told"
	}
}

// runs walks what a command runs, and returns the folders behind it.
func (w *walker) runs(at int, name string, e *effect.Effects, s scope) []string {
	after := s.dirs
	in := s.through(name)
	for _, r := range e.Runs {
		to := in
		to.far = s.far || r.Far
		if r.Dir != nil {
			to.dirs = changeDir([]Word{*r.Dir}, s.dirs)
		}
		switch {
		case r.Input:
			w.leaves[at].stdin = true
			if s.input == nil || !w.code(s.input.text, r.Posix, to) || !s.input.sure {
				w.opaque(at, effect.StdinCode)
			}
		case r.Code != nil:
			if name == "eval" || name == "trap" {
				to.dirs = w.loop(to).dirs
			}
			if !w.code(*r.Code, r.Posix, to) {
				w.opaque(at, effect.InlineCode)
			}
		default:
			if to.depth++; to.depth > maxNested {
				w.add(Leaf{Words: r.Argv, Unknown: "its commands are wrapped too often"}, to)
				continue
			}
			dirs := w.simple(r.Argv, nil, "", to)
			if name == "command" || name == "builtin" {
				after = dirs
			}
		}
	}
	switch name {
	case "alias":
		for _, word := range w.leaves[at].Words[1:] {
			if _, text, ok := strings.Cut(word.Text, "="); ok {
				w.code(Word{Text: text, Literal: word.Literal}, false, in)
			}
		}
	case "source", ".":
		// It moves this shell, and may get its code from the input.
		if len(w.leaves[at].Words) > 1 && w.leaves[at].Opaque == effect.StdinCode && s.input != nil {
			w.code(s.input.text, false, in)
		}
		return w.loop(s).dirs
	case "eval", "trap":
		return w.loop(s).dirs
	}
	return after // a program of its own can't move this shell
}

func (w *walker) opaque(at int, why string) {
	if l := &w.leaves[at]; l.Opaque == "" {
		l.Opaque = why
	}
}

const (
	// maxDepth is how deep code in code is followed.
	maxDepth = 8
	// maxCode is how much text of code in code is taken apart for one script.
	maxCode = 8 * MaxLength
)

// code walks code that a shell is given, and reports whether it is understood:
// whether the leaves are all that it runs. What another shell than bash is given
// has to be the same to both.
func (w *walker) code(text Word, posix bool, s scope) bool {
	w.read += len(text.Text)
	if w.depth == maxDepth || w.read > maxCode {
		return false
	}
	w.depth++
	defer func() { w.depth-- }()
	stmts, err := parse(text.Text, syntax.LangBash)
	tree := w.tree
	w.tree, w.spread = stmts, false
	w.stmts(stmts, s)
	w.tree = tree
	ok := err == nil && text.Literal && strings.IndexByte(text.Text, '\r') < 0 && strings.IndexByte(text.Text, 0) < 0
	if !ok || !posix {
		return ok
	}
	other, err := parse(text.Text, syntax.LangPOSIX)
	if err != nil || w.spread {
		return false // of words in braces, too
	}
	if !same(stmts, other) {
		w.tree = other
		w.stmts(other, s)
		w.tree = tree
	}
	return true
}

// same reports whether two readings of a text come to the same.
func same(a, b []*syntax.Stmt) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if word.Source(a[i]) != word.Source(b[i]) || shape(a[i]) != shape(b[i]) {
			return false
		}
	}
	return true
}

// shape is the kinds of what a statement is made of: [[ a < b ]] is a test to one
// shell and a command with a redirect to another.
func shape(st *syntax.Stmt) string {
	var b strings.Builder
	syntax.Walk(st, func(n syntax.Node) bool {
		fmt.Fprintf(&b, "%T ", n)
		return true
	})
	return b.String()
}

// plainName reports whether people can't take the name of a program for another.
func plainName(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// changeDir returns the folders that cd leads to, nil if that can't be told.
func changeDir(args []Word, from []string) []string {
	for len(args) > 0 && args[0].Literal && (args[0].Text == "--" || args[0].Text == "-L" || args[0].Text == "-P") {
		args = args[1:]
	}
	switch {
	case len(args) == 0:
		return []string{"~"}
	case len(args) > 1, !args[0].Literal, args[0].Text == "", strings.HasPrefix(args[0].Text, "-"):
		return nil
	case from == nil && !rooted(args[0].Text):
		return nil
	case rooted(args[0].Text):
		return []string{args[0].Text}
	}
	var to []string
	for _, d := range from {
		to = append(to, Join(d, args[0].Text))
	}
	return to
}

func rooted(p string) bool {
	return strings.HasPrefix(p, "/") || p == "~" || strings.HasPrefix(p, "~/")
}

// Join returns p as it is seen from dir; a rooted p (/x, ~/x) stays as it is.
// Nothing is cleaned: x/.. is the parent of what x links to.
func Join(dir, p string) string {
	if dir == "" || rooted(p) {
		return p
	}
	return dir + "/" + p
}

// assigns walks a declaration such as export PATH=x.
func (w *walker) assigns(list []*syntax.Assign, files []File, s scope) {
	w.assignValues(list, s)
	leaf := Leaf{Kind: Neutral, Files: files, Unknown: dangerousAssigns(list), Words: assignWords(list)}
	for _, a := range list {
		if a.Name != nil || a.Value == nil {
			continue
		}
		switch flag := word.Of(a.Value); {
		case !flag.Literal:
			leaf.Unknown = "a declaration that is computed"
		case strings.HasPrefix(flag.Text, "-") && strings.ContainsAny(flag.Text, "in"):
			leaf.Unknown = "a declaration whose values bash evaluates"
		}
	}
	w.add(leaf, s)
}

func (w *walker) assignValues(list []*syntax.Assign, s scope) {
	for _, a := range list {
		w.words(s, a.Value)
		if a.Name != nil && a.Value != nil {
			w.values = append(w.values, Value{a.Name.Value, word.Of(a.Value)})
		}
		if a.Index != nil {
			w.arithm(s, a.Index)
		}
		if a.Array != nil {
			for _, el := range a.Array.Elems {
				w.words(s, el.Value)
				if a.Name != nil && el.Value != nil {
					w.values = append(w.values, Value{a.Name.Value, word.Of(el.Value)})
				}
				if el.Index != nil {
					w.arithm(s, el.Index)
				}
			}
		}
	}
}

func assignWords(list []*syntax.Assign) []Word {
	var words []Word
	for _, a := range list {
		if a.Name != nil {
			words = append(words, Word{Text: a.Name.Value + "=" + word.Of(a.Value).Text, Literal: word.Of(a.Value).Literal})
		}
	}
	return words
}

// dangerousAssigns returns why an assignment may change what commands do.
func dangerousAssigns(list []*syntax.Assign) string {
	for _, a := range list {
		if a.Name != nil && effect.Steers(a.Name.Value) {
			return "it sets " + a.Name.Value + ", which can change what a command runs"
		}
	}
	return ""
}
