package guard

import (
	"strings"

	"github.com/kxtools/kx/internal/gate/guard/expand"
	"github.com/kxtools/kx/internal/gate/guard/place"
	"github.com/kxtools/kx/pkg/policy/shell"
)

// role is what a program does with its operands beyond what the analysis of the
// shell knows.
type role struct {
	of      string // the programs
	removes bool   // they are deleted
	writes  bool   // those that may be files are written
	spreads bool   // what it changes of a folder it changes of all below, with -R
	deep    string // letters of the flags that make it work on whole folders; * = it always does
	reads   bool   // all its words but flags may be files that it reads, also where they are code
}

var roles = []role{
	{of: "rm", removes: true, deep: "rR"},
	{of: "rmdir unlink shred", removes: true},
	{of: "srm wipe", removes: true, deep: "r"},
	{of: "trash trash-put rmtrash gvfs-trash rimraf del", removes: true, deep: "*"},
	{of: "cp", writes: true, deep: "rRa"},
	{of: "install sftp tee sponge patch dd mkdir touch vim vi nvim nano emacs ed ex gzip gunzip bzip2 bunzip2 xz unxz zstd split csplit unzip cpio mknod mount umount rename prename fallocate sqlite3 patchelf setcap perltidy", writes: true},
	{of: "rsync", writes: true, deep: "*"},
	{of: "scp", writes: true, deep: "r"},
	{of: "chmod chown chgrp chattr setfacl chflags chcon restorecon", writes: true, spreads: true, deep: "R"},
	{of: "grep egrep fgrep", deep: "rR"},
	{of: "rg", deep: "u."},
	{of: "diff zip", deep: "r"},
	{of: "7z", deep: "*"},
	{of: "pushd cd chdir exec source .", reads: true},
}

// programs are those that have a role.
func programs() []string {
	var out []string
	for i := range roles {
		out = append(out, strings.Fields(roles[i].of)...)
	}
	return out
}

// roleOf returns the role of a program; known is whether there is one.
func roleOf(program string) (r role, known bool) {
	for i := range roles {
		if expand.Among(roles[i].of, program) {
			return roles[i], true
		}
	}
	return role{}, false
}

// outputs are flags whose value is a file that is written, of programs that are
// not known.
const outputs = "-o -O --output --out -out --outfile --output-file --target-directory --dest --destination --log-file --output-dir --outdir"

// use is a word that names a file, and what is done to the file.
type use struct {
	word shell.Word
	place.Touch
}

// touches returns the files of a leaf.
func touches(leaf *shell.Leaf, program string, argv []string) []use {
	var out []use
	add := func(w shell.Word, t place.Touch) {
		if !elsewhereIs(program, w.Text) {
			out = append(out, use{w, t})
		}
	}
	switch program {
	case "find":
		out, _ := found(leaf, argv)
		return out
	case "tar", "bsdtar":
		out = append(out, archived(leaf, argv)...)
	}
	r, _ := roleOf(program)
	if program == "gio" && len(argv) > 1 {
		r = role{removes: argv[1] == "trash" || argv[1] == "remove", writes: true, deep: "*"}
	}
	deep := r.deep == "*" || flagged(argv, r.deep)
	for i, f := range leaf.Files {
		t := place.Touch{Act: place.Read, Deep: deep && !f.Write}
		switch {
		case !f.Write:
		case program == "mv" || program == "ln":
			t = moved(program, leaf, argv, i)
		case r.removes:
			t = place.Touch{Act: place.Remove, Deep: deep}
			if program == "shred" {
				add(f.Path, place.Touch{Act: place.Write})
			}
		case program == "rsync" && deletes(argv) && i == len(leaf.Files)-1:
			t = place.Touch{Act: place.Remove, Deep: true}
			add(f.Path, place.Touch{Act: place.Write})
		default:
			t = place.Touch{Act: place.Write, Deep: deep, Spread: r.spreads && deep}
		}
		add(f.Path, t)
	}
	operands := leaf.Operands
	if leaf.Unknown != "" && program != "echo" && program != "printf" {
		// Nothing is told of a word that may become a flag.
		for i, w := range leaf.Words {
			if i > 0 && !w.Literal {
				operands = append(operands[:len(operands):len(operands)], w)
			}
		}
	}
	for _, w := range operands {
		t := place.Touch{Act: place.Read, Deep: deep}
		switch {
		case program == "git" && strings.ContainsAny(w.Text, " \n"), talk(w.Text):
			continue // a message
		case r.removes:
			t = place.Touch{Act: place.Remove, Deep: deep}
		case r.writes, program == "mv", program == "ln":
			t.Act |= place.Write
			t.Spread = r.spreads
		}
		if program == "tar" || program == "bsdtar" {
			t.Act = place.Read
		}
		add(w, t)
	}
	for _, w := range leaf.URLs {
		add(w, place.Touch{Act: place.Read})
	}
	for i, w := range leaf.Words {
		if i > 0 && !w.Literal && r.writes && strings.Contains(w.Text, "{") {
			add(w, place.Touch{Act: place.Read | place.Write}) // which of them is written is not asked
		}
		switch {
		case i == 0:
			if strings.Contains(w.Text, "/") {
				add(w, place.Touch{Act: place.Read})
			}
		case expand.Among(outputs, leaf.Words[i-1].Text) && !readsFiles(program):
			add(w, place.Touch{Act: place.Write})
		case r.reads || leaf.Interprets():
			add(w, place.Touch{Act: place.Read})
		default:
			if name, value, ok := strings.Cut(w.Text, "="); ok && expand.Among(outputs, name) {
				add(shell.Word{Text: value, Literal: w.Literal, Glob: w.Glob}, place.Touch{Act: place.Write})
			}
		}
	}
	if inPlace(program, argv) {
		for _, w := range leaf.Words[1:] {
			add(w, place.Touch{Act: place.Write})
		}
	}
	return out
}

