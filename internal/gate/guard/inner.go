package guard

import (
	"path"
	"slices"
	"strings"

	"github.com/kxtools/kx/internal/gate/guard/deed"
	"github.com/kxtools/kx/internal/gate/guard/expand"
	"github.com/kxtools/kx/internal/gate/guard/place"
	"github.com/kxtools/kx/pkg/policy/shell"
	"github.com/kxtools/kx/pkg/wire"
)

const (
	// carriers are programs that run a command in their words, or code in one
	// word.
	carriers = `
	parallel watch flock script su runuser strace ltrace tmux screen unshare nsenter chroot systemd-run ssh docker podman
	nerdctl kubectl oc lxc vagrant eval fc find fd xargs sudo doas env exec timeout nice pkexec bwrap firejail proot
	fakeroot dbus-run-session ssh-agent entr npx bunx uv poetry pipenv direnv mise asdf chronic unbuffer setpriv taskset
	prlimit chrt dumb-init tini gosu su-exec caffeinate xvfb-run start-stop-daemon daemonize capsh time nohup setsid stdbuf
	ionice command builtin busybox toybox coproc hyperfine perf valgrind`

	// coders have words of their own, and only code in one word counts.
	coders = `
	awk gawk mawk nawk sed trap alias bind complete compgen at batch git vim vi nvim ex ed emacs gdb expect osascript tar
	rsync`

	// far are those that run it elsewhere, where a system is not this one.
	far = `
	ssh docker podman nerdctl kubectl oc lxc vagrant chroot nsenter`
)

// inner looks at the code that a leaf carries.
func (l *line) inner(leaf *shell.Leaf, program string, argv []string, dirs []string, at int) *wire.Guard {
	code := leaf.Interprets() || program == "eval" || program == "trap"
	if readsCode(leaf) || program == "read" {
		for _, text := range l.fed {
			if hit := l.code(text, dirs, at); hit != nil {
				return hit
			}
		}
	}
	if strings.Contains(leaf.Via, "xargs") {
		for _, text := range l.fed {
			for _, word := range strings.Fields(text) {
				// The analysis has put an ellipsis where xargs adds words.
				given := slices.Clone(argv)
				for i := range given[1:] {
					given[i+1] = strings.NewReplacer("…", word, "{}", word).Replace(given[i+1])
				}
				if hit := l.again(given, dirs, at); hit != nil {
					return hit
				}
			}
		}
	}
	if program == "alias" {
		for _, a := range argv[1:] {
			_, a, _ = strings.Cut(a, "=")
			if hit := l.code(a, dirs, at); hit != nil {
				return hit
			}
		}
		return nil
	}
	if program == "eval" {
		return l.code(strings.Join(argv[1:], " "), dirs, at)
	}
	words := expand.Among(carriers, program)
	carries := words || expand.Among(coders, program)
	words = words || program == "git" && deed.Follows(argv[1:], "bisect|submodule run|foreach") >= 0
	if !code && !carries || program == "git" && !runsCode(argv) {
		return nil
	}
	was := l.far
	l.far = was || expand.Among(far, program)
	defer func() { l.far = was }()
	for i, a := range argv[1:] {
		if strings.ContainsAny(a, " \t\n;|&<>()'\"") {
			look := l.code
			if program == "sed" || program == "awk" || program == "gawk" {
				look = l.foreign
			}
			if hit := look(a, dirs, at); hit != nil {
				return hit
			}
			continue
		}
		if !words || leaf.Kind == shell.Transparent {
			continue
		}
		if name := base(a); dangerous(name) {
			rest := argv[i+1:]
			for j, w := range rest {
				if w == ";" || w == "+" && j > 0 && rest[j-1] == "{}" {
					rest = rest[:j]
					break
				}
			}
			if hit := l.code(strings.Join(quoted(rest), " "), dirs, at); hit != nil {
				return hit
			}
		}
	}
	return nil
}

// runsCode tells the commands of git that run others.
func runsCode(argv []string) bool {
	return deed.Follows(argv[1:], "rebase|bisect|submodule|filter-branch|config|alias") >= 0 || slices.Contains(argv, "-c")
}

// dangerous reports whether a word may be the name of a program that the tables
// speak of.
func dangerous(name string) bool {
	_, acts := roleOf(name)
	return acts || name == "mv" || name == "ln" || name == "cat" || name == "sh" || name == "bash" || name == "kx" || name == "find" || deed.Knows(name)
}

// again looks at a command whose words are other ones than it is written with.
func (l *line) again(argv, dirs []string, at int) *wire.Guard {
	if l.depth >= expand.MaxNested {
		return nil
	}
	script := l.analyze(strings.Join(quoted(argv), " "))
	in := l.nested(script, at, dirs)
	for i := range script.Leaves {
		if leaf := &script.Leaves[i]; leaf.Far || leaf.Nested {
			continue
		}
		if hit := in.leaf(&script.Leaves[i], at); hit != nil {
			return hit
		}
	}
	return nil
}

