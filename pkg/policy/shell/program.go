package shell

import (
	"path"
	"regexp"
	"strings"
	"sync"
)

// program says what the arguments of a program do. A program without a row is
// judged by its words alone; its arguments are then looked at by path rules
// that deny or ask, and by no others.
type program struct {
	neutral bool     // changes and tells nothing
	noFiles bool     // its operands are no files
	read    bool     // its operands are read
	write   bool     // its operands are written or removed
	last    bool     // the last operand is written, the others are read
	second  bool     // the second operand is written
	skip    int      // operands in front that are no files (a pattern, a mode)
	tree    bool     // it reads whole folders
	treeBy  string   // letters of the short flags that make it read whole folders
	net     bool     // its operands are addresses
	valued  []string // flags with a value in the next word
	pattern []string // flags that take the place of the skipped operands
	out     []string // flags whose value is a file that it writes
	opaque  []string // flags that make it run code given in words
	always  string   // why it runs code whatever its words are
	bare    string   // why it runs code when it has no operand
	names   bool     // bash evaluates the index in a[i] of its operands
}

const (
	stdinCode  = "it runs code that comes from its input"
	inlineCode = "it runs code given in its arguments"
	farAway    = "it runs commands elsewhere"
)

func interpreter(opaque ...string) program {
	return program{noFiles: true, opaque: opaque, bare: stdinCode}
}

