package effect

import (
	"path"
	"strings"
)

// Computed reports whether a piece of a word may be made by the shell.
func Computed(s string) bool { return strings.ContainsAny(s, "$`*?[]{}()<>~") }

// MayBeFlag reports whether the shell may make a flag of the word.
func MayBeFlag(w Word) bool {
	if w.Literal || w.Pipe || w.Number || w.In != "" {
		return false
	}
	return !w.Glob || w.Text == "" || strings.IndexByte("*?[@!+", w.Text[0]) >= 0
}

// input reports whether a name stands for the input of the program.
func Input(name string) bool {
	return name == "-" || name == "/dev/stdin" || name == "/dev/fd/0" || strings.HasPrefix(path.Clean(name), "/proc/self/fd/") || strings.HasPrefix(name, "/dev/fd/")
}

func VersionOnly(args []Word) bool {
	if len(args) != 1 {
		return false
	}
	switch args[0].Text {
	case "--version", "-V", "-v", "--help", "-h":
		return args[0].Literal
	}
	return false
}

func Digits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// PrefixIn reports whether a name begins one of the words, as an abbreviated flag
// does.
func PrefixIn(list, name string) bool {
	for w := range strings.SplitSeq(list, " ") {
		if strings.HasPrefix(w, name) {
			return true
		}
	}
	return false
}
