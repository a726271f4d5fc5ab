// Package shell reads a bash command the way policy needs it: as the list of
// simple commands that it may run, each with its words, the files that it reads
// and writes, and how it is reached. It parses with mvdan.cc/sh and runs
// nothing.
//
// The one invariant: whatever bash would run or open when it is given the text
// is in the answer, or the answer says that it is not understood. So a deny
// rule that meets no leaf has been walked past by nothing, and an allow rule
// that meets every leaf has allowed everything. Callers are
// pkg/policy, and internal/gate/sandbox for its advice.
package shell

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"github.com/kxtools/kx/pkg/policy/shell/effect"
	"github.com/kxtools/kx/pkg/policy/shell/word"
)

// MaxLength is the longest command that is analysed, in bytes. Longer ones are
// not understood: no person reads them and other agents stop there too.
const MaxLength = 10_000

// Word is one word of a command.
type Word = effect.Word

// File is a file that a leaf reads or writes.
type File = effect.File

// Kind says how much a leaf matters to policy.
type Kind int

const (
	// Command is a command like any other.
	Command Kind = iota
	// Transparent is a wrapper such as timeout: what it runs is a leaf of its
	// own, and the wrapper is visible to deny rules only.
	Transparent
	// Neutral changes nothing outside the shell (cd, true, x=1): it is visible
	// to deny rules only.
	Neutral
)

// Leaf is one simple command.
type Leaf struct {
	Words    []Word   // empty for a redirect without a command
	Spread   []Word   // what the words become where braces make several of one; nil if they stay
	Plain    []Word   // the words without options that change nothing of what they say; nil if there are none
	Via      string   // how it is reached, for people: "substitution", "timeout"
	Kind     Kind     //
	Dirs     []string // the folders it may run in, relative to where the call starts ("" = there); nil = unknown
	Files    []File   // what its redirects and known operands read and write
	Operands []Word   // arguments that may be paths, of a program that is not known
	URLs     []Word   // addresses it reaches
	Far      bool     // it runs elsewhere: visible to deny rules only, and its files are none of this system
	Opaque   string   // why its words don't tell what it runs, "" if they do
	Unknown  string   // why it is not understood, "" if it is

	Scripts []Word // files of code that it gives to an interpreter
	Project string // what code of the folder it works in it runs, "" for none; only for people

	Unlisted bool // nothing is known of its program, which may run what its arguments say
	Nested   bool // it stands in code that is given to a shell as text

	stdin bool // it runs what it gets as its input
}

// Argv returns the words as people read them.
func (l *Leaf) Argv() []string {
	argv := make([]string, len(l.Words))
	for i, w := range l.Words {
		argv[i] = w.Text
	}
	return argv
}

// Value is what a variable gets somewhere in a script.
type Value struct {
	Name string
	Word Word
}

// Script is a whole command.
type Script struct {
	Leaves  []Leaf
	Values  []Value // of assignments, declarations and loops, in their order
	Input   []Word  // what here-documents and here-strings hold
	Unknown string  // why the whole is not understood, "" if it is
}

// Analyze reads src as bash would when it is given to bash -c. The leaves of a
// script that is not understood are those that a deny may meet.
func Analyze(src string) Script {
	s := AnalyzeLong(src)
	if len(src) > MaxLength {
		s.Unknown = fmt.Sprintf("the command is longer than %d bytes", MaxLength)
	}
	return s
}

// maxRead is how much text is taken apart at all.
const maxRead = 1 << 20

// AnalyzeLong is Analyze for a text of any length. What it understands of a long
// one can be denied; nobody has read it, so it can't be allowed.
func AnalyzeLong(src string) Script {
	why := ""
	switch {
	case len(src) > maxRead:
		return Script{Unknown: "the command is too long"}
	case !utf8.ValidString(src):
		return Script{Unknown: "the command is not valid UTF-8"}
	case strings.IndexByte(src, 0) >= 0:
		return Script{Unknown: "the command has a NUL byte"}
	case strings.IndexByte(src, '\r') >= 0:
		why = "the command has a carriage return, which bash takes as part of a word"
	case hidden(src):
		why = "the command has characters that change the order in which it is shown"
	}
	stmts, err := parse(src, syntax.LangBash)
	if err != nil && why == "" {
		why = "bash can't parse it: " + strings.TrimPrefix(err.Error(), ":")
	}
	// A word with quotes or backslashes in it may be cd without looking like it.
	w := &walker{moves: mayMove(src) && movesAbout(stmts), tree: stmts}
	w.stmts(stmts, scope{dirs: []string{""}})
	return Script{Leaves: w.leaves, Values: w.values, Input: w.input, Unknown: why}
}