// elsewhereIs reports whether an operand is a file of another machine.
func elsewhereIs(program, text string) bool {
	host, _, ok := strings.Cut(text, ":")
	switch program {
	case "scp", "rsync", "sftp":
		return ok && host != "" && !strings.Contains(host, "/")
	}
	return strings.Contains(text, "://") && !strings.HasPrefix(strings.ToLower(text), "file:") && !strings.Contains(host, "/")
}

// talk reports whether an operand is a sentence and no path.
func talk(text string) bool {
	return strings.ContainsAny(text, " \n\t") && !strings.ContainsAny(text[:1], "/.~$")
}

// readsFiles is for programs whose -o is no file.
func readsFiles(program string) bool {
	switch program {
	case "grep", "egrep", "fgrep", "rg", "ls", "ps", "find", "set", "mount", "ssh", "git", "kubectl", "docker", "aws", "az", "gcloud", "kx", "uniq", "column", "comm", "test", "[":
		return true
	}
	return false
}

// inPlace reports whether an interpreter changes the files that it gets.
func inPlace(program string, argv []string) bool {
	switch program {
	case "perl", "ruby":
		for _, a := range argv[1:] {
			if strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.Contains(a, "i") && !strings.HasPrefix(a, "-I") {
				return true
			}
		}
	case "awk", "gawk":
		return strings.Contains(strings.Join(argv, " "), "inplace")
	}
	return false
}

// moved is what mv and ln do to their i-th file.
func moved(program string, leaf *shell.Leaf, argv []string, i int) place.Touch {
	target := len(leaf.Files) - 1
	for at, a := range argv {
		if (a == "-t" || a == "--target-directory") && at+1 < len(argv) {
			for j, f := range leaf.Files {
				if f.Path.Text == argv[at+1] {
					target = j
				}
			}
		} else if strings.HasPrefix(a, "--target-directory=") || len(a) > 2 && strings.HasPrefix(a, "-t") {
			target = -1
		}
	}
	switch {
	case program == "ln" && (i != target || len(leaf.Files) == 1):
		return place.Touch{Act: place.Read | place.Link}
	case i == target:
		return place.Touch{Act: place.Write}
	}
	return place.Touch{Act: place.Remove | place.Read}
}

func deletes(argv []string) bool {
	for _, a := range argv {
		if strings.HasPrefix(a, "--del") {
			return true
		}
	}
	return false
}

// flagged reports whether one of the short flags is given, or --recursive.
func flagged(argv []string, letters string) bool {
	if letters == "" || len(argv) == 0 {
		return false
	}
	for _, a := range argv[1:] {
		switch {
		case a == "--":
			return false
		case strings.HasPrefix(a, "--"):
			if len(a) > 4 && strings.HasPrefix("--recursive", a) || a == "--archive" || a == "--hidden" || a == "--no-ignore" {
				return true
			}
		case strings.HasPrefix(a, "-") && strings.ContainsAny(a[1:], letters):
			return true
		}
	}
	return false
}
