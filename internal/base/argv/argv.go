// Package argv reads the words of a command line. It owns one idea: flags may
// stand anywhere. Normalize finds the command that the words name, hoists every
// flag to the level that defines it and writes the line in one canonical form:
//
//	root flags · words · flags of the command · -- · arguments
//
// Invariants: the canonical form does not depend on where the flags stood, and
// is its own canonical form. Anything unknown is a usage error that proposes the
// line to type instead. The package knows neither kx's commands nor the parser
// that runs afterwards; internal/cmd/root gives it the tree.
package argv

import (
	"slices"
	"strings"

	"github.com/kxtools/kx/internal/base/fail"
)

// Node is one word of the command tree.
type Node struct {
	Name  string
	Flags []Flag
	Later func() []Flag // makes Flags once they are looked at, nil if they are there
	Nodes []*Node
	Args  bool // a node with children that takes arguments too
	Raw   bool // everything after the word is an argument, whatever it looks like
}

// flags are the flags of the node. Most nodes are never asked: a line leads past few.
func (n *Node) flags() []Flag {
	if n.Later != nil {
		n.Flags, n.Later = n.Later(), nil
	}
	return n.Flags
}

// Flag is a flag of a Node. The first of its names is the canonical one; a name
// of one letter is written with one dash.
type Flag struct {
	Names  []string
	Bool   bool // takes no value
	Repeat bool // may be given more than once
}

// Line is a command line that was understood.
type Line struct {
	Path []*Node // from the root to the command
	Help bool    // -h or --help stood somewhere; Args are dropped
	Argv []string
	Args []string
}

// Words returns the path as it is typed.
func Words(path []*Node) string {
	names := make([]string, len(path))
	for i, n := range path {
		names[i] = n.Name
	}
	return strings.Join(names, " ")
}

// given is a flag that stood on the line.
type given struct {
	name  string // as it was written, without its dashes
	value string
	at    int // index in words
}

// reader is the state of one Normalize.
type reader struct {
	words []string // the line without the program's name
	path  []*Node
	flags []given
	args  []string
	first int // index in words of the first of args
	help  bool
	ended bool   // "--" stood on the line
	wants string // the flag at the end that still needs its value
	err   error  // the first flag that was not understood
}

// Normalize reads args, the line without the program's name.
func Normalize(root *Node, args []string) (*Line, error) {
	r := &reader{words: args, path: []*Node{root}}
	if err := r.read(); err != nil {
		return nil, err
	}
	line := &Line{Path: r.path, Help: r.help}
	if r.help {
		line.Argv = append(strings.Fields(Words(r.path)), "--help")
		return line, nil
	}
	if r.err != nil {
		return nil, r.err
	}
	if err := r.place(line); err != nil {
		return nil, err
	}
	return line, nil
}

func (r *reader) node() *Node { return r.path[len(r.path)-1] }

