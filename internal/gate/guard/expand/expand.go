// Package expand tells what the words of a command may come to when a shell has
// expanded them, as far as the command itself tells. What it can't tell is marked,
// and stands for anything. It runs nothing; its callers are internal/gate/guard
// and what lies below.
package expand

import (
	"path"
	"strings"

	"github.com/kxtools/kx/pkg/policy/shell"
)

// In the text of a word, what stands for characters that are not known: what a
// variable or a command comes to, and a variable that may not be set at all.
const (
	Unknown = "\x01"
	Unset   = "\x02"
)

const (
	// maxTexts is how many texts a word may come to; what is beyond is not
	// looked at.
	maxTexts = 64
	// maxText is the longest text that is followed: no path is longer.
	maxText = 8 << 10
	// MaxNested is how deep variables are followed into each other, and code
	// into code.
	MaxNested = 4
)

// Words tells what the words of a script may come to.
type Words struct {
	Home, Cwd, Workspace string

	Values []shell.Value // what variables get in it

	spent int
}

// Effort is how much is done for one script: steps of expansion, and bytes of code
// that are taken apart. It is a tenth of a second or so.
const Effort = 1 << 20

// Spend counts effort, and reports whether there is any left. Without, everything
// is unknown.
func (x *Words) Spend(n int) bool {
	x.spent += n
	return x.spent <= Effort
}

// Expand returns the texts of a word. What can't be told of them is marked.
func (x *Words) Expand(w shell.Word) []string {
	if w.Literal || !strings.ContainsAny(w.Text, "$`{(") {
		return []string{w.Text}
	}
	return x.nested(w.Text, 0)
}

// Fields returns the words that a word becomes, each with the texts that it may
// have.
func (x *Words) Fields(w shell.Word) [][]string {
	if w.Literal || !strings.ContainsAny(w.Text, "$`{(") {
		return [][]string{{w.Text}}
	}
	var out [][]string
	for _, t := range braces(w.Text, 0) {
		out = append(out, x.variables(t, 0))
	}
	return out
}

func (x *Words) nested(text string, depth int) []string {
	var out []string
	for _, t := range braces(text, 0) {
		out = append(out, x.variables(t, depth)...)
		if len(out) > maxTexts {
			return out[:maxTexts]
		}
	}
	return out
}

// variables puts values in place of variables and commands.
func (x *Words) variables(text string, depth int) []string {
	out := []string{""}
	add := func(texts ...string) {
		var next []string
		for _, o := range out {
			for _, t := range texts {
				switch {
				case len(next) == maxTexts:
				case len(o)+len(t) > maxText:
					next = append(next, Unknown)
				default:
					next = append(next, o+t)
				}
			}
		}
		out = next
	}
	for text != "" {
		at := strings.IndexAny(text, "$`(")
		if at < 0 {
			add(text)
			break
		}
		switch {
		case text[at] == '(' && at > 0 && strings.IndexByte("@!+*?<>=", text[at-1]) >= 0: // (…) of an extended glob or a process
			add(text[:at-1] + Unknown)
			text = text[at+max(closing(text[at:]), 0)+1:]
			continue
		case text[at] == '(':
			add(text[:at+1])
			text = text[at+1:]
			continue
		}
		add(text[:at])
		text = text[at:]
		var texts []string
		texts, text = x.dollar(text, depth)
		add(texts...)
	}
	return out
}

// dollar returns what the expansion that text begins with comes to, and the text
// behind it.
func (x *Words) dollar(text string, depth int) (texts []string, rest string) {
	switch {
	case !x.Spend(20):
		return []string{Unknown}, ""
	case text[0] == '`':
		end := strings.IndexByte(text[1:], '`')
		if end < 0 {
			return []string{Unknown}, ""
		}
		return x.output(text[1:end+1], depth), text[end+2:]
	case len(text) == 1:
		return []string{text}, ""
	case text[1] == '(':
		end := closing(text[1:])
		if end == 0 {
			return []string{Unknown}, ""
		}
		return x.output(text[2:end+1], depth), text[end+2:]
	case text[1] == '{':
		end := closing(text[1:])
		if end == 0 {
			return []string{Unknown}, ""
		}
		return x.parameter(text[2:end+1], depth), text[end+2:]
	}
	n := nameLen(text[1:])
	if n == 0 {
		return []string{Unknown}, text[2:]
	}
	return x.value(text[1:1+n], depth), text[1+n:]
}

