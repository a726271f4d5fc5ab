package program

import (
	"strings"

	"github.com/kxtools/kx/pkg/policy/shell/effect"
)

// project is the mark of a row whose program runs code of the folder it works in.
const project = "project"

// runsProject reports whether a command runs code of the folder it works in. Words
// that ask for nothing but help or a version run none.
func (r *row) runsProject(args []effect.Word) bool {
	for _, m := range r.marks {
		list, ok := strings.CutPrefix(m, project)
		switch {
		case !ok:
		case list == "":
			return !helps(args)
		case list[0] == ':':
			rest, listed := among(strings.Split(list[1:], ","), args)
			return listed && !helps(rest)
		default:
			_, listed := among(strings.Split(list[1:], ","), args)
			return !listed && !helps(args)
		}
	}
	return false
}

// among reports whether the first word of args is in the list, and returns what
// stands behind it. Flags may stand before it; the word behind a flag may be its
// value.
func among(list []string, args []effect.Word) (rest []effect.Word, ok bool) {
	value := false
	for i, a := range args {
		if !a.Literal {
			return nil, false
		}
		for _, name := range list {
			if a.Text == name {
				return args[i+1:], true
			}
		}
		switch flag := isFlag(a); {
		case flag:
			value = a.Text[0] == '-' && !strings.Contains(a.Text, "=")
		case value:
			value = false
		default:
			return nil, false
		}
	}
	return nil, false
}

// helps reports whether flags before the first operand ask for help or a version.
func helps(args []effect.Word) bool {
	for _, a := range args {
		if !isFlag(a) || a.Text == "--" {
			return false
		}
		if effect.In("--help -h --version -version", a.Text) {
			return true
		}
	}
	return false
}

// isFlag reports whether a word is a flag, or +toolchain.
func isFlag(a effect.Word) bool {
	return len(a.Text) > 1 && (a.Text[0] == '-' || a.Text[0] == '+')
}
