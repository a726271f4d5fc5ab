package file

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kxtools/kx/internal/tools/file/match"
	"github.com/kxtools/kx/internal/tools/file/place"
)

func TestEditFile(t *testing.T) {
	w := newWorkspace(t)
	for _, c := range []struct {
		what, before, old, new, after string
		all                           bool
		n, added, removed             int
	}{
		{"a word", "one\ntwo\nthree\n", "two", "2", "one\n2\nthree\n", false, 1, 1, 1},
		{"lines", "a\nb\nc\nd\n", "b\nc\n", "x\n", "a\nx\nd\n", false, 1, 1, 2},
		{"to nothing", "a\nb\n", "b\n", "", "a\n", false, 1, 0, 1},
		{"all", "a b a\na\n", "a", "c", "c b c\nc\n", true, 3, 2, 2},
		{"all of one", "a b\n", "a", "c", "c b\n", true, 1, 1, 1},
		{"overlapping, all", "aaa\n", "aa", "b", "ba\n", true, 1, 1, 1},
		{"no line end at the end", "a\nb", "b", "c", "a\nc", false, 1, 1, 1},
		{"the whole", "a", "a", "b", "b", false, 1, 1, 1},
		{"CRLF, LF given", "a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n", "x\r\ny\r\nz\r\nc\r\n", false, 1, 3, 2},
		{"CRLF, CRLF given", "a\r\nb\r\n", "a\r\nb", "x\r\ny", "x\r\ny\r\n", false, 1, 2, 2},
		{"CRLF, one line to two", "a\r\nb\r\n", "a", "x\ny", "x\r\ny\r\nb\r\n", false, 1, 2, 1},
		{"mixed, LF part", "a\r\nb\nc\n", "b\nc", "x\ny", "a\r\nx\ny\n", false, 1, 2, 2},
		{"mixed, CRLF part", "a\r\nb\r\nc\n", "a\nb", "x\ny", "x\r\ny\r\nc\n", false, 1, 2, 2},
		{"byte order mark", "\xef\xbb\xbfa\nb\n", "a", "x", "\xef\xbb\xbfx\nb\n", false, 1, 1, 1},
		{"not UTF-8 around it", "caf\xe9 one\n\xe9t\xe9\n", "one", "two", "caf\xe9 two\n\xe9t\xe9\n", false, 1, 1, 1},
		{"NUL far behind", strings.Repeat("x\n", 5000) + "\x00 end", "end", "END", strings.Repeat("x\n", 5000) + "\x00 END", false, 1, 1, 1},
		{"signs of a regexp", "f(a|b)*$1\n", "f(a|b)*$1", "${0}", "${0}\n", false, 1, 1, 1},
	} {
		w.put("f", c.before, 0o751)
		out, err := w.call("edit_file", map[string]any{"path": "f", "old_string": c.old, "new_string": c.new, "replace_all": c.all})
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		got := []any{w.get("f"), out["replacements"], out["added"], out["removed"], out["sha256"], out["path"], mode(t, w.path("f")).String()}
		want := []any{c.after, c.n, c.added, c.removed, sum(c.after), "f", "-rwxr-x--x"}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", c.what, d)
		}
	}
	w.clean()
}

func TestEditFileShowsTheChange(t *testing.T) {
	w := newWorkspace(t)
	w.put("f.go", "package f\r\n\r\nfunc a() {}\r\n", 0o644)
	out, err := w.call("edit_file", map[string]any{"path": "f.go", "old_string": "a()", "new_string": "b()"})
	want := "wrote f.go (+1 -1 lines, 26 bytes)\n@@ -1,3 +1,3 @@\n package f\n \n-func a() {}\n+func b() {}"
	if err != nil || out.Text() != want {
		t.Errorf("%v %v, want %q", out, err, want)
	}
	w.put("f.go", strings.Repeat("a\n", 500), 0o644)
	out, err = w.call("edit_file", map[string]any{"path": "f.go", "old_string": "a", "new_string": "b", "replace_all": true})
	if err != nil || !strings.HasSuffix(out.Text(), "\n[the rest of the diff is left out]") || len(out.Text()) > maxDiffBytes+200 {
		t.Errorf("%v %v", out, err)
	}
}

