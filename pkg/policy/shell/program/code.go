package program

import (
	"path"
	"strings"
)

// IsShell reports whether a program is a shell whose language is that of bash, as
// far as the words of commands go.
func IsShell(name string) bool {
	return in("sh bash dash ash zsh ksh mksh rbash", name)
}

// Reads reports whether a program takes code: in its arguments, a file or its
// input.
func Reads(name string) bool {
	r := lookup(name)
	return r != nil && r.is("bare")
}

// shell is a shell with its own flags: code, a file of code, or its input.
func shell(e *Effects, name string, args []Word) {
	code, reads := false, false
	i := 0
	for ; i < len(args); i++ {
		a := args[i]
		if !a.Literal && (computed(a.Text[:min(1, len(a.Text))]) || a.Text != "" && a.Text[0] == '-') {
			e.Opaque = InlineCode
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
			e.Opaque = InlineCode
			if attached {
				e.Operands = append(e.Operands, Word{Text: value, Literal: true})
			} else if i++; i < len(args) {
				e.Operands = append(e.Operands, args[i])
			}
		case strings.HasPrefix(flag, "--"):
			if !in("--norc --noprofile --posix --login --verbose --noediting --restricted --version --help --debugger --dump-strings", flag) {
				e.Opaque = InlineCode
			}
		default:
			code = code || a.Text[0] == '-' && strings.Contains(flag, "c")
			reads = reads || strings.Contains(flag, "s")
			if strings.ContainsAny(flag, "oO") {
				i++ // the name of an option
			}
			if strings.Contains(flag, "D") || strings.Contains(flag, "i") {
				e.Opaque = InlineCode
			}
		}
	}
	other := name != "bash" && name != "rbash"
	if in("zsh ksh mksh", name) {
		e.Opaque = "it is code of another shell" // a little of it means something else
	}
	rest := args[min(i, len(args)):]
	switch {
	case code && len(rest) == 0, len(rest) == 0 && versionOnly(args):
	case code:
		e.Runs = append(e.Runs, Run{Code: &rest[0], Posix: other})
	case reads || len(rest) == 0 || rest[0].Literal && input(rest[0].Text):
		e.Runs = append(e.Runs, Run{Input: true, Posix: other})
	case !rest[0].Literal:
		e.Opaque = "which code it runs can't be told"
		e.Operands = append(e.Operands, rest[0])
	default:
		e.read(rest[0])
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

// find tells a find that only lists from one that acts.
func find(e *Effects, _ string, args []Word) {
	var roots []Word
	expr := false
	for i := 0; i < len(args); i++ {
		a := args[i]
		if !a.Literal && !a.Glob {
			e.Unknown = "an argument of find is computed, and may be -delete or -exec"
		}
		if a.Glob && a.Text != "" && strings.IndexByte("*?[", a.Text[0]) >= 0 {
			e.Unknown = "an argument of find is a glob, and may be -delete or -exec"
		}
		switch a.Text {
		case "-exec", "-execdir", "-ok", "-okdir":
			expr = true
			end := i + 1
			for end < len(args) && args[end].Text != ";" && !(args[end].Text == "+" && args[end-1].Text == "{}") {
				end++
			}
			if inner := args[min(i+1, len(args)):end]; len(inner) > 0 {
				r := Run{Argv: placed(inner, roots)}
				if strings.HasSuffix(a.Text, "dir") {
					r.Dir = &Word{Text: "…"}
				}
				e.Runs = append(e.Runs, r)
			}
			i = end
		case "-delete":
			expr = true
			e.Unknown = "find deletes what it finds"
		case "-fprint", "-fprint0", "-fprintf", "-fls":
			expr = true
			if i++; i < len(args) {
				e.write(args[i])
			}
		case "-files0-from", "-newer", "-anewer", "-cnewer", "-samefile":
			expr = true
			if i++; i < len(args) {
				e.read(args[i])
			}
			if a.Text == "-files0-from" {
				e.Unknown = "which folders it walks can't be told"
			}
		case "-H", "-L", "-P":
		case "-D":
			i++
		default:
			if !expr && !strings.HasPrefix(a.Text, "-") && a.Text != "(" && a.Text != "!" && a.Text != "," {
				roots = append(roots, a)
				e.read(tree(a))
				continue
			}
			expr = expr || !strings.HasPrefix(a.Text, "-O")
		}
	}
	if len(roots) == 0 {
		e.read(tree(Word{Text: ".", Literal: true}))
	}
}

// placed is a command of find. What stands for the files that are found is
// computed, and lies below the roots.
func placed(argv, roots []Word) []Word {
	out := append([]Word{}, argv...)
	for i := range out {
		if !strings.Contains(out[i].Text, "{}") {
			continue
		}
		if out[i].Text == "{}" && i > 0 && len(roots) <= 1 {
			root := Word{Text: ".", Literal: true}
			if len(roots) == 1 {
				root = roots[0]
			}
			if root.Literal {
				out[i].In = root.Text
			}
		}
		out[i].Literal, out[i].Split = false, true
	}
	return out
}

func dd(e *Effects, _ string, args []Word) {
	for _, a := range args {
		name, value, _ := strings.Cut(a.Text, "=")
		w := Word{Text: value, Literal: a.Literal, Glob: a.Glob, Split: a.Split}
		switch {
		case !a.Literal && computed(name):
			e.Unknown = "an argument of dd is computed"
		case name == "of":
			e.writeOr(w)
		case name == "if":
			e.readOr(w)
		}
	}
}

// tar reads and writes by the letters of its first word.
func tar(e *Effects, _ string, args []Word) {
	const (
		values = "fCTXbLNgHVK" // letters with a value, in the order of the words behind
		codes  = "--checkpoint-action --to-command --use-compress-program --rsh-command --info-script --new-volume-script --rmt-command"
	)
	mode := byte(0)
	var archives, folders, operands []Word
	dir := Word{Text: ".", Literal: true}
	take := func(letter byte, w Word) {
		switch letter {
		case 'f':
			archives = append(archives, w)
		case 'C':
			if dir.Text == "." || strings.HasPrefix(w.Text, "/") {
				dir = w
			} else {
				dir = Word{Text: dir.Text + "/" + w.Text, Literal: dir.Literal && w.Literal}
			}
			folders = append(folders, dir)
		case 'T', 'X':
			e.read(w)
			if letter == 'T' {
				e.Unknown = "which files it packs stands in a file"
			}
		case 'I', 'F':
			e.Unknown = flagRuns
		case 'g':
			e.Files = append(e.Files, File{Write: true, Both: true, Path: w})
		}
	}
	long := map[string]byte{"--file": 'f', "--directory": 'C', "--cd": 'C', "--files-from": 'T', "--exclude-from": 'X', "--listed-incremental": 'g', "--index-file": 'w'}
	for i := 0; i < len(args); i++ {
		a := args[i]
		name, value, attached := strings.Cut(a.Text, "=")
		switch {
		case !a.Literal && mayBeFlag(a), !a.Literal && strings.HasPrefix(a.Text, "-") && (!attached || computed(name)):
			e.Unknown = mayBe
			operands = append(operands, a)
		case strings.HasPrefix(a.Text, "--"):
			w := Word{Text: value, Literal: a.Literal}
			for flag := range strings.SplitSeq(codes, " ") {
				if len(name) > 3 && strings.HasPrefix(flag, name) {
					e.Unknown = flagRuns
				}
			}
			was := mode
			for flag, letter := range map[string]byte{"--create": 'c', "--append": 'r', "--update": 'u', "--extract": 'x', "--get": 'x', "--list": 't', "--diff": 'd', "--compare": 'd', "--concatenate": 'A', "--catenate": 'A', "--delete": 'D'} {
				if len(name) > 3 && strings.HasPrefix(flag, name) && mode == 0 {
					mode = letter
				}
			}
			if len(name) > 4 && strings.HasPrefix("--remove-files", name) {
				e.Unknown = "it removes what it packs"
			}
			for flag, letter := range long {
				if mode != was || len(name) < 4 || !strings.HasPrefix(flag, name) || name == "--file" && flag != name || name == "--files" {
					continue
				}
				if !attached && i+1 < len(args) {
					i++
					w = args[i]
				}
				if letter == 'w' {
					e.write(w)
				} else {
					take(letter, w)
				}
				break
			}
		case i == 0 && len(a.Text) > 0 && a.Text[0] != '-', len(a.Text) > 1 && a.Text[0] == '-':
			old := a.Text[0] != '-'
			letters := strings.TrimPrefix(a.Text, "-")
			for j := 0; j < len(letters); j++ {
				c := letters[j]
				switch {
				case mode == 0 && strings.IndexByte("cruxtdA", c) >= 0:
					mode = c
				case strings.IndexByte(values, c) >= 0 || c == 'I' || c == 'F':
					switch {
					case !old && j+1 < len(letters):
						take(c, Word{Text: letters[j+1:], Literal: a.Literal})
						j = len(letters)
					case i+1 < len(args):
						i++
						take(c, args[i])
					}
				}
			}
		default:
			if mode == 'c' || mode == 'r' || mode == 'u' || mode == 0 {
				if dir.Text != "." && !strings.HasPrefix(a.Text, "/") {
					a.Text, a.Literal = dir.Text+"/"+a.Text, a.Literal && dir.Literal
				}
			}
			operands = append(operands, a)
		}
	}
	packs := mode == 'c' || mode == 'r' || mode == 'u' || mode == 'A' || mode == 'D'
	for _, w := range archives {
		if host, _, ok := strings.Cut(w.Text, ":"); ok && host != "" && !strings.Contains(host, "/") {
			e.Opaque = FarAway
		}
		switch {
		case w.Text == "-" && w.Literal:
		case packs:
			e.Files = append(e.Files, File{Write: true, Both: mode != 'c', Path: w})
		default:
			e.read(w)
		}
	}
	switch {
	case packs:
		for _, w := range operands {
			e.read(tree(w))
		}
	case mode == 't':
	case mode == 'x':
		e.write(tree(dir))
	case mode == 'd':
		e.read(tree(dir))
	default:
		e.Operands = append(e.Operands, operands...)
		if len(args) > 0 && !versionOnly(args) {
			e.Unknown = "what it does with its files can't be told"
		}
	}
	_ = folders
}

// git has its own flags in front of a subcommand.
func git(e *Effects, _ string, args []Word) {
	const lone = "--no-pager -P --no-optional-locks --literal-pathspecs --no-replace-objects --glob-pathspecs --noglob-pathspecs --icase-pathspecs --no-lazy-fetch --no-advice"
	plain := []Word{{Text: "git", Literal: true}}
	i, options := 0, false
	for ; i < len(args); i++ {
		a := args[i]
		if !a.Literal && mayBeFlag(a) {
			e.Unknown = mayBe
			break
		}
		if !strings.HasPrefix(a.Text, "-") {
			break
		}
		switch name, value, attached := strings.Cut(a.Text, "="); {
		case !a.Literal && computed(name):
			e.Unknown = mayBe
		case in(lone, a.Text):
			options = true
		case a.Text == "-C":
			options = true
			if i++; i < len(args) {
				d := args[i]
				if e.Dir != nil && !strings.HasPrefix(d.Text, "/") {
					d.Text, d.Literal = e.Dir.Text+"/"+d.Text, d.Literal && e.Dir.Literal
				}
				e.Dir = &d
			}
		case name == "--git-dir" || name == "--work-tree" || name == "--super-prefix" || name == "--namespace" || name == "--attr-source":
			// Another folder's settings hold.
			e.Opaque = InlineCode
			if attached {
				e.Operands = append(e.Operands, Word{Text: value, Literal: a.Literal})
			} else if i++; i < len(args) {
				e.Operands = append(e.Operands, args[i])
			}
			plain = append(plain, a)
		case in("--version --help -h -v --html-path --man-path --info-path --bare", a.Text), a.Text == "--exec-path":
			plain = append(plain, a)
			if a.Text == "--exec-path" && i+1 < len(args) {
				e.Opaque = InlineCode
			}
		case a.Text == "-p" || a.Text == "--paginate":
			plain = append(plain, a)
			e.Opaque = InlineCode
		default:
			// -c, --config-env, --exec-path=x and what is not known.
			e.Opaque = InlineCode
			plain = append(plain, a)
			if (a.Text == "-c" || a.Text == "--config-env") && i+1 < len(args) {
				i++
				plain = append(plain, args[i])
				e.Operands = append(e.Operands, args[i])
			}
		}
	}
	if e.Dir != nil {
		e.Files = append(e.Files, File{Path: *e.Dir})
	}
	i = min(i, len(args))
	if options {
		e.Plain = append(plain, args[i:]...)
	}
	if i < len(args) {
		gitCommand(e, args[i], args[i+1:])
	}
}

// Commands of git. The others may be an alias, or another program called git-x.
const (
	gitQuiet = "status log diff show branch tag add commit checkout switch restore reset rm mv stash fetch pull push merge rebase cherry-pick revert " +
		"remote blame annotate shortlog describe rev-parse rev-list ls-files ls-tree cat-file grep clean init worktree reflog config notes apply am " +
		"format-patch archive bundle cherry range-diff show-ref symbolic-ref update-ref merge-base name-rev for-each-ref var help version count-objects " +
		"fsck gc prune repack pack-refs diff-tree diff-index diff-files hash-object write-tree read-tree commit-tree mktree mktag update-index " +
		"check-ignore check-attr check-mailmap check-ref-format stripspace whatchanged maintenance sparse-checkout submodule bisect ls-remote clone " +
		"merge-tree merge-file rerere replace verify-commit verify-tag verify-pack interpret-trailers show-branch mailinfo mailsplit patch-id request-pull " +
		"lfs column unpack-objects index-pack pack-objects multi-pack-index commit-graph fast-export fast-import show-index get-tar-commit-id cat-blob"
	gitTexts  = "--grep --author --committer --format --pretty --since --until --after --before --message --date --trailer"
	gitValues = "-o -n -m -F -C -c -S -G -L -U -l --format --pretty --since --until --author --grep --max-count -t -b -B -s -X --strategy --message --file"
)

func gitCommand(e *Effects, sub Word, args []Word) {
	p := &parser{e: e, row: lookup("git clone"), name: "git", does: map[string]bool{}}
	switch {
	case !sub.Literal:
		e.Unknown = "which command of git it is can't be told"
	case !in(gitQuiet, sub.Text):
		e.Opaque = "it may be an alias or another program"
	}
	code := "--exec-path --config-env --upload-pack --receive-pack --ext-diff --open-files-in-pager --extcmd --template --exec --gpg-sign-program"
	var operands []Word
	for i := 0; i < len(args); i++ {
		a := args[i]
		name, value, attached := strings.Cut(a.Text, "=")
		w := Word{Text: value, Literal: a.Literal}
		next := func() Word {
			if attached {
				return w
			}
			if i++; i < len(args) {
				return args[i]
			}
			return Word{Literal: true}
		}
		long := len(name) > 4 && strings.HasPrefix(name, "--")
		switch {
		case a.Text == "--" && a.Literal:
			e.Operands = append(e.Operands, args[i+1:]...)
			operands = append(operands, args[i+1:]...)
			i = len(args)
		case !a.Literal && (mayBeFlag(a) || strings.HasPrefix(a.Text, "-") && (!attached || computed(name))):
			e.Unknown = mayBe
		case long && prefixIn(code, name):
			if name == "--exec" && sub.Text == "rebase" {
				p.role('s', next())
				continue
			}
			e.Unknown = flagRuns
		case name == "--output" || long && strings.HasPrefix("--output", name) || name == "--output-directory" || long && strings.HasPrefix("--output-directory", name) && name != "--output":
			e.writeOr(tree(next()))
		case name == "-o" && in("archive format-patch", sub.Text):
			e.write(tree(next()))
		case in("archive format-patch", sub.Text) && strings.HasPrefix(a.Text, "-o") && len(a.Text) > 2:
			e.write(tree(Word{Text: a.Text[2:], Literal: a.Literal}))
		case name == "-x" && sub.Text == "rebase":
			p.role('s', next())
		case strings.HasPrefix(a.Text, "-O") && sub.Text == "grep", (a.Text == "-c" || a.Text == "-u") && in("clone ls-remote fetch pull", sub.Text), a.Text == "-x" && sub.Text == "difftool":
			e.Unknown = flagRuns
		case in("-F --file --pathspec-from-file -t --no-index", name) && in("commit tag notes add reset merge diff config", sub.Text) && name != "-t" && name != "--no-index":
			e.readOr(next())
		case strings.HasPrefix(a.Text, "-"):
			if attached && !in(gitTexts, name) {
				e.Operands = append(e.Operands, w)
			} else if in(gitValues, a.Text) && i+1 < len(args) && in("commit tag stash notes merge", sub.Text) && (name == "-m" || name == "--message") {
				i++
			}
		default:
			operands = append(operands, a)
		}
	}
	first := Word{Literal: true}
	if len(operands) > 0 {
		first = operands[0]
	}
	switch sub.Text {
	case "clone", "ls-remote":
		p.row = lookup("git clone")
		for i, w := range operands {
			switch {
			case i == 0 && !strings.Contains(w.Text, ":"):
				e.readOr(tree(w))
			case i == 0:
				p.url(w)
			default:
				e.write(tree(w))
			}
		}
		if p.does["code"] {
			e.Opaque = InlineCode
		}
		if len(operands) == 1 && sub.Text == "clone" {
			name := strings.TrimSuffix(path.Base(strings.ReplaceAll(first.Text, ":", "/")), ".git")
			e.write(tree(Word{Text: name, Literal: first.Literal}))
		}
		return
	case "bisect":
		if first.Text == "run" && len(operands) > 1 {
			at := 0
			for at < len(args) && args[at].Text != "run" {
				at++
			}
			e.Runs = append(e.Runs, Run{Argv: args[at+1:]})
			return
		}
	case "submodule":
		if first.Text == "foreach" && len(operands) > 1 {
			code := join(operands[1:])
			e.Runs = append(e.Runs, Run{Code: &code, Posix: true})
			return
		}
	case "config":
		// Settings may hold commands, which later calls run.
		if len(operands) > 1 && !in("get list", first.Text) && !harmlessSetting(operands) {
			e.Opaque = InlineCode
		}
		return
	case "lfs", "fast-import", "am":
		e.Opaque = InlineCode
	}
	for _, w := range operands {
		if strings.HasPrefix(w.Text, "ext::") {
			e.Opaque = InlineCode
		}
		e.Operands = append(e.Operands, w)
		if _, name, ok := strings.Cut(w.Text, ":"); ok && name != "" {
			e.Operands = append(e.Operands, Word{Text: name, Literal: w.Literal}) // HEAD:name
		}
	}
}

func harmlessSetting(operands []Word) bool {
	w := operands[0]
	if w.Text == "set" || w.Text == "unset" {
		w = operands[1]
	}
	return w.Literal && in("user.name user.email init.defaultBranch pull.rebase push.default color.ui core.autocrlf core.quotepath merge.conflictstyle rerere.enabled fetch.prune", w.Text)
}

// prefixIn reports whether a name begins one of the words, as an abbreviated flag
// does.
func prefixIn(list, name string) bool {
	for w := range strings.SplitSeq(list, " ") {
		if strings.HasPrefix(w, name) {
			return true
		}
	}
	return false
}

// test compares: it evaluates nothing but the name behind -v or -R.
func test(e *Effects, _ string, args []Word) {
	const operators = "= == != < > -eq -ne -lt -le -gt -ge -nt -ot -ef"
	e.Neutral = true
	for i, w := range args {
		switch {
		case w.Text == "-v" || w.Text == "-R":
			e.Unknown = "a test of a variable's name, which bash evaluates"
		case !mayBeFlag(w):
		case !w.Split && (i+1 < len(args) && in(operators, args[i+1].Text) || i > 0 && args[i-1].Literal && (in(operators, args[i-1].Text) || unary(args[i-1].Text))):
		case !w.Split && len(args) <= 2 && i == 0: // alone, it is compared with nothing
		default:
			e.Unknown = mayBe
		}
	}
}

func unary(s string) bool {
	return len(s) == 2 && s[0] == '-' && strings.IndexByte("abcdefghknoprstuwxzGLNOS", s[1]) >= 0
}

// option is set and shopt, some of whose options change what other words mean.
func option(e *Effects, _ string, args []Word) {
	for i, a := range args {
		if !strings.HasPrefix(a.Text, "-") {
			e.Operands = append(e.Operands, a)
		}
		switch {
		case a.Text == "--" && a.Literal:
			e.Operands = args[i+1:]
			return
		case !a.Literal && mayBeFlag(a), in("expand_aliases globstar nocaseglob nocasematch posix lastpipe autocd cdable_vars cdspell extdebug xpg_echo", a.Text):
			e.Unknown = "an option of the shell changes what other words mean"
		}
	}
}
