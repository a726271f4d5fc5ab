package shell

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call walks a simple command and what it wraps.
func (w *walker) call(call *syntax.CallExpr, files []File, unknown string, s scope) []string {
	w.assignValues(call.Assigns, s)
	w.words(s, call.Args...)
	words := make([]Word, len(call.Args))
	for i, arg := range call.Args {
		words[i] = wordOf(arg)
	}
	if why := dangerousAssigns(call.Assigns); why != "" {
		unknown = why
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
	return w.simple(words, files, unknown, s)
}

// simple adds the leaf of a simple command, then those that it runs.
func (w *walker) simple(words []Word, files []File, unknown string, s scope) []string {
	leaf := Leaf{Words: words, Files: files, Unknown: unknown}
	if !words[0].Literal || words[0].Text == "" {
		leaf.Unknown = "the name of the command is computed"
		w.add(leaf, s)
		return nil
	}
	name := path.Base(words[0].Text)
	if wrap, ok := wrappers[name]; ok && !asksWhere(name, words[1:]) {
		inner, why := wrap.inner(words[1:])
		switch {
		case why != "" && wrap.transparent:
			leaf.Unknown = why
		case why != "":
			leaf.Opaque = why
		case inner != nil:
			if wrap.transparent {
				leaf.Kind = Transparent
			}
			w.add(leaf, s)
			dirs := w.simple(inner, nil, "", s.through(name))
			if name == "command" || name == "builtin" {
				return dirs
			}
			return s.dirs // a program of its own can't move this shell
		}
	}
	switch name {
	case "cd":
		leaf.Kind = Neutral
		w.add(leaf, s)
		return changeDir(words[1:], s.dirs)
	case "pushd", "popd":
		w.add(leaf, s)
		return nil
	}
	describe(&leaf, name, words[1:])
	w.add(leaf, s)
	return s.dirs
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
		switch flag := wordOf(a.Value); {
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
			w.values = append(w.values, Value{a.Name.Value, wordOf(a.Value)})
		}
		if a.Index != nil {
			w.arithm(s, a.Index)
		}
		if a.Array != nil {
			for _, el := range a.Array.Elems {
				w.words(s, el.Value)
				if a.Name != nil && el.Value != nil {
					w.values = append(w.values, Value{a.Name.Value, wordOf(el.Value)})
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
			words = append(words, Word{Text: a.Name.Value + "=" + wordOf(a.Value).Text, Literal: wordOf(a.Value).Literal})
		}
	}
	return words
}

// dangerousAssigns returns why an assignment may change what commands do.
func dangerousAssigns(list []*syntax.Assign) string {
	for _, a := range list {
		if a.Name != nil && steers(a.Name.Value) {
			return "it sets " + a.Name.Value + ", which can change what a command runs"
		}
	}
	return ""
}

// Environment variables by which a program can be made to run something else,
// or to read its settings from elsewhere.
var (
	steeringNames = map[string]bool{
		"PATH": true, "IFS": true, "ENV": true, "SHELL": true, "HOME": true, "CDPATH": true, "GLOBIGNORE": true,
		"VISUAL": true, "EDITOR": true, "BROWSER": true, "PAGER": true, "LESSOPEN": true, "LESSCLOSE": true,
		"PS0": true, "PS1": true, "PS2": true, "PS3": true, "PS4": true, "SHELLOPTS": true, "FPATH": true,
		"CC": true, "CXX": true, "LD": true, "AR": true, "CLASSPATH": true, "TMPDIR": true, "TERMINFO": true,
	}
	steeringPrefixes = []string{
		"LD_", "DYLD_", "BASH_", "GIT_", "SSH_", "PYTHON", "PERL", "RUBY", "NODE_", "NPM_", "npm_", "JAVA", "_JAVA",
		"JDK_", "CARGO", "RUST", "GO", "CGO_", "XDG_", "LUA_", "PHP", "DOTNET_", "MAKE", "DOCKER_", "KUBE", "AWS_", "GLIBC_",
		"GCONV", "MALLOC_", "OPENSSL_", "CURL_", "WGET", "MAN", "LESS", "GREP_", "TAR_", "RSYNC_", "PROMPT", "KX_",
	}
	steeringSuffixes = []string{"PAGER", "EDITOR", "_OPTIONS", "_OPTS", "_COMMAND", "_ASKPASS", "FLAGS", "_PRELOAD", "_WRAPPER", "_proxy", "_PROXY"}
)

func steers(name string) bool {
	if steeringNames[name] {
		return true
	}
	for _, p := range steeringPrefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	for _, s := range steeringSuffixes {
		if strings.HasSuffix(name, s) {
			return true
		}
	}
	return false
}