func TestEditFileRefuses(t *testing.T) {
	w := newWorkspace(t)
	files := map[string]string{
		"f":      "func a() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 1\n}\n",
		"run":    "aaa",
		"many":   strings.Repeat("x\n", 30),
		"binary": "\x7fELF\x00old",
		"utf16":  "\xff\xfeo\x00l\x00d\x00",
		"latin":  "caf\xe9\n",
		"crlf":   "a\r\nb\r\n",
		"huge":   "",
	}
	for n, content := range files {
		w.put(n, content, 0o644)
	}
	w.must(os.Truncate(w.path("huge"), place.MaxWhole+1))
	for _, c := range []struct {
		what, path, old, new, code string
		exit                       int
		words                      string
	}{
		{"ambiguous", "f", "return 1", "return 2", "ambiguous_match", 1, "in f 2 times, at lines 2, 6: "},
		{"overlapping", "run", "aa", "b", "ambiguous_match", 1, "2 times, at lines 1, 1"},
		{"often", "many", "x", "y", "ambiguous_match", 1, "30 times, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, ...:"},
		{"not there", "f", "func c", "x", "no_match", 1, "old_string is not in f"},
		{"other white space", "f", "func b() {\n    return 1\n}", "x", "no_match", 1, "with other white space it is at line 5"},
		{"other lines", "f", "func b() {\n\treturn 2\n}", "x", "no_match", 1, "line 5 is like its first line"},
		{"line numbers", "f", "     1\tfunc a() {\n     2\t\treturn 1", "x", "no_match", 1, "leave out the line numbers"},
		{"U+FFFD", "latin", "caf\uFFFD", "x", "no_match", 1, "stands for bytes"},
		{"only white space", "f", " \n ", "x", "no_match", 1, ""},
		{"the same", "f", "func a", "func a", "invalid_input", 2, "the same"},
		{"the same but for line ends", "crlf", "a\nb", "a\r\nb", "invalid_input", 2, "line ends"},
		{"empty old_string", "f", "", "x", "invalid_input", 2, ""},
		{"binary", "binary", "old", "new", "binary_file", 1, "ELF"},
		{"UTF-16", "utf16", "old", "new", "utf16_file", 1, "UTF-16"},
		{"too large", "huge", "old", "new", "too_large", 6, "64.0 MiB"},
		{"missing", "nonesuch", "old", "new", "no_such_file", 8, "write_file makes a new file"},
	} {
		w.fails(c.what, "edit_file", map[string]any{"path": c.path, "old_string": c.old, "new_string": c.new}, c.code, c.exit, c.words)
	}
	w.fails("growth", "edit_file", map[string]any{"path": "many", "old_string": "x", "new_string": strings.Repeat("y", 4<<20), "replace_all": true}, "too_large", 6, "would have")
	w.fails("no new_string", "edit_file", map[string]any{"path": "f", "old_string": "a"}, "invalid_input", 2, "missing")
	for n, content := range files {
		if n != "huge" && w.get(n) != content {
			t.Errorf("%s was changed", n)
		}
	}
	w.clean()
}

// Bytes outside the match never change, whatever they are.
func FuzzEdit(f *testing.F) {
	f.Add([]byte("a\r\nb\nc"), "b", "x\ny")
	f.Add([]byte("\xef\xbb\xbf\xff\x00a"), "a", "")
	f.Add([]byte("a\r\n\r\nb\r\n"), "a\n\nb", "c\n")
	f.Fuzz(func(t *testing.T, content []byte, old, new string) {
		if old == "" {
			return
		}
		in := editInput{Old: old, New: &new}
		after, n, err := in.apply(&target{Place: &place.Place{Show: "f"}}, content)
		if err != nil {
			return
		}
		from, to := match.LineEnds(content, old, new)
		at := strings.Index(string(content), string(from))
		want := string(content[:at]) + string(to) + string(content[at+len(from):])
		if n != 1 || string(after) != want {
			t.Fatalf("%q: %q -> %q: %q, want %q (%d)", content, old, new, after, want, n)
		}
	})
}
