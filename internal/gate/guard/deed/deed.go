// Package deed holds the commands that no tool runs, and those that want a person
// or a rule that means them: two tables, in table.go. It compares the words of a
// command with them and knows nothing of files. Its caller is
// internal/gate/guard.
package deed

import (
	"strings"
	"sync"

	"github.com/kxtools/kx/internal/gate/guard/expand"
)

// parsed is a deed with its texts taken apart.
type parsed struct {
	words            [][]string
	flags, but, last []string
}

// byProgram indexes deeds by the programs that do them.
type byProgram struct {
	plain map[string][]*Row
	loose map[string][]*Row // by what stands before the *
}

func indexDeeds(rows []Row) *byProgram {
	ix := &byProgram{map[string][]*Row{}, map[string][]*Row{}}
	for i := range rows {
		d := &rows[i]
		d.parsed = &parsed{flags: strings.Fields(d.flags), but: strings.Fields(d.but), last: strings.Fields(d.last)}
		for _, w := range strings.Fields(d.words) {
			d.parsed.words = append(d.parsed.words, strings.Split(w, "|"))
		}
		for _, p := range strings.Fields(d.runs) {
			if head, ok := strings.CutSuffix(p, "*"); ok {
				ix.loose[head] = append(ix.loose[head], d)
			} else {
				ix.plain[p] = append(ix.plain[p], d)
			}
		}
	}
	return ix
}

var (
	deniedBy = sync.OnceValue(func() *byProgram { return indexDeeds(denied) })
	askedBy  = sync.OnceValue(func() *byProgram { return indexDeeds(asked) })
)

// find returns the first deed of a program that its words make.
func (ix *byProgram) find(program string, argv []string, fed []string) *Row {
	for _, d := range ix.plain[program] {
		if d.meets(argv, fed) {
			return d
		}
	}
	for head, list := range ix.loose {
		if !strings.HasPrefix(program, head) {
			continue
		}
		for _, d := range list {
			if d.meets(argv, fed) {
				return d
			}
		}
	}
	return nil
}

// meets reports whether a command is what the row is about.
func (d *Row) meets(argv []string, fed []string) bool {
	args := argv[1:]
	if len(args) == 1 && (args[0] == "--help" || args[0] == "--version" || args[0] == "-h") {
		return false
	}
	for i, a := range args {
		for _, f := range d.parsed.but {
			if given(f, a) && (i == 0 || !strings.HasPrefix(args[i-1], "-")) {
				return false
			}
		}
	}
	if len(d.parsed.words) > 0 && follows(args, d.parsed.words) < 0 {
		return false
	}
	if len(d.parsed.flags) > 0 && !anyOf(d.parsed.flags, args, given) {
		return false
	}
	if len(d.parsed.last) > 0 && !anyOf(d.parsed.last, args, same) {
		return false
	}
	if d.input {
		return dropped().MatchString(strings.Join(args, " ")) || dropped().MatchString(strings.Join(fed, "\n"))
	}
	return d.test == nil || d.test(argv)
}

func anyOf(want, args []string, is func(want, arg string) bool) bool {
	for _, a := range args {
		for _, w := range want {
			if is(w, a) {
				return true
			}
		}
	}
	return false
}

// same compares an operand; a last * stands for any rest, \* for itself.
func same(want, arg string) bool {
	if want == `\*` {
		return arg == "*"
	}
	if head, ok := strings.CutSuffix(want, "*"); ok {
		return strings.HasPrefix(arg, head)
	}
	if want == arg {
		return true
	}
	return strings.ContainsAny(arg, expand.Wildcards) && expand.Sure(arg) && expand.Glob(arg, want)
}

// given reports whether an argument is the flag: as it is, in a cluster of short
// ones, with a value, or shortened.
func given(flag, arg string) bool {
	switch {
	case arg == flag:
		return true
	case len(arg) < 2 || arg[0] != '-' || flag[0] != '-':
		return false
	case len(flag) == 2:
		return arg[1] != '-' && strings.Contains(arg[1:], flag[1:])
	case strings.HasPrefix(arg, "--") && strings.HasPrefix(flag, "--"):
		name, _, _ := strings.Cut(arg, "=")
		return len(name) > 4 && strings.HasPrefix(flag, name)
	}
	return false
}

// follows returns where the operands of a command end that begin with the given
// ones, -1 if they don't. Which flags take a value is not known, so an operand
// behind a flag may be either.
func follows(args []string, want [][]string) int {
	i, behind := 0, false
	for _, choices := range want {
		for ; ; i++ {
			if i == len(args) {
				return -1
			}
			a := args[i]
			if anyOf(choices, args[i:i+1], same) {
				i, behind = i+1, false
				break
			}
			switch {
			case len(a) > 1 && a[0] == '-':
				behind = !strings.Contains(a, "=")
			case behind:
				behind = false
			default:
				return -1
			}
		}
	}
	return i
}

// Denied returns the row of what is never run that a command meets, nil if there
// is none. argv are its words, which begin with the program, and fed is what its
// input may be.
func Denied(program string, argv, fed []string) *Row { return deniedBy().find(program, argv, fed) }

// Asked returns the row of what wants a person.
func Asked(program string, argv []string) *Row { return askedBy().find(program, argv, nil) }

// Knows reports whether the program stands in a row of what is never run.
func Knows(program string) bool {
	ix := deniedBy()
	if ix.plain[program] != nil {
		return true
	}
	for head := range ix.loose {
		if strings.HasPrefix(program, head) {
			return true
		}
	}
	return false
}

// Programs returns the programs of the rows of what is never run.
func Programs() []string {
	var out []string
	for name := range deniedBy().plain {
		out = append(out, name)
	}
	return out
}

// Eats reports whether the input of a program may be text that it runs against a
// database.
func Eats(program string) bool {
	for _, d := range deniedBy().plain[program] {
		if d.input {
			return true
		}
	}
	return false
}

// Follows reports whether the operands of a command begin with the given words,
// choices as a|b, and where they end; -1 if they don't.
func Follows(args []string, words string) int {
	var want [][]string
	for _, w := range strings.Fields(words) {
		want = append(want, strings.Split(w, "|"))
	}
	return follows(args, want)
}
