package patch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// short is a section in one line: what, path, where to, permission, hunks, and the
// lines of each hunk.
func short(f *File) string {
	s := [...]string{"update", "add", "delete"}[f.Op] + " " + f.Path
	if f.To != "" {
		s += " > " + f.To
	}
	s += [...]string{"", " +x", " -x"}[f.Exec]
	for _, h := range f.Hunks {
		s += " |"
		for _, a := range h.Anchors {
			s += "@" + a
		}
		for _, l := range h.Lines {
			s += string(l.Kind) + l.Text
			if l.Cut {
				s += "$"
			}
		}
		if h.End {
			s += " end"
		}
	}
	return s
}

func env(body string) string { return "*** Begin Patch\n" + body + "*** End Patch\n" }

func TestParse(t *testing.T) {
	const hunk, read = "@@ -1 +1 @@\n-a\n+b\n", " |-a+b"
	for _, c := range []struct{ what, text, want string }{
		{"add", env("*** Add File: a/b\n+x\n+\n+y\n"), "add a/b |+x++y"},
		{"add, an empty line bare", env("*** Add File: a\n+x\n\n+y\n\n*** Delete File: b\n"), "add a |+x++y; delete b"},
		{"add nothing", env("*** Add File: a\n"), "add a"},
		{"delete", env("*** Delete File: a b \n"), "delete a b"},
		{"update", env("*** Update File: a\n@@ class A\n@@  def f\n x\n-y\n+z\n*** End of File\n"), "update a |@class A@ def f x-y+z end"},
		{"two hunks", env("*** Update File: a\n-x\n+y\n@@\n-z\n"), "update a |-x+y |-z"},
		{"move", env("*** Update File: a\n*** Move to: b/c\n@@\n-x\n+y\n"), "update a > b/c |-x+y"},
		{"move only", env("*** Update File: a\n*** Move to: b\n"), "update a > b"},
		{"white space around marks", "\n  *** Begin Patch  \n *** Delete File:  a\t\n*** End Patch \n\n", "delete a"},
		{"here-document", "<<'EOF'\n" + env("*** Delete File: a\n") + "EOF\n", "delete a"},
		{"here-document with its command", "apply_patch <<\"PATCH\"\n" + env("*** Delete File: a\n") + "PATCH", "delete a"},
		{"fence", "```diff\n" + env("*** Delete File: a\n") + "```\n", "delete a"},
		{"CRLF", strings.ReplaceAll(env("*** Update File: a\n@@\n-x\n+y\n"), "\n", "\r\n"), "update a |-x+y"},
		{"a name like a mark", env("*** Add File: *** End Patch\n+x\n"), "add *** End Patch |+x"},
		{"marks as content", env("*** Add File: a\n+*** End Patch\n+*** Add File: b\n"), "add a |+*** End Patch+*** Add File: b"},
		{"marks as context", env("*** Update File: a\n@@\n *** End Patch\n-x\n"), "update a | *** End Patch-x"},
		{"a diff in an envelope", env("--- a/f\n+++ b/f\n" + hunk), "update f" + read},

		{"diff -u", "--- f\t2026-01-02 03:04:05.000000000 +0100\n+++ f\t2026-01-02 03:04:06.000000000 +0100\n" + hunk, "update f" + read},
		{"diff -u with a command", "diff -u f.orig f\n--- f.orig\t2026\n+++ f\t2026\n" + hunk, "update f" + read},
		{"diff -ru", "--- old/d/f\n+++ new/d/f\n" + hunk, "update d/f" + read},
		{"git's prefixes", "--- a/d/f\n+++ b/d/f\n" + hunk, "update d/f" + read},
		{"other prefixes", "diff --git i/f w/f\n--- i/f\n+++ w/f\n" + hunk, "update f" + read},
		{"no prefix", "diff --git a/f a/f\n--- a/f\n+++ a/f\n" + hunk, "update a/f" + read},
		{"new", "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n", "add f |+x"},
		{"new by its date", "--- f\t1970-01-01 00:00:00.000000000 +0000\n+++ f\t2026-01-01 00:00:00.000000000 +0000\n@@ -0,0 +1 @@\n+x\n", "add f |+x"},
		{"new by its date elsewhere", "--- f\t1970-01-01 01:00:00.000000000 +0100\n+++ f\t2026-01-01 00:00:00.000000000 +0000\n@@ -0,0 +1 @@\n+x\n", "add f |+x"},
		{"gone", "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", "delete f |-x"},
		{"git, new", "diff --git a/f b/f\nnew file mode 100755\nindex 000..111\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n", "add f +x |+x"},
		{"git, new and empty", "diff --git a/d/f b/d/f\nnew file mode 100644\nindex 000..e69\n", "add d/f"},
		{"git, gone and empty", "diff --git a/f b/f\ndeleted file mode 100644\n", "delete f"},
		{"git, mode", "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n", "update f +x"},
		{"git, mode back", "diff --git a/f b/f\nold mode 100755\nnew mode 100644\n", "update f -x"},
		{"git, rename", "diff --git a/d/f b/e/f\nsimilarity index 100%\nrename from d/f\nrename to e/f\n", "update d/f > e/f"},
		{"git, rename with changes", "diff --git a/f b/g\nrename from f\nrename to g\nindex 1..2 100644\n--- a/f\n+++ b/g\n" + hunk, "update f > g" + read},
		{"git, blanks in names", "diff --git a/x y b/x y\nnew mode 100755\n", "update x y +x"},
		{"git, a blank at the end", "diff --git a/x  b/x \n--- a/x \t\n+++ b/x \t\n" + hunk, "update x " + read},
		{"git, quoted", "diff --git \"a/\\303\\244\\t\\\"\\n\" \"b/\\303\\244\\t\\\"\\n\"\n--- \"a/\\303\\244\\t\\\"\\n\"\n+++ \"b/\\303\\244\\t\\\"\\n\"\n" + hunk, "update ä\t\"\n" + read},
		{"git, half quoted", "diff --git a/x \"b/\\t\"\nrename from x\nrename to \"\\t\"\n", "update x > \t"},
		{"two sections", "--- a/f\n+++ b/f\n" + hunk + "--- a/g\n+++ b/g\n" + hunk, "update f" + read + "; update g" + read},
		{"two sections, miscounted", "--- a/f\n+++ b/f\n@@ -1,7 +1,8 @@\n-a\n+b\n--- a/g\n+++ b/g\n" + hunk, "update f" + read + "; update g" + read},
		{"lines like names, counted", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n--- a/g\n+++ b/g\n@@ -5 +5 @@\n-x\n", "update f |--- a/g+++ b/g |-x"},
		{"a mail", "From 1234 Mon\nSubject: x\n---\n f | 2 +-\n\ndiff --git a/f b/f\n--- a/f\n+++ b/f\n" + hunk + "-- \n2.39\n", "update f" + read},
		{"no line end", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file", "update f |-a$+b$"},
		{"an empty line of context", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n\n-a\n+b\n", "update f | -a+b"},
		{"git's diff of a CRLF file", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\r\n+b\r\n", "update f |-a\r+b\r"},
	} {
		files, err := Parse(c.text)
		var got []string
		for i := range files {
			got = append(got, short(&files[i]))
		}
		if err != nil || strings.Join(got, "; ") != c.want {
			t.Errorf("%s: %q %v, want %q", c.what, got, err, c.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	const hunk = "@@ -1 +1 @@\n-a\n+b\n"
	for _, c := range []struct{ what, text, want string }{
		{"nothing", "", "names no file"},
		{"words", "please change f", "names no file"},
		{"no end", "*** Begin Patch\n*** Add File: a\n+x\n", "cut off"},
		{"text behind the end", env("*** Add File: a\n+x\n") + "more", "cut off"},
		{"an end inside", env("*** Delete File: a\n*** End Patch\n*** Delete File: b\n"), "line 3 of the patch: *** End Patch stands inside"},
		{"empty", env(""), "names no file"},
		{"no name", env("*** Delete File:\n"), "the name of the file is missing"},
		{"move to nothing", env("*** Update File: a\n*** Move to:\n-x\n"), "missing"},
		{"an unknown mark", env("*** Copy File: a\n"), "expected *** Add File:"},
		{"a bare line in a new file", env("*** Add File: a\nx\n"), "line 3 of the patch: every line of a new file starts with +"},
		{"no hunks", env("*** Update File: a\n"), "nothing is to change"},
		{"a hunk without lines", env("*** Update File: a\n@@\n"), "no lines"},
		{"only empty lines", env("*** Update File: a\n@@\n\n\n"), "no lines"},
		{"a bare line in a hunk", env("*** Update File: a\n@@\n-x\nyy\n"), "line 5 of the patch: a line of a hunk starts with"},
		{"too many", env(strings.Repeat("*** Delete File: a\n", maxFiles+1)), "line 203 of the patch: more than 200 files"},
		{"a long name", env("*** Delete File: " + strings.Repeat("n", maxPath+1) + "\n"), "too long"},
		{"NUL", env("*** Delete File: a\x00b\n"), "NUL"},

		{"two names", "--- a/f\n+++ b/g\n" + hunk, "names two files"},
		{"two names in a git diff", "diff --git a/f b/f\n--- a/g\n+++ b/g\n" + hunk, "not the files that were named before"},
		{"two new names in a git diff", "diff --git a/f b/f\nnew file mode 100644\n--- /dev/null\n+++ b/g\n" + hunk, "not the file of the diff --git line"},
		{"a rename and other names", "diff --git a/f b/g\nrename from f\nrename to g\n--- a/x\n+++ b/y\n" + hunk, "not the files"},
		{"half a rename", "diff --git a/f b/g\nrename from f\n", "one end of the rename"},
		{"a git diff of two", "diff --git a/f b/g\nnew mode 100755\n", "can't be told apart"},
		{"a rename of others", "diff --git a/f b/f\nrename from x\nrename to y\n", "name different files"},
		{"blanks that can't be told", "diff --git x y z\nnew mode 100755\n", "can't be told apart"},
		{"nowhere", "--- /dev/null\n+++ /dev/null\n" + hunk, "both sides"},
		{"copy", "diff --git a/f b/g\nsimilarity index 100%\ncopy from f\ncopy to g\n", "copies are not applied"},
		{"binary", "diff --git a/f b/f\nindex 1..2 100644\nGIT binary patch\nliteral 1\n", "binary"},
		{"binary files", "diff --git a/f b/f\nindex 1..2 100644\nBinary files a/f and b/f differ\n", "binary"},
		{"binary files of diff", "Binary files f and g differ\n", "binary"},
		{"a link", "diff --git a/f b/f\nnew file mode 120000\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+/etc\n\\ No newline at end of file\n", "symbolic links"},
		{"a link that changes", "diff --git a/f b/f\nindex 1..2 120000\n--- a/f\n+++ b/f\n" + hunk, "symbolic links"},
		{"a submodule", "diff --git a/f b/f\nindex 1..2 160000\n--- a/f\n+++ b/f\n" + hunk, "submodules"},
		{"a merge", "diff --cc f\n@@@ -1 -1 +1 @@@\n", "merge"},
		{"a context diff", "*** f\n--- f\n***************\n", "neither the envelope"},
		{"a hunk alone", hunk, "outside of a file's section"},
		{"--- alone", "--- a/f\n" + hunk, "--- without +++"},
		{"+++ alone", "+++ b/f\n" + hunk, "+++ without ---"},
		{"words in a hunk", "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n-a\nwhat is this\n+b\n", "line 5 of the patch: a line of a hunk"},
		{"lines behind a hunk", "--- a/f\n+++ b/f\n" + hunk + "words\n" + hunk, "outside of a file's section"},
		{"no hunk", "--- a/f\n+++ b/f\n", "nothing is to change"},
		{"not UTF-8", "--- \"a/\\377\"\n+++ \"b/\\377\"\n" + hunk, "not UTF-8"},
		{"an open quote", "--- \"a/f\n+++ \"b/f\n" + hunk, "no end"},
		{"an escape too large", "--- \"a/\\777\"\n+++ \"b/\\777\"\n" + hunk, "no byte"},
		{"huge numbers", "--- a/f\n+++ b/f\n@@ -1,99999999999999999999 +1 @@\nx\n", "a line of a hunk"},
	} {
		files, err := Parse(c.text)
		if err == nil || files != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v %v, want %q", c.what, files, err, c.want)
		}
	}
}

// Names of a patch that can't be read are guessed, so that a deny of one is heard.
func TestNames(t *testing.T) {
	for text, want := range map[string]string{
		"*** Move to: .env":                        "[.env]",
		"--- a/x\n":                                "[a/x x]",
		"  +++ \"b/\\303\\244\"\n@@":               "[b/ä ä]",
		"rename to  y z\n*** Update File:.env\r\n": "[y z .env]",
		"--- /dev/null":                            "[]",
	} {
		names, err := Names(text)
		if err == nil || fmt.Sprint(names) != want {
			t.Errorf("%q: %q %v, want %s", text, names, err, want)
		}
	}
	names, err := Names(env("*** Update File: a\n*** Move to: b\n*** Add File: c\n+--- d\n"))
	if err != nil || !slices.Equal(names, []string{"a", "b", "c"}) {
		t.Errorf("%q %v", names, err)
	}
}

// A reading ends, is the same again, and names every file that it changes.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		env("*** Update File: a\n*** Move to: b\n@@ x\n a\n-b\n+c\n*** End of File\n*** Add File: d\n+e\n*** Delete File: f\n"),
		"diff --git a/f b/g\nsimilarity index 9%\nrename from f\nrename to g\n--- a/f\n+++ b/g\n@@ -1,2 +1 @@\n-a\n b\n\\ No newline at end of file\n",
		"--- \"a/\\303\\244\"\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", "<<'E'\n*** Begin Patch\n*** End Patch\nE\n", "```\n```\n```", "@@ -1 +1 @@", "\r\n",
		"diff --git a/x b/x b/x b/x\nnew mode 100755\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		files, err := Parse(text)
		names, err2 := Names(text)
		if (err == nil) != (err2 == nil) || err != nil && files != nil {
			t.Fatalf("%v %v %v", files, err, err2)
		}
		again, _ := Parse(text)
		if fmt.Sprint(files) != fmt.Sprint(again) {
			t.Fatal("it is read in two ways")
		}
		for i := range files {
			file := &files[i]
			if !slices.Contains(names, file.Path) || file.To != "" && !slices.Contains(names, file.To) {
				t.Fatalf("%q does not name %q", names, short(file))
			}
			for _, h := range file.Hunks {
				if h.Blank > len(h.Lines) {
					t.Fatalf("%d of %d lines are empty", h.Blank, len(h.Lines))
				}
				for _, l := range h.Lines {
					if strings.IndexByte(" +-", l.Kind) < 0 || strings.Contains(l.Text, "\n") {
						t.Fatalf("a line %+v", l)
					}
				}
			}
		}
	})
}