var programs = map[string]program{
	"true": {neutral: true}, "false": {neutral: true}, ":": {neutral: true},
	"test": {neutral: true, opaque: []string{"-v", "-R"}}, "[": {neutral: true, opaque: []string{"-v", "-R"}},

	"echo": {noFiles: true}, "pwd": {noFiles: true}, "date": {noFiles: true}, "uname": {noFiles: true}, "whoami": {noFiles: true},
	"id": {noFiles: true}, "hostname": {noFiles: true}, "sleep": {noFiles: true}, "seq": {noFiles: true}, "basename": {noFiles: true},
	"dirname": {noFiles: true}, "which": {noFiles: true}, "type": {noFiles: true}, "printenv": {noFiles: true}, "exit": {noFiles: true},
	"return": {noFiles: true}, "break": {noFiles: true}, "continue": {noFiles: true}, "shift": {noFiles: true}, "tr": {noFiles: true},
	"jobs": {noFiles: true}, "umask": {noFiles: true}, "printf": {noFiles: true, opaque: []string{"-v"}},
	"read": {noFiles: true, names: true}, "unset": {noFiles: true, names: true}, "wait": {noFiles: true, names: true},
	"getopts": {noFiles: true, names: true}, "mapfile": {noFiles: true, names: true, opaque: []string{"-C"}},
	"readarray": {noFiles: true, names: true, opaque: []string{"-C"}},

	"cat": {read: true}, "tac": {read: true}, "nl": {read: true}, "rev": {read: true}, "wc": {read: true}, "less": {read: true}, "more": {read: true},
	"head": {read: true, valued: []string{"-n", "-c"}}, "tail": {read: true, valued: []string{"-n", "-c"}},
	"md5sum": {read: true}, "sha1sum": {read: true}, "sha256sum": {read: true}, "sha512sum": {read: true}, "cksum": {read: true},
	"file": {read: true}, "stat": {read: true, valued: []string{"-c", "-f"}}, "readlink": {read: true}, "realpath": {read: true},
	"od": {read: true}, "hexdump": {read: true}, "strings": {read: true}, "base64": {read: true, valued: []string{"-w"}}, "zcat": {read: true},
	"cmp": {read: true}, "comm": {read: true}, "paste": {read: true, valued: []string{"-d"}}, "fold": {read: true, valued: []string{"-w"}},
	"cut": {read: true, valued: []string{"-d", "-f", "-c", "-b"}}, "column": {read: true, valued: []string{"-s"}},
	"diff": {read: true, treeBy: "r"}, "ls": {read: true, treeBy: "R"}, "du": {read: true, tree: true}, "tree": {read: true, tree: true, out: []string{"-o"}},
	"sort": {read: true, valued: []string{"-k", "-t", "-S"}, out: []string{"-o", "--output"}, opaque: []string{"--compress-program"}},
	"uniq": {read: true, second: true, valued: []string{"-f", "-s", "-w"}}, "xxd": {read: true, second: true, valued: []string{"-l", "-s", "-c"}},
	"jq":   {read: true, skip: 1, valued: []string{"--arg", "--argjson"}},
	"grep": {read: true, skip: 1, treeBy: "rR", valued: grepValued, pattern: []string{"-e", "-f"}}, "egrep": {read: true, skip: 1, treeBy: "rR", valued: grepValued, pattern: []string{"-e", "-f"}},
	"fgrep": {read: true, skip: 1, treeBy: "rR", valued: grepValued, pattern: []string{"-e", "-f"}},
	"rg":    {read: true, skip: 1, tree: true, valued: []string{"-A", "-B", "-C", "-m", "-g", "-t"}, pattern: []string{"-e", "-f", "--files"}, opaque: []string{"--pre"}},

	"rm": {write: true}, "rmdir": {write: true}, "unlink": {write: true}, "shred": {write: true}, "mkdir": {write: true, valued: []string{"-m"}},
	"touch": {write: true, valued: []string{"-d", "-t", "-r"}}, "tee": {write: true}, "mkfifo": {write: true}, "mv": {write: true}, "ln": {write: true},
	"truncate": {write: true, valued: []string{"-s", "-r"}}, "chmod": {write: true, skip: 1}, "chown": {write: true, skip: 1}, "chgrp": {write: true, skip: 1},
	"cp": {last: true, treeBy: "rRa", out: []string{"-t"}}, "install": {last: true, valued: []string{"-m", "-o", "-g"}, out: []string{"-t"}},
	"rsync": {last: true, tree: true, opaque: []string{"-e", "--rsh", "--rsync-path"}},

	"curl": {net: true, out: []string{"-o", "--output", "-D", "--dump-header", "-c", "--cookie-jar", "--trace"}, opaque: []string{"-K", "--config"}, valued: []string{"-H", "-X", "-d", "-A", "-e", "-u", "-m"}},
	"wget": {net: true, out: []string{"-O", "-o", "-P"}, opaque: []string{"-e", "--use-askpass", "--config"}},

	"sh": interpreter("-c", "-s"), "bash": interpreter("-c", "-s", "--init-file", "--rcfile"), "dash": interpreter("-c", "-s"), "ash": interpreter("-c", "-s"),
	"zsh": interpreter("-c", "-s"), "ksh": interpreter("-c", "-s"), "fish": interpreter("-c", "-C"), "csh": interpreter("-c"), "tcsh": interpreter("-c"),
	"python": interpreter("-c"), "python2": interpreter("-c"), "python3": interpreter("-c"), "pypy": interpreter("-c"), "pypy3": interpreter("-c"),
	"perl": interpreter("-e", "-E", "-n", "-p"), "ruby": interpreter("-e", "-n", "-p"), "php": interpreter("-r", "-B", "-R"), "lua": interpreter("-e"),
	"node": interpreter("-e", "-p", "--eval", "--print"), "nodejs": interpreter("-e", "-p", "--eval", "--print"), "bun": interpreter("-e", "--eval"),
	"deno": interpreter("eval"), "Rscript": interpreter("-e"), "tclsh": interpreter(), "expect": interpreter("-c"), "osascript": interpreter("-e"),
	"gdb": interpreter("-ex", "--ex", "-x"), "vim": {always: inlineCode}, "vi": {always: inlineCode}, "ed": {always: stdinCode}, "ex": {always: inlineCode}, "emacs": {always: inlineCode},

	"eval": {always: inlineCode}, "source": {always: "it runs a file in this shell"}, ".": {always: "it runs a file in this shell"}, "trap": {always: inlineCode},
	"alias": {always: "it changes what a name runs"}, "enable": {always: "it changes what a name runs"}, "hash": {always: "it changes what a name runs"},
	"bind": {always: inlineCode}, "complete": {always: inlineCode}, "compgen": {always: inlineCode}, "let": {always: "bash evaluates its arguments"}, "fc": {always: inlineCode},
	"declare": {always: "a declaration that is computed"}, "typeset": {always: "a declaration that is computed"}, "export": {always: "a declaration that is computed"},
	"local": {always: "a declaration that is computed"}, "readonly": {always: "a declaration that is computed"},
	"awk": {always: inlineCode}, "gawk": {always: inlineCode}, "mawk": {always: inlineCode}, "nawk": {always: inlineCode}, "parallel": {always: inlineCode},
	"watch": {always: inlineCode}, "flock": {always: inlineCode}, "script": {always: inlineCode}, "su": {always: inlineCode}, "runuser": {always: inlineCode},
	"strace": {always: inlineCode}, "ltrace": {always: inlineCode}, "at": {always: stdinCode}, "batch": {always: stdinCode}, "crontab": {always: stdinCode},
	"m4": {always: inlineCode}, "tmux": {always: inlineCode}, "screen": {always: inlineCode}, "unshare": {always: inlineCode}, "nsenter": {always: farAway},
	"chroot": {always: farAway}, "systemd-run": {always: farAway}, "ssh": {always: farAway}, "docker": {always: farAway}, "podman": {always: farAway},
	"kubectl": {always: farAway}, "lxc": {always: farAway}, "vagrant": {always: farAway},
	"git": {opaque: []string{"-c", "--exec-path", "--config-env", "--upload-pack", "--receive-pack", "--ext-diff", "--open-files-in-pager", "-O"}, out: []string{"--output"}},
	"tar": {opaque: []string{"--checkpoint-action", "--to-command", "-I", "--use-compress-program", "--rsh-command", "--info-script", "--new-volume-script", "-F"}},
}

