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
	"fmt"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// MaxLength is the longest command that is analysed, in bytes. Longer ones are
// not understood: no person reads them and other agents stop there too.
const MaxLength = 10_000

// Word is one word of a command.
type Word struct {
	Text    string // the word with its quotes removed
	Literal bool   // the program gets exactly Text (a leading ~/ is the home)
	Glob    bool   // unquoted *, ? or [: file names may take its place
}

// File is a file that a leaf reads or writes.
type File struct {
	Write bool
	Path  Word
}

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
	Via      string   // how it is reached, for people: "substitution", "timeout"
	Kind     Kind     //
	Dirs     []string // the folders it may run in, relative to where the call starts ("" = there); nil = unknown
	Files    []File   // what its redirects and known operands read and write
	Operands []Word   // arguments that may be paths, of a program that is not known
	URLs     []Word   // addresses it reaches
	Opaque   string   // why its words don't tell what it runs, "" if they do
	Unknown  string   // why it is not understood, "" if it is
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

// Analyze reads src as bash would when it is given to bash -c.
func Analyze(src string) Script {
	if len(src) > MaxLength {
		return Script{Unknown: fmt.Sprintf("the command is longer than %d bytes", MaxLength)}
	}
	return AnalyzeLong(src)
}

// AnalyzeLong is Analyze for a text of any length. What it understands of a long
// one can be denied; nobody has read it, so it can't be allowed.
func AnalyzeLong(src string) Script {
	switch {
	case !utf8.ValidString(src):
		return Script{Unknown: "the command is not valid UTF-8"}
	case strings.ContainsRune(src, 0):
		return Script{Unknown: "the command has a NUL byte"}
	case strings.ContainsRune(src, '\r'):
		return Script{Unknown: "the command has a carriage return, which bash takes as part of a word"}
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(src), "")
	if err != nil {
		return Script{Unknown: "bash can't parse it: " + strings.TrimPrefix(err.Error(), ":")}
	}
	// A word with quotes or backslashes in it may be cd without looking like it.
	mayMove := strings.ContainsAny(src, `\'"`) || strings.Contains(src, "cd") || strings.Contains(src, "pushd") || strings.Contains(src, "popd")
	w := &walker{moves: mayMove && movesAbout(f)}
	w.stmts(f.Stmts, scope{dirs: []string{""}})
	return Script{Leaves: w.leaves, Values: w.values, Input: w.input}
}

var moveCommands = map[string]bool{"cd": true, "pushd": true, "popd": true}

// movesAbout reports whether the script changes its folder anywhere.
func movesAbout(f *syntax.File) bool {
	moves := false
	syntax.Walk(f, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok {
			for _, arg := range call.Args {
				moves = moves || moveCommands[wordOf(arg).Text]
			}
		}
		return !moves
	})
	return moves
}

// Words splits text into words as the shell splits the arguments of a command.
func Words(text string) ([]Word, error) {
	// The word in front makes bash take time, ! and x=1 as words like others.
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(": "+text), "")
	if err != nil {
		return nil, fmt.Errorf("bash can't parse it; quote what the shell would take as its own")
	}
	if len(f.Stmts) == 1 {
		st := f.Stmts[0]
		call, ok := st.Cmd.(*syntax.CallExpr)
		if ok && len(st.Redirs) == 0 && !st.Background && !st.Coprocess {
			words := make([]Word, len(call.Args)-1)
			for i, arg := range call.Args[1:] {
				words[i] = wordOf(arg)
			}
			return words, nil
		}
	}
	return nil, fmt.Errorf("it must be the words of one command; quote what the shell would take as its own")
}
