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

// filter is a set of hashes of programs: most programs stand in no row, and are
// done with here.
type filter [32]uint64

// spot is where the set has a program.
func spot(program string) (word, bit uint32) {
	h := uint32(2166136261)
	for i := range len(program) {
		h = (h ^ uint32(program[i])) * 16777619
	}
	return h >> 6 % 32, h % 64
}

// mentioned are the programs of both tables.
var mentioned = sync.OnceValue(func() *filter {
	var f filter
	for _, rows := range [][]Row{denied, asked} {
		for i := range rows {
			for name := range strings.SplitSeq(rows[i].runs, " ") {
				word, bit := spot(name)
				f[word] |= 1 << bit
			}
		}
	}
	return &f
})

// may reports whether a program can stand in a row; those with a * have one of the
// two signs in them.
func may(program string) bool {
	word, bit := spot(program)
	return mentioned()[word]&(1<<bit) != 0 || strings.ContainsAny(program, "._")
}

// find returns the first row of a program that its words meet.
func find(rows []Row, program string, argv []string, fed []string) *Row {
	if !may(program) {
		return nil
	}
	for i := range rows {
		if r := &rows[i]; r.by(program) && r.meets(argv, fed) {
			return r
		}
	}
	return nil
}

// by reports whether the row speaks of a program.
func (d *Row) by(program string) bool {
	if expand.Among(d.runs, program) {
		return true
	}
	return strings.Contains(d.runs, "*") && anyOf(strings.Fields(d.runs), []string{program}, same)
}

// meets reports whether a command is what the row is about.
func (d *Row) meets(argv []string, fed []string) bool {
	args := argv[1:]
	if len(args) == 1 && (args[0] == "--help" || args[0] == "--version" || args[0] == "-h") {
		return false
	}
	for i, a := range args {
		for _, f := range strings.Fields(d.but) {
			if given(f, a) && (i == 0 || !strings.HasPrefix(args[i-1], "-")) {
				return false
			}
		}
	}
	if d.words != "" && Follows(args, d.words) < 0 {
		return false
	}
	if d.flags != "" && !anyOf(strings.Fields(d.flags), args, given) {
		return false
	}
	if d.last != "" && !anyOf(strings.Fields(d.last), args, same) {
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
func Denied(program string, argv, fed []string) *Row { return find(denied, program, argv, fed) }

// Asked returns the row of what wants a person.
func Asked(program string, argv []string) *Row { return find(asked, program, argv, nil) }

// Knows reports whether the program stands in a row of what is never run.
func Knows(program string) bool {
	if !may(program) {
		return false
	}
	for i := range denied {
		if denied[i].by(program) {
			return true
		}
	}
	return false
}

// Programs returns the programs of the rows of what is never run.
func Programs() []string {
	var out []string
	for i := range denied {
		out = append(out, strings.Fields(denied[i].runs)...)
	}
	return out
}

// Eats reports whether the input of a program may be text that it runs against a
// database.
func Eats(program string) bool {
	if !may(program) {
		return false
	}
	for i := range denied {
		if denied[i].input && denied[i].by(program) {
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