var grepValued = []string{"-e", "-f", "-m", "-A", "-B", "-C", "--include", "--exclude"}

// describe fills in what a leaf reads, writes and reaches, by its program's row.
func describe(l *Leaf, name string, args []Word) {
	switch name {
	case "find":
		describeFind(l, args)
		return
	case "sed":
		describeSed(l, args)
		return
	case "dd":
		describeDD(l, args)
		return
	}
	p := programs[name]
	if asksWhere(name, args) {
		p = program{neutral: true}
	}
	if p.neutral {
		l.Kind = Neutral
	}
	if l.Opaque == "" {
		l.Opaque = p.always
	}
	operands := l.split(p, args)
	if p.bare != "" && (len(operands) == 0 || operands[0].Text == "-" || operands[0].Text == "/dev/stdin") && l.Opaque == "" && !versionOnly(args) {
		l.Opaque = p.bare
	}
	for i, w := range operands {
		switch {
		case p.names && (!w.Literal || strings.Contains(w.Text, "[") || steers(w.Text)):
			l.Unknown = "what " + name + " does with the name it gets can't be told"
		case len(p.opaque)+len(p.out) > 0 && mayBeFlag(w):
			l.Unknown = "an argument is computed, and may be a flag that runs or writes something"
		case p.noFiles, p.neutral:
		case p.net:
			l.URLs = append(l.URLs, w)
		case p.write, p.last && i == len(operands)-1 && len(operands) > 1, p.second && i == 1:
			l.Files = append(l.Files, File{Write: true, Path: w})
		case p.read, p.last:
			l.Files = append(l.Files, File{Path: w})
		default:
			l.Operands = append(l.Operands, w)
		}
	}
	if p.neutral && l.Opaque != "" {
		l.Opaque, l.Unknown = "", "a test of a variable's name, which bash evaluates"
	}
	if p.net && len(l.URLs) == 0 && !versionOnly(args) {
		l.Unknown = "which address it reaches can't be told"
	}
	if p.tree || clustered(args, p.treeBy) {
		dir := Word{Text: ".", Literal: true}
		if len(operands) == 0 {
			l.Files = append(l.Files, File{Path: dir})
		}
		for i := range l.Files {
			l.Files[i].Path.Glob = l.Files[i].Path.Glob || !l.Files[i].Write
		}
	}
}