func nameLen(s string) int {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return i
		}
	}
	return len(s)
}

// parameter returns what ${...} comes to.
func (x *Words) parameter(text string, depth int) []string {
	n := nameLen(text)
	name, op := text[:n], text[n:]
	if n == 0 {
		return []string{Unknown}
	}
	if strings.HasPrefix(op, "[") {
		_, op, _ = strings.Cut(op, "]")
	}
	texts := x.value(name, depth)
	op = strings.TrimPrefix(op, ":")
	if op == "" {
		return texts
	}
	switch op[0] {
	case '-', '=', '+':
		if depth < MaxNested {
			texts = append(texts, x.nested(op[1:], depth+1)...)
		}
		return texts
	case '?':
		return append(texts[:0:0], strings.ReplaceAll(strings.Join(texts[:1], ""), Unset, Unknown))
	}
	return append(texts, Unknown)
}

// output returns what a command prints, of the few that are understood.
func (x *Words) output(command string, depth int) []string {
	if depth >= MaxNested || !x.Spend(len(command)) {
		return []string{Unknown}
	}
	words, err := shell.Words(command)
	if err != nil || len(words) == 0 {
		return []string{Unknown}
	}
	switch first := words[0].Text; {
	case first == "pwd":
		return []string{x.Cwd}
	case first == "git" && strings.Contains(command, "--show-toplevel"):
		return []string{x.Workspace}
	case first == "git" && (strings.Contains(command, "-dir") || strings.Contains(command, "--git-path")):
		return []string{x.Workspace + "/.git/" + Unknown}
	case first == "dirname" && len(words) == 2:
		var texts []string
		for _, t := range x.texts(words[1], depth) {
			texts = append(texts, path.Dir(t))
		}
		return texts
	case first == "echo":
		texts := []string{""}
		for i, w := range words[1:] {
			last := x.texts(w, depth)
			if i > 0 {
				texts[0] += " "
			}
			if len(words) == 2 {
				return last
			}
			texts[0] += last[0]
		}
		return texts
	case (first == "which" || first == "command" || first == "printf" || first == "realpath" || first == "readlink") && len(words) > 1:
		return x.texts(words[len(words)-1], depth)
	}
	return []string{Unknown}
}

// texts is Expand for a word inside another, with its ~ expanded.
func (x *Words) texts(w shell.Word, depth int) []string {
	switch {
	case w.Literal:
		return []string{x.Tilde(w.Text)}
	case depth >= MaxNested:
		return []string{Unknown}
	}
	texts := x.nested(w.Text, depth+1)
	for i := range texts {
		texts[i] = x.Tilde(texts[i])
	}
	return texts
}

// given are variables that are set from outside, or by bash itself.
const given = "LANG LC_ALL LC_CTYPE LOGNAME PATH SHELL TMPDIR USER UID EUID PPID RANDOM SECONDS OLDPWD HOSTNAME BASHPID BASH BASH_VERSION OSTYPE HOSTTYPE MACHTYPE LINENO FUNCNAME PIPESTATUS"

// value returns what a variable may hold.
func (x *Words) value(name string, depth int) []string {
	var texts []string
	for _, v := range x.Values {
		if v.Name == name && len(texts) <= maxTexts {
			texts = append(texts, x.texts(v.Word, depth)...)
		}
	}
	switch {
	case name == "HOME":
		return append(texts, x.Home)
	case name == "PWD":
		return append(texts, x.Cwd)
	case len(texts) == 0 && Among(given, name):
		return []string{Unknown}
	case len(texts) == 0:
		return []string{Unset}
	}
	return texts
}

// Tilde expands a ~ in front; another user's home is taken to lie where homes
// do.
func (x *Words) Tilde(text string) string {
	if !strings.HasPrefix(text, "~") {
		return text
	}
	name, rest, below := strings.Cut(text[1:], "/")
	if below {
		rest = "/" + rest
	}
	switch name {
	case "", path.Base(x.Home):
		return x.Home + rest
	case "+":
		return x.Cwd + rest
	case "-":
		return Unknown + rest
	case "root":
		return "/root" + rest
	}
	return "/home/" + name + rest
}
