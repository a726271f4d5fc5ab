// Package language describes the programs whose arguments are a language of their
// own: shells, find, sed, awk, tar, git, dd, test. What the table of
// pkg/policy/shell/program can say is said there; its caller is that package.
package language

import (
	"strings"

	"github.com/kxtools/kx/pkg/policy/shell/effect"
)

// special are the programs that it knows, beside the shells.
var special = map[string]func(*effect.Effects, string, []effect.Word){
	"find": find, "sed": sed, "gsed": sed, "dd": dd, "tar": tar, "gtar": tar, "bsdtar": tar, "git": git,
	"set": option, "shopt": option, "test": test, "[": test,
	"awk": awk, "gawk": awk, "mawk": awk, "nawk": awk, "original-awk": awk,
}

// Has reports whether a program has a language of its own.
func Has(name string) bool { return special[name] != nil || IsShell(name) }

// Describe adds what a program does, and reports whether it knows it.
func Describe(e *effect.Effects, name string, args []effect.Word) bool {
	switch fn := special[name]; {
	case fn != nil:
		fn(e, name, args)
	case IsShell(name):
		shell(e, name, args)
	default:
		return false
	}
	return true
}

// IsShell reports whether a program is a shell whose language is that of bash, as
// far as the words of commands go.
func IsShell(name string) bool {
	return effect.In("sh bash dash ash zsh ksh mksh rbash", name)
}

// shell is a shell with its own flags: code, a file of code, or its input.
func shell(e *effect.Effects, name string, args []effect.Word) {
	code, reads := false, false
	i := 0
	for ; i < len(args); i++ {
		a := args[i]
		if !a.Literal && (effect.Computed(a.Text[:min(1, len(a.Text))]) || a.Text != "" && a.Text[0] == '-') {
			e.Opaque = effect.InlineCode
			return
		}
		if len(a.Text) < 2 || a.Text[0] != '-' && a.Text[0] != '+' || a.Text == "--" {
			if a.Text == "--" || a.Text == "-" {
				i++
			}
			break
		}
		flag, value, attached := strings.Cut(a.Text, "=")
		switch {
		case flag == "--rcfile" || flag == "--init-file":
			e.Opaque = effect.InlineCode
			if attached {
				e.Operands = append(e.Operands, effect.Word{Text: value, Literal: true})
			} else if i++; i < len(args) {
				e.Operands = append(e.Operands, args[i])
			}
		case strings.HasPrefix(flag, "--"):
			if !effect.In("--norc --noprofile --posix --login --verbose --noediting --restricted --version --help --debugger --dump-strings", flag) {
				e.Opaque = effect.InlineCode
			}
		default:
			code = code || a.Text[0] == '-' && strings.Contains(flag, "c")
			reads = reads || strings.Contains(flag, "s")
			if strings.ContainsAny(flag, "oO") {
				i++ // the name of an option
			}
			if strings.Contains(flag, "D") || strings.Contains(flag, "i") {
				e.Opaque = effect.InlineCode
			}
		}
	}
	other := name != "bash" && name != "rbash"
	if effect.In("zsh ksh mksh", name) {
		e.Opaque = "it is code of another shell" // a little of it means something else
	}
	rest := args[min(i, len(args)):]
	switch {
	case code && len(rest) == 0, len(rest) == 0 && effect.VersionOnly(args):
	case code:
		e.Runs = append(e.Runs, effect.Run{Code: &rest[0], Posix: other})
	case reads || len(rest) == 0 || rest[0].Literal && effect.Input(rest[0].Text):
		e.Runs = append(e.Runs, effect.Run{Input: true, Posix: other})
	case !rest[0].Literal:
		e.Opaque = "which code it runs can't be told"
		e.Operands = append(e.Operands, rest[0])
	default:
		e.Read(rest[0])
		e.Scripts = append(e.Scripts, rest[0])
	}
	for j, w := range rest {
		if j > 0 || code {
			e.Operands = append(e.Operands, w)
		}
	}
	if code && len(rest) > 0 {
		e.Operands = e.Operands[:len(e.Operands)-len(rest)]
		e.Operands = append(e.Operands, rest[1:]...)
	}
}

// test compares: it evaluates nothing but the name behind -v or -R.
func test(e *effect.Effects, _ string, args []effect.Word) {
	const operators = "= == != < > -eq -ne -lt -le -gt -ge -nt -ot -ef"
	e.Neutral = true
	for i, w := range args {
		switch {
		case w.Text == "-v" || w.Text == "-R":
			e.Unknown = "a test of a variable's name, which bash evaluates"
		case !effect.MayBeFlag(w):
		case !w.Split && (i+1 < len(args) && effect.In(operators, args[i+1].Text) || i > 0 && args[i-1].Literal && (effect.In(operators, args[i-1].Text) || unary(args[i-1].Text))):
		case !w.Split && len(args) <= 2 && i == 0: // alone, it is compared with nothing
		default:
			e.Unknown = effect.MayBe
		}
	}
}

func unary(s string) bool {
	return len(s) == 2 && s[0] == '-' && strings.IndexByte("abcdefghknoprstuwxzGLNOS", s[1]) >= 0
}

// option is set and shopt, some of whose options change what other words mean.
func option(e *effect.Effects, _ string, args []effect.Word) {
	for i, a := range args {
		if !strings.HasPrefix(a.Text, "-") {
			e.Operands = append(e.Operands, a)
		}
		switch {
		case a.Text == "--" && a.Literal:
			e.Operands = args[i+1:]
			return
		case !a.Literal && effect.MayBeFlag(a), effect.In("expand_aliases globstar nocaseglob nocasematch posix lastpipe autocd cdable_vars cdspell extdebug xpg_echo", a.Text):
			e.Unknown = "an option of the shell changes what other words mean"
		}
	}
}