// parse returns the statements of a text, of one that can't be parsed those in
// front of the error: bash runs them.
func parse(src string, lang syntax.LangVariant) ([]*syntax.Stmt, error) {
	p := parsers.Get().(*syntax.Parser)
	defer parsers.Put(p)
	remarks := strings.Contains(src, "\\\n") && strings.IndexByte(src, '#') >= 0
	syntax.Variant(lang)(p)
	syntax.KeepComments(remarks)(p)
	f, err := p.Parse(strings.NewReader(src), "")
	for rounds := 0; remarks && err == nil; rounds++ {
		// A backslash at the end of a comment is part of it to bash, and joins
		// the next line to the parser.
		at := joined(f, src)
		if at < 0 {
			break
		}
		if rounds == maxJoined {
			return f.Stmts, errors.New("too many comments end in a backslash")
		}
		src = src[:at] + " " + src[at+1:]
		f, err = p.Parse(strings.NewReader(src), "")
	}
	if err == nil {
		return f.Stmts, nil
	}
	var stmts []*syntax.Stmt
	for st, e := range p.StmtsSeq(strings.NewReader(src)) {
		if e != nil {
			break
		}
		stmts = append(stmts, st)
	}
	return stmts, err
}

// maxJoined is how many such comments a text may have.
const maxJoined = 20

// joined returns where a comment ends in a backslash, -1 if none does.
func joined(f *syntax.File, src string) int {
	at := -1
	syntax.Walk(f, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.Comment); ok && at < 0 {
			from := int(c.Pos().Offset())
			line, _, more := strings.Cut(src[min(from, len(src)):], "\n")
			if more && strings.HasSuffix(line, `\`) {
				at = from + len(line) - 1
			}
		}
		return at < 0
	})
	return at
}

var parsers = sync.Pool{New: func() any { return syntax.NewParser() }}

// hidden reports whether a text has characters that change how people see it.
func hidden(src string) bool {
	for i := 0; i < len(src); i++ {
		if src[i] == 0xe2 {
			return strings.ContainsAny(src, "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u2028\u2029")
		}
	}
	return false
}

func mayMove(src string) bool {
	return strings.ContainsAny(src, `\'"`) || strings.Contains(src, "cd") || strings.Contains(src, "pushd") || strings.Contains(src, "popd") ||
		strings.Contains(src, "source") || strings.Contains(src, ". ")
}

// movesAbout reports whether the script changes its folder anywhere.
func movesAbout(list []*syntax.Stmt) bool {
	moves := false
	for _, st := range list {
		syntax.Walk(st, func(n syntax.Node) bool {
			if call, ok := n.(*syntax.CallExpr); ok {
				for i, arg := range call.Args {
					switch word.Spelled(arg) {
					case "cd", "pushd", "popd", "source", ".":
						moves = true
					case "eval", "trap":
						for _, code := range call.Args[i+1:] {
							word := word.Of(code)
							moves = moves || !word.Literal || mayMove(word.Text)
						}
					}
				}
			}
			return !moves
		})
	}
	return moves
}

// Words splits text into words as the shell splits the arguments of a command.
func Words(text string) ([]Word, error) {
	// The word in front makes bash take time, ! and x=1 as words like others.
	stmts, err := parse(": "+text, syntax.LangBash)
	if err != nil {
		return nil, fmt.Errorf("bash can't parse it; quote what the shell would take as its own")
	}
	if len(stmts) == 1 {
		st := stmts[0]
		call, ok := st.Cmd.(*syntax.CallExpr)
		if ok && len(st.Redirs) == 0 && !st.Background && !st.Coprocess {
			words := make([]Word, len(call.Args)-1)
			for i, arg := range call.Args[1:] {
				words[i] = word.Of(arg)
			}
			return words, nil
		}
	}
	return nil, fmt.Errorf("it must be the words of one command; quote what the shell would take as its own")
}
