// Package program says what the arguments of a program do: which files it reads
// and writes, which addresses it reaches, which commands and code it runs. The
// knowledge is one table, table.txt, and a few functions for programs with a
// language of their own (find, sed, awk, tar, git, dd, shells).
//
// The one invariant: what a row does not say, nothing is allowed for. A program
// without a row is judged by its words alone, and its arguments may be paths. It
// runs nothing; its caller is pkg/policy/shell.
package program

import (
	_ "embed"
	"strings"
	"sync"
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
	Through  bool   // it is transparent: what it runs counts
}

// Why words don't tell what is run.
const (
	StdinCode  = "it runs code that comes from its input"
	InlineCode = "it runs code given in its arguments"
	FarAway    = "it runs commands elsewhere"
	thisShell  = "it runs a file in this shell"
	renames    = "it changes what a name runs"
	flagRuns   = "one of its flags runs code"
	lostFlag   = "which command it runs can't be told"
	mayBe      = "an argument is computed, and may be a flag that runs or writes something"
)

//go:embed table.txt
var table string

// row is a row of the table.
type row struct {
	front, back []byte // roles of the first and the last operands
	star        byte   // role of those between, 0 if there may be none
	flags       []flag
	marks       []string
	danger      bool // one of its flags does more than the operands tell
}

// flag is one flag of a program.
type flag struct {
	name     string
	role     byte // of its value, 0 if it has none
	attached bool // the value stands only in the same word
	does     string
}

func (r *row) is(mark string) bool {
	for _, m := range r.marks {
		if m == mark {
			return true
		}
	}
	return false
}

// Inert reports whether opening the file changes and tells nothing.
func Inert(name string) bool {
	return in("/dev/null /dev/stdin /dev/stdout /dev/stderr /dev/zero", name)
}

var (
	lines = sync.OnceValue(index)
	rows  sync.Map // of names to the rows that have been asked for
)

// index finds the line of each name; a line is taken apart when it is needed.
func index() map[string]string {
	out := make(map[string]string, 1024)
	for line := range strings.Lines(table) {
		names, rest, ok := strings.Cut(line, " | ")
		if !ok || line[0] == '#' {
			continue
		}
		for name := range strings.SplitSeq(names, ",") {
			out[name] = rest
		}
	}
	return out
}

// Names returns every name that has a row.
func Names() []string {
	var out []string
	for name := range lines() {
		out = append(out, name)
	}
	return out
}

// Known reports whether a program has a row.
func Known(name string) bool { return lookup(name) != nil }

// lookup returns the row of a program, nil if it has none.
func lookup(name string) *row {
	if r, ok := rows.Load(name); ok {
		return r.(*row)
	}
	line, ok := lines()[name]
	if !ok {
		return nil
	}
	r := parse(line)
	rows.Store(name, r)
	return r
}

func parse(line string) *row {
	operands, rest, _ := strings.Cut(line, "|")
	r := &row{}
	for role := range strings.SplitSeq(strings.TrimSpace(operands), ",") {
		switch {
		case len(role) == 2:
			r.star = role[0]
		case r.star == 0:
			r.front = append(r.front, role[0])
		default:
			r.back = append(r.back, role[0])
		}
	}
	for _, token := range strings.Fields(rest) {
		if token[0] != '-' {
			r.marks = append(r.marks, token)
			continue
		}
		f := flag{}
		f.name, f.does, _ = strings.Cut(token, "!")
		if at := strings.LastIndexAny(f.name, ":~"); at > 0 {
			f.attached, f.role = f.name[at] == '~', f.name[at+1]
			f.name = f.name[:at]
		}
		switch f.role {
		case 0, '-', '?', 'r':
			r.danger = r.danger || f.does != "" && f.does != "skip" && f.does != "tree" && f.does != "quiet"
		default:
			r.danger = true
		}
		r.flags = append(r.flags, f)
	}
	for _, m := range []string{"closed", "first"} {
		r.danger = r.danger || r.is(m)
	}
	return r
}

// Steers reports whether a variable can change what programs run.
func Steers(name string) bool {
	switch {
	case in(steeringNames, name):
		return true
	case in(harmlessNames, name):
		return false
	}
	for p := range strings.SplitSeq(steeringPrefixes, " ") {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	for s := range strings.SplitSeq(steeringSuffixes, " ") {
		if strings.HasSuffix(name, s) {
			return true
		}
	}
	return false
}

// Environment variables by which a program can be made to run something else, or
// to read its settings from elsewhere.
const (
	steeringNames = "PATH IFS ENV SHELL HOME CDPATH GLOBIGNORE VISUAL EDITOR BROWSER PAGER LESSOPEN LESSCLOSE PS0 PS1 PS2 PS3 PS4 SHELLOPTS " +
		"BASHOPTS POSIXLY_CORRECT FPATH ZDOTDIR CC CXX LD AR CLASSPATH TMPDIR TERMINFO FCEDIT HISTFILE INPUTRC TAR TAPE LOCPATH NLSPATH " +
		"HOSTALIASES RES_OPTIONS TZDIR SUDO_PROMPT XAUTHORITY DISPLAY OPTIND"
	harmlessNames = "NODE_ENV GOOS GOARCH GOARM GOMAXPROCS CGO_ENABLED RUST_BACKTRACE RUST_LOG PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE " +
		"PYTHONIOENCODING PYTHONHASHSEED CARGO_TERM_COLOR MANWIDTH GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS AWS_REGION AWS_DEFAULT_REGION NPM_TOKEN"
	steeringPrefixes = "LD_ DYLD_ BASH_ GIT_ SSH_ PYTHON PERL RUBY NODE_ NPM_ npm_ JAVA _JAVA JDK_ CARGO RUST GO CGO_ XDG_ LUA_ PHP DOTNET_ " +
		"MAKE DOCKER_ KUBE AWS_ GLIBC_ GCONV MALLOC_ OPENSSL_ SSL_ CURL_ WGET MAN LESS GREP_ TAR_ RSYNC_ PROMPT KX_ GEM_ BUNDLE_ PIP_ UV_ " +
		"YARN_ PNPM_ DENO_ BUN_ MAVEN_ GRADLE_ PG MYSQL_ ANSIBLE_ TF_ HELM_ CMAKE_ R_ JULIA_ ERL_ ELIXIR_ VIM GDB AWKPATH AWKLIBPATH ZSH_ " +
		"GPG_ GNUPG ELECTRON_ COREPACK_ GTK_ QT_ MONO_ NIX_ HOMEBREW_ CONDA_ VIRTUAL_ENV"
	steeringSuffixes = "PAGER EDITOR _OPTIONS _OPTS OPTS _COMMAND _ASKPASS FLAGS _PRELOAD _WRAPPER _proxy _PROXY _RSH _SHELL"
)

// in reports whether a list of words has a word.
func in(list, word string) bool {
	if word == "" {
		return false
	}
	for at := 0; ; {
		i := strings.Index(list[at:], word)
		if i < 0 {
			return false
		}
		i += at
		end := i + len(word)
		if (i == 0 || list[i-1] == ' ') && (end == len(list) || list[end] == ' ') {
			return true
		}
		at = end
	}
}
