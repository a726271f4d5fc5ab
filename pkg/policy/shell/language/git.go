package language

import (
	"path"
	"strings"

	"github.com/kxtools/kx/pkg/policy/shell/effect"
)

// git has its own flags in front of a subcommand.
func git(e *effect.Effects, _ string, args []effect.Word) {
	const lone = "--no-pager -P --no-optional-locks --literal-pathspecs --no-replace-objects --glob-pathspecs --noglob-pathspecs --icase-pathspecs --no-lazy-fetch --no-advice"
	plain := []effect.Word{{Text: "git", Literal: true}}
	i, options := 0, false
	for ; i < len(args); i++ {
		a := args[i]
		if !a.Literal && effect.MayBeFlag(a) {
			e.Unknown = effect.MayBe
			break
		}
		if !strings.HasPrefix(a.Text, "-") {
			break
		}
		switch name, value, attached := strings.Cut(a.Text, "="); {
		case !a.Literal && effect.Computed(name):
			e.Unknown = effect.MayBe
		case effect.In(lone, a.Text):
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
			e.Opaque = effect.InlineCode
			if attached {
				e.Operands = append(e.Operands, effect.Word{Text: value, Literal: a.Literal})
			} else if i++; i < len(args) {
				e.Operands = append(e.Operands, args[i])
			}
			plain = append(plain, a)
		case effect.In("--version --help -h -v --html-path --man-path --info-path --bare", a.Text), a.Text == "--exec-path":
			plain = append(plain, a)
			if a.Text == "--exec-path" && i+1 < len(args) {
				e.Opaque = effect.InlineCode
			}
		case a.Text == "-p" || a.Text == "--paginate":
			plain = append(plain, a)
			e.Opaque = effect.InlineCode
		default:
			// -c, --config-env, --exec-path=x and what is not known.
			e.Opaque = effect.InlineCode
			plain = append(plain, a)
			if (a.Text == "-c" || a.Text == "--config-env") && i+1 < len(args) {
				i++
				plain = append(plain, args[i])
				e.Operands = append(e.Operands, args[i])
			}
		}
	}
	if e.Dir != nil {
		e.Files = append(e.Files, effect.File{Path: *e.Dir})
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
	gitHooked = "commit merge pull push rebase cherry-pick revert am checkout switch"
	gitTexts  = "--grep --author --committer --format --pretty --since --until --after --before --message --date --trailer"
	gitValues = "-o -n -m -F -C -c -S -G -L -U -l --format --pretty --since --until --author --grep --max-count -t -b -B -s -X --strategy --message --file"
)

func gitCommand(e *effect.Effects, sub effect.Word, args []effect.Word) {
	switch {
	case !sub.Literal:
		e.Unknown = "which command of git it is can't be told"
	case !effect.In(gitQuiet, sub.Text):
		e.Opaque = "it may be an alias or another program"
	}
	if effect.In(gitHooked, sub.Text) {
		e.Project = effect.GitHooks
	}
	code := "--exec-path --config-env --upload-pack --receive-pack --ext-diff --open-files-in-pager --extcmd --template --exec --gpg-sign-program"
	var operands []effect.Word
	for i := 0; i < len(args); i++ {
		a := args[i]
		name, value, attached := strings.Cut(a.Text, "=")
		w := effect.Word{Text: value, Literal: a.Literal}
		next := func() effect.Word {
			if attached {
				return w
			}
			if i++; i < len(args) {
				return args[i]
			}
			return effect.Word{Literal: true}
		}
		long := len(name) > 4 && strings.HasPrefix(name, "--")
		switch {
		case a.Text == "--" && a.Literal:
			e.Operands = append(e.Operands, args[i+1:]...)
			operands = append(operands, args[i+1:]...)
			i = len(args)
		case !a.Literal && (effect.MayBeFlag(a) || strings.HasPrefix(a.Text, "-") && (!attached || effect.Computed(name))):
			e.Unknown = effect.MayBe
		case long && effect.PrefixIn(code, name):
			if name == "--exec" && sub.Text == "rebase" {
				rebased(e, next())
				continue
			}
			e.Unknown = effect.FlagRuns
		case name == "--output" || long && strings.HasPrefix("--output", name) || name == "--output-directory" || long && strings.HasPrefix("--output-directory", name) && name != "--output":
			e.WriteOr(effect.Tree(next()))
		case name == "-o" && effect.In("archive format-patch", sub.Text):
			e.Write(effect.Tree(next()))
		case effect.In("archive format-patch", sub.Text) && strings.HasPrefix(a.Text, "-o") && len(a.Text) > 2:
			e.Write(effect.Tree(effect.Word{Text: a.Text[2:], Literal: a.Literal}))
		case name == "-x" && sub.Text == "rebase":
			rebased(e, next())
		case strings.HasPrefix(a.Text, "-O") && sub.Text == "grep", (a.Text == "-c" || a.Text == "-u") && effect.In("clone ls-remote fetch pull", sub.Text), a.Text == "-x" && sub.Text == "difftool":
			e.Unknown = effect.FlagRuns
		case effect.In("-F --file --pathspec-from-file -t --no-index", name) && effect.In("commit tag notes add reset merge diff config", sub.Text) && name != "-t" && name != "--no-index":
			e.ReadOr(next())
		case strings.HasPrefix(a.Text, "-"):
			if attached && !effect.In(gitTexts, name) {
				e.Operands = append(e.Operands, w)
			} else if effect.In(gitValues, a.Text) && i+1 < len(args) && effect.In("commit tag stash notes merge", sub.Text) && (name == "-m" || name == "--message") {
				i++
			}
		default:
			operands = append(operands, a)
		}
	}
	first := effect.Word{Literal: true}
	if len(operands) > 0 {
		first = operands[0]
	}
	switch sub.Text {
	case "clone", "ls-remote":
		for i, w := range operands {
			switch {
			case i == 0 && !strings.Contains(w.Text, ":"):
				e.ReadOr(effect.Tree(w))
			case i == 0:
				e.Address(w)
			default:
				e.Write(effect.Tree(w))
			}
		}
		if len(operands) == 1 && sub.Text == "clone" {
			name := strings.TrimSuffix(path.Base(strings.ReplaceAll(first.Text, ":", "/")), ".git")
			e.Write(effect.Tree(effect.Word{Text: name, Literal: first.Literal}))
		}
		return
	case "bisect":
		if first.Text == "run" && len(operands) > 1 {
			at := 0
			for at < len(args) && args[at].Text != "run" {
				at++
			}
			e.Runs = append(e.Runs, effect.Run{Argv: args[at+1:]})
			return
		}
	case "submodule":
		if first.Text == "foreach" && len(operands) > 1 {
			code := effect.Join(operands[1:])
			e.Runs = append(e.Runs, effect.Run{Code: &code, Posix: true})
			return
		}
	case "config":
		// Settings may hold commands, which later calls run.
		if len(operands) > 1 && !effect.In("get list", first.Text) && !harmlessSetting(operands) {
			e.Opaque = effect.InlineCode
		}
		return
	case "lfs", "fast-import", "am":
		e.Opaque = effect.InlineCode
	}
	for _, w := range operands {
		if strings.HasPrefix(w.Text, "ext::") {
			e.Opaque = effect.InlineCode
		}
		e.Operands = append(e.Operands, w)
		if _, name, ok := strings.Cut(w.Text, ":"); ok && name != "" {
			e.Operands = append(e.Operands, effect.Word{Text: name, Literal: w.Literal}) // HEAD:name
		}
	}
}

func harmlessSetting(operands []effect.Word) bool {
	w := operands[0]
	if w.Text == "set" || w.Text == "unset" {
		w = operands[1]
	}
	return w.Literal && effect.In("user.name user.email init.defaultBranch pull.rebase push.default color.ui core.autocrlf core.quotepath merge.conflictstyle rerere.enabled fetch.prune", w.Text)
}

// rebased is the code that a rebase runs behind each commit.
func rebased(e *effect.Effects, w effect.Word) {
	e.Runs = append(e.Runs, effect.Run{Code: &w, Posix: true})
}