// asksWhere is for "command -v x", which only looks x up.
func asksWhere(name string, args []Word) bool {
	return name == "command" && len(args) > 0 && (args[0].Text == "-v" || args[0].Text == "-V")
}

// mayBeFlag reports whether the shell may make a flag of the word.
func mayBeFlag(w Word) bool {
	if w.Literal {
		return false
	}
	return !w.Glob || w.Text == "" || strings.IndexByte("*?[", w.Text[0]) >= 0
}

// split sorts arguments into flags, whose values it looks at, and operands.
func (l *Leaf) split(p program, args []Word) []Word {
	var operands []Word
	skip, flags := p.skip, true
	for i := 0; i < len(args); i++ {
		a := args[i]
		if !flags || a.Text == "-" || !strings.HasPrefix(a.Text, "-") {
			operands = append(operands, a)
			continue
		}
		if a.Text == "--" {
			flags = false
			continue
		}
		name, value, attached := flagParts(a.Text)
		if has(p.opaque, name) || has(p.opaque, a.Text) || shortCluster(p.opaque, a.Text) {
			l.Opaque = inlineCode
		}
		if has(p.pattern, name) {
			skip = 0
		}
		next := func() Word {
			if attached {
				return Word{Text: value, Literal: a.Literal}
			}
			if i++; i < len(args) {
				return args[i]
			}
			return Word{Literal: true}
		}
		switch {
		case has(p.out, name):
			l.Files = append(l.Files, File{Write: true, Path: next()})
		case has(p.valued, name):
			l.Operands = append(l.Operands, next())
		case attached:
			l.Operands = append(l.Operands, Word{Text: value, Literal: a.Literal})
		case !a.Literal && !p.noFiles:
			l.Operands = append(l.Operands, a)
		}
	}
	if p.neutral {
		return operands
	}
	if has(p.opaque, "eval") && len(operands) > 0 && operands[0].Text == "eval" {
		l.Opaque = inlineCode
	}
	if skip > len(operands) {
		skip = len(operands)
	}
	return operands[skip:]
}

// Code returns the words that name files with the code that the leaf runs: the
// program, where it is named by its path, and the script of an interpreter.
func (l *Leaf) Code() []Word {
	if len(l.Words) == 0 || !l.Words[0].Literal {
		return nil
	}
	var out []Word
	name := l.Words[0].Text
	if strings.Contains(name, "/") {
		out = append(out, l.Words[0])
		name = name[strings.LastIndexByte(name, '/')+1:]
	}
	if p := programs[name]; p.bare == "" && name != "source" && name != "." {
		return out
	}
	for _, w := range l.Words[1:] {
		if w.Literal && !strings.HasPrefix(w.Text, "-") {
			return append(out, w)
		}
	}
	return out
}

// Program is the name of the program without its folder, "" if it is computed.
func (l *Leaf) Program() string {
	if len(l.Words) == 0 || !l.Words[0].Literal {
		return ""
	}
	return path.Base(l.Words[0].Text)
}

// Interprets reports whether the program runs code of some language.
func (l *Leaf) Interprets() bool { return programs[l.Program()].bare != "" }

// RunsInput reports whether the leaf runs code that comes from its input.
func (l *Leaf) RunsInput() bool {
	if l.Opaque == stdinCode {
		return true
	}
	for _, w := range l.Words {
		if w.Text == "-s" && l.Interprets() {
			return true
		}
	}
	return false
}

// flagParts splits --name=value, and -nvalue with a one-letter name.
func flagParts(text string) (name, value string, attached bool) {
	if strings.HasPrefix(text, "--") {
		return strings.Cut(text, "=")
	}
	if len(text) > 2 {
		return text[:2], text[2:], true
	}
	return text, "", false
}