// quoted returns words as a shell would have to be given them.
func quoted(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		if w == "" || strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./~*?={}:,@%+") != "" {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		out[i] = w
	}
	return out
}

// code looks at text that is run: as a command line, and as it would name files
// in any language.
func (l *line) code(text string, dirs []string, at int) *wire.Guard {
	text = strings.TrimPrefix(text, "!") // of an alias of git
	if text == "" || l.depth >= expand.MaxNested {
		return nil
	}
	if hit := l.command(text, dirs, at); hit != nil {
		return hit
	}
	return l.nested(shell.Script{}, at, dirs).foreign(text, dirs, at)
}

// foreign looks at the code of another language.
func (l *line) foreign(text string, dirs []string, at int) *wire.Guard {
	a := place.Read
	for _, sign := range writing {
		if strings.Contains(text, sign) {
			a = place.All
		}
	}
	deletes := slices.ContainsFunc(deleting, func(sign string) bool { return strings.Contains(text, sign) })
	if hit := l.scan(text, a, false, deletes); hit != nil {
		return hit
	}
	if l.depth >= expand.MaxNested {
		return nil
	}
	// What it hands to a shell stands in quotes, and so do the words of a command.
	texts := literals(text)
	for i, t := range texts {
		if strings.ContainsAny(t, " \t") {
			if hit := l.command(t, dirs, at); hit != nil {
				return hit
			}
		} else if dangerous(base(t)) {
			if hit := l.again(texts[i:], dirs, at); hit != nil {
				return hit
			}
		}
	}
	return nil
}

// literals returns what stands in quotes, one behind the other.
func literals(code string) []string {
	var out []string
	for code != "" {
		at := strings.IndexAny(code, "'\"`")
		if at < 0 {
			break
		}
		end := strings.IndexByte(code[at+1:], code[at])
		if end < 0 {
			break
		}
		out, code = append(out, code[at+1:at+1+end]), code[at+end+2:]
	}
	return out
}

// command looks at text that is a command line.
func (l *line) command(text string, dirs []string, at int) *wire.Guard {
	script := l.analyze(text)
	if script.Unknown != "" {
		return nil
	}
	return l.nested(script, at, dirs).run(text)
}

// writing are signs that code changes the files that it names.
var writing = []string{
	"'w", "\"w", "'a'", "\"a\"", "write", "unlink", "rename", "remove", "rmtree", "rmSync", "copy", "chmod", "mkdir", "truncate", "symlink", "move", ">", "append",
}

// deleting are signs that code deletes whole folders.
var deleting = []string{"rmtree", "rmSync", "rmdirSync", "rm_rf", "rm_r", "remove_tree", "remove_entry", "removedirs", "rimraf", "emptyDir", "RemoveAll", "remove_dir_all", "fs.rm"}

// nested returns a line for code that stands in this one.
func (l *line) nested(script shell.Script, at int, dirs []string) *line {
	return &line{
		guard: l.guard, env: l.env, words: l.words, script: script, found: l.found, dirs: dirs, at: at, depth: l.depth + 1, fed: l.fed, far: l.far, dots: l.dots,
	}
}

// scan looks at text that is not a command line as far as anybody can tell: at
// everything in it that may be the name of a file, but system files. all adds
// the names of programs, deletes the folders that are not deleted.
func (l *line) scan(text string, a place.Act, all, deletes bool) *wire.Guard {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n'\"`()[]{}<>;|&,=:\x00", r) }) {
		if all && deed.Knows(base(word)) && (len(base(word)) > 2 || base(word) == "kx") && base(word) != "git" {
			return &wire.Guard{Name: "unknown", Reason: "a command that can't be understood names " + base(word)}
		}
		if !strings.ContainsAny(word, "./~") {
			continue
		}
		if deletes && strings.ContainsAny(word[:1], "~/$") {
			if hit := l.file(strings.Replace(word, "$HOME", "~", 1), []string{""}, place.Touch{Act: place.Remove, Deep: true}); hit != nil && hit.Name == "mass" {
				return hit
			}
		}
		word = path.Clean(l.words.Tilde(strings.TrimPrefix(word, "$HOME/")))
		if word[0] != '/' {
			word = l.words.Cwd + "/" + word
		}
		if !l.words.Spend(100) {
			return intricate()
		}
		hit := l.guard.places.Match(path.Clean(word), a)
		if hit == nil && l.env.Resolver != nil {
			if resolved, err := l.env.Resolver.Resolve(word); err == nil {
				hit = l.guard.places.Match(resolved, a)
			}
		}
		if hit != nil && hit.Name != "system" {
			return hit
		}
	}
	return nil
}
