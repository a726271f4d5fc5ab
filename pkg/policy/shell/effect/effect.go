// Package effect has the words of a command and what it does with them: files that
// are read and written, addresses, commands and code that are run. It decides
// nothing; pkg/policy/shell and what lies below fill it in.
package effect

import (
	"strings"
)

// Word is one word of a command.
type Word struct {
	Text    string // the word with its quotes removed
	Literal bool   // the program gets exactly Text (a leading ~/ is the home)
	Glob    bool   // unquoted *, ? or [: file names may take its place
	Tree    bool   // it is a folder as a whole, if it is a folder
	Split   bool   // it may become several words, or none
	Number  bool   // it comes to a number
	In      string // the folder below which what it stands for lies, "" if nothing is known
	Pipe    bool   // <(…) or >(…): no file, but what a command prints or reads
}

// File is a file that a command reads or writes.
type File struct {
	Write bool
	Both  bool // it is read as well as written
	Path  Word
	Names []string // of what is written in it, where the path is a folder
	From  []Word   // what a folder that is written as a whole comes from, if that is known
}

// Run is a command that a program runs.
type Run struct {
	Argv  []Word // its words, or
	Code  *Word  // code of a shell
	Posix bool   // the shell may be another than bash
	Far   bool   // it runs elsewhere: what it names are no files of this system
	Dir   *Word  // the folder that it starts in
	Input bool   // the code is what the program gets as its input
}

// Effects is what a command does.
type Effects struct {
	Files    []File
	Operands []Word // arguments that may be paths
	URLs     []Word
	Runs     []Run
	Plain    []Word // the words without options that change nothing of what they say
	Dir      *Word  // the folder that its paths start from
	Opaque   string // why its words don't tell what it runs
	Unknown  string // why it is not understood
	Neutral  bool   // it changes and tells nothing
	Unlisted bool   // nothing is known of the program
	Through  bool   // it is transparent: what it runs counts
	Scripts  []Word // files of code that it runs
	Project  string // what code of the folder it works in it runs; people are told
}

// What a program runs of the folder that it works in.
const (
	ProjectCode = "code from the workspace"
	GitHooks    = "git hooks, if there are any"
)

// Why words don't tell what is run.
const (
	StdinCode  = "it runs code that comes from its input"
	InlineCode = "it runs code given in its arguments"
	FarAway    = "it runs commands elsewhere"
	ThisShell  = "it runs a file in this shell"
	Renames    = "it changes what a name runs"
	FlagRuns   = "one of its flags runs code"
	LostFlag   = "which command it runs can't be told"
	MayBe      = "an argument is Computed, and may be a flag that runs or writes something"
)

// Inert reports whether opening the file changes and tells nothing.
func Inert(name string) bool {
	return In("/dev/null /dev/stdin /dev/stdout /dev/stderr /dev/zero", name)
}

// tree is a folder as a whole.
func Tree(w Word) Word {
	w.Tree = true
	return w
}

func (e *Effects) Read(w Word)  { e.Files = append(e.Files, File{Path: w}) }
func (e *Effects) Write(w Word) { e.Files = append(e.Files, File{Write: true, Path: w}) }

// readOr reads a file, if the word is no sign for the input of the program.
func (e *Effects) ReadOr(w Word) {
	if !Input(w.Text) && !w.Pipe && !(w.Literal && Inert(w.Text)) {
		e.Read(w)
	}
}

func (e *Effects) WriteOr(w Word) {
	if !(w.Literal && (w.Text == "-" || Inert(w.Text))) && !w.Pipe {
		e.Write(w)
	}
}

// join is the words of a command as one piece of code.
func Join(words []Word) Word {
	var texts []string
	out := Word{Literal: true}
	for _, w := range words {
		texts = append(texts, w.Text)
		out.Literal = out.Literal && w.Literal
	}
	out.Text = strings.Join(texts, " ")
	return out
}

// Address adds an address; a file: one is a file.
func (e *Effects) Address(w Word) {
	switch {
	case w.Literal && strings.HasPrefix(w.Text, "ext::"):
		e.Unknown = FlagRuns
	case w.Literal && strings.HasPrefix(strings.ToLower(w.Text), "file:"):
		name := w.Text[len("file:"):]
		name = strings.TrimPrefix(name, "//localhost")
		if strings.HasPrefix(name, "//") {
			name = name[2:]
		}
		e.Read(Word{Text: name, Literal: !strings.ContainsAny(name, "%{[")})
		e.URLs = append(e.URLs, w)
	default:
		e.URLs = append(e.URLs, w)
	}
}