// read walks over the words once.
func (r *reader) read() error {
	for i := 0; i < len(r.words); i++ {
		if r.node().Raw {
			r.args = append(r.args, r.words[i:]...)
			return nil
		}
		w := r.words[i]
		switch {
		case w == "--":
			r.ended = true
			return r.rest(r.words[i+1:])
		case strings.HasPrefix(w, "--"):
			i += r.long(i)
		case isFlag(w):
			i += r.short(i)
		default:
			if err := r.word(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// isFlag reports whether w looks like a flag: "-" is the standard input and -5
// is a number.
func isFlag(w string) bool {
	return len(w) > 1 && w[0] == '-' && (w[1] < '0' || w[1] > '9') && w[1] != '.'
}

// word takes a word that is no flag: a command or an argument.
func (r *reader) word(i int) error {
	n := r.node()
	if len(r.args) == 0 {
		if c := n.child(r.words[i]); c != nil {
			r.path = append(r.path, c)
			return nil
		}
	}
	if len(n.Nodes) > 0 && !n.Args {
		if r.err != nil {
			return nil // it may be the value of the flag that nobody knows
		}
		return r.unknownWord(i)
	}
	if len(r.args) == 0 {
		r.first = i
	}
	r.args = append(r.args, r.words[i])
	if len(r.args) == 2 && r.mistyped() {
		return r.unknownWord(r.first)
	}
	return nil
}

// rest takes what stands after "--". Commands are still found there where only
// a command can stand.
func (r *reader) rest(words []string) error {
	n := r.node()
	if len(words) > 0 && len(n.Nodes) > 0 && !n.Args && !r.help && r.err == nil {
		return fail.Usage("%s needs a command before --", Words(r.path)).WithHint("%s --help", Words(r.path))
	}
	r.args = append(r.args, words...)
	return nil
}

// long takes --name, --name=value or --name value, and returns how many more
// words it used.
func (r *reader) long(i int) int {
	name, value, eq := strings.Cut(r.words[i][2:], "=")
	if name == "help" {
		r.help = true
		return 0
	}
	f := r.find(name)
	switch {
	case len(name) < 2 || f == nil:
		r.unknownFlag(i, name)
		return 0
	case f.Bool && eq && value != "true" && value != "false":
		r.complain(fail.Usage("--%s takes no value", name).WithHint("%s --%s", Words(r.path), name))
		return 0
	case f.Bool && !eq:
		value = "true"
	case !f.Bool && !eq:
		v, ok := r.value(i + 1)
		if !ok {
			r.needsValue(name)
			return 0
		}
		r.add(name, v, i)
		return 1
	}
	r.add(name, value, i)
	return 0
}

// short takes -x, -xVALUE, -x VALUE, -x=VALUE or several letters in one word.
func (r *reader) short(i int) int {
	letters := r.words[i][1:]
	for pos, c := range letters {
		name := string(c)
		if name == "h" {
			r.help = true
			continue
		}
		f := r.find(name)
		if f == nil {
			r.unknownFlag(i, name)
			return 0
		}
		if f.Bool {
			r.add(name, "true", i)
			continue
		}
		if tail := letters[pos+len(name):]; tail != "" {
			r.add(name, strings.TrimPrefix(tail, "="), i)
			return 0
		}
		v, ok := r.value(i + 1)
		if !ok {
			r.needsValue(name)
			return 0
		}
		r.add(name, v, i)
		return 1
	}
	return 0
}

// value returns the word at i as the value of the flag before it.
func (r *reader) value(i int) (string, bool) {
	if i >= len(r.words) {
		return "", false
	}
	switch w := r.words[i]; w {
	case "--", "-h", "--help":
		return "", false
	default:
		return w, true
	}
}

func (r *reader) add(name, value string, at int) {
	r.flags = append(r.flags, given{name, value, at})
}

// find looks a flag up on the path, and below it: the words that lead to the
// level of the flag may still come. Commands below that disagree on whether the
// flag takes a value leave it unknown here.
func (r *reader) find(name string) *Flag {
	for i := len(r.path) - 1; i >= 0; i-- {
		if f := r.path[i].flag(name); f != nil {
			return f
		}
	}
	var found *Flag
	for f := range r.node().below(name) {
		if found != nil && found.Bool != f.Bool {
			return nil
		}
		found = f
	}
	return found
}

// place hoists the flags to their levels and writes the canonical line.
func (r *reader) place(line *Line) error {
	for _, g := range r.flags {
		if r.level(g.name) < 0 {
			return r.misplaced(g)
		}
	}
	for i, n := range r.path {
		line.Argv = append(line.Argv, n.Name)
		flags := n.flags()
		for k := range flags {
			f := &flags[k]
			seen := 0
			for _, g := range r.flags {
				if r.level(g.name) != i || !slices.Contains(f.Names, g.name) {
					continue
				}
				if seen++; seen > 1 && !f.Repeat {
					return fail.Usage("%s was given twice", dashed(g.name)).WithHint("%s --help", Words(r.path))
				}
				line.Argv = append(line.Argv, f.canonical(g.value))
			}
		}
	}
	line.Args = r.args
	if len(r.args) > 0 {
		if !r.node().Raw {
			line.Argv = append(line.Argv, "--")
		}
		line.Argv = append(line.Argv, r.args...)
	}
	return nil
}

// level returns the index of the deepest node of the path that defines the flag.
func (r *reader) level(name string) int {
	for i := len(r.path) - 1; i >= 0; i-- {
		if r.path[i].flag(name) != nil {
			return i
		}
	}
	return -1
}

// Dashed returns the canonical name as it is typed.
func (f *Flag) Dashed() string { return dashed(f.Names[0]) }

func (f *Flag) canonical(value string) string {
	if f.Bool && value == "true" {
		return f.Dashed()
	}
	return f.Dashed() + "=" + value
}

func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

func (n *Node) child(name string) *Node {
	for _, c := range n.Nodes {
		if c.Name == name {
			return c
		}
	}
	return nil
}

func (n *Node) flag(name string) *Flag {
	flags := n.flags()
	for i := range flags {
		if slices.Contains(flags[i].Names, name) {
			return &flags[i]
		}
	}
	return nil
}

// below yields the flags of that name in the levels below n.
func (n *Node) below(name string) func(yield func(*Flag) bool) {
	return func(yield func(*Flag) bool) { n.each(name, yield) }
}

func (n *Node) each(name string, yield func(*Flag) bool) bool {
	for _, c := range n.Nodes {
		if f := c.flag(name); f != nil && !yield(f) {
			return false
		}
		if !c.each(name, yield) {
			return false
		}
	}
	return true
}