// shortCluster reports whether a cluster such as -lc has one of the letters.
func shortCluster(flags []string, text string) bool {
	if strings.HasPrefix(text, "--") {
		return false
	}
	for _, f := range flags {
		if len(f) == 2 && f[0] == '-' && strings.Contains(text[1:], f[1:]) {
			return true
		}
	}
	return false
}

func clustered(args []Word, letters string) bool {
	for _, a := range args {
		if len(a.Text) > 1 && a.Text[0] == '-' && a.Text[1] != '-' && strings.ContainsAny(a.Text[1:], letters) {
			return true
		}
		if letters != "" && strings.HasPrefix(a.Text, "--rec") {
			return true
		}
	}
	return false
}

func versionOnly(args []Word) bool {
	if len(args) != 1 {
		return false
	}
	switch args[0].Text {
	case "--version", "-V", "-v", "--help", "-h":
		return args[0].Literal
	}
	return false
}

func has(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// describeFind tells a find that only lists from one that acts.
func describeFind(l *Leaf, args []Word) {
	roots, expr := 0, false
	for i, a := range args {
		switch {
		case !a.Literal && !a.Glob:
			l.Unknown = "an argument of find is computed, and may be -delete or -exec"
		case !expr && !strings.HasPrefix(a.Text, "-") && a.Text != "(" && a.Text != "!":
			l.Files = append(l.Files, File{Path: Word{Text: a.Text, Literal: a.Literal, Glob: true}})
			roots++
		default:
			expr = true
		}
		switch a.Text {
		case "-exec", "-execdir", "-ok", "-okdir":
			l.Opaque, l.Unknown = inlineCode, "find runs a command for what it finds"
		case "-delete":
			l.Unknown = "find deletes what it finds"
		case "-fprint", "-fprint0", "-fprintf", "-fls":
			if i+1 < len(args) {
				l.Files = append(l.Files, File{Write: true, Path: args[i+1]})
			}
		}
	}
	if roots == 0 {
		l.Files = append(l.Files, File{Path: Word{Text: ".", Literal: true, Glob: true}})
	}
}

// quietSed matches the sed scripts that can only print and replace: addresses
// with p, d, q or =, and s with flags that neither run nor write.
var quietSed = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[0-9,$]*[pdq=]|[0-9,$]*s([/|,#])[^/|,#\\\n;]*[/|,#][^/|,#\\\n;]*[/|,#][gpiI0-9]*)$`)
})

func describeSed(l *Leaf, args []Word) {
	inPlace, script := false, false
	var operands []Word
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case !a.Literal && !a.Glob:
			l.Unknown = "an argument of sed is computed"
		case a.Text == "-e" || a.Text == "--expression":
			if i++; i < len(args) {
				l.sedScript(args[i])
			}
			script = true
		case strings.HasPrefix(a.Text, "-i") || strings.HasPrefix(a.Text, "--in-place"):
			inPlace = true
		case a.Text == "-n" || a.Text == "-E" || a.Text == "-r" || a.Text == "-s" || a.Text == "-z":
		case strings.HasPrefix(a.Text, "-") && a.Text != "-":
			l.Opaque = inlineCode
		case !script:
			l.sedScript(a)
			script = true
		default:
			operands = append(operands, a)
		}
	}
	for _, w := range operands {
		l.Files = append(l.Files, File{Write: inPlace, Path: w})
	}
}

func (l *Leaf) sedScript(w Word) {
	if (!w.Literal && !w.Glob) || !quietSed().MatchString(w.Text) {
		l.Opaque = inlineCode
	}
}

func describeDD(l *Leaf, args []Word) {
	for _, a := range args {
		if f, ok := strings.CutPrefix(a.Text, "of="); ok {
			l.Files = append(l.Files, File{Write: true, Path: Word{Text: f, Literal: a.Literal}})
		} else if f, ok := strings.CutPrefix(a.Text, "if="); ok {
			l.Files = append(l.Files, File{Path: Word{Text: f, Literal: a.Literal}})
		} else if !a.Literal {
			l.Unknown = "an argument of dd is computed"
		}
	}
}
