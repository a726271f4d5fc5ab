package hunk

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/kxtools/kx/pkg/policy/patch"
)

// envelope is a patch of one file in the form of models.
func envelope(body string) string {
	return "*** Begin Patch\n*** Update File: f\n" + body + "*** End Patch\n"
}

func apply(t *testing.T, before, text string) (string, []string, error) {
	t.Helper()
	files, err := patch.Parse(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	var notes []string
	after, err := Apply(context.Background(), []byte(before), files[0].Hunks, &notes)
	return string(after), notes, err
}

const diff = "--- a/f\n+++ b/f\n"

func TestApply(t *testing.T) {
	for _, c := range []struct{ what, before, patch, after, note string }{
		{"a word", "a\nb\nc\n", envelope("@@\n a\n-b\n+B\n c\n"), "a\nB\nc\n", ""},
		{"no @@ at first", "a\nb\nc\n", envelope("-b\n+B\n"), "a\nB\nc\n", ""},
		{"two hunks", "a\nb\nc\nd\n", envelope("@@\n-a\n+A\n@@\n-d\n+D\n"), "A\nb\nc\nD\n", ""},
		{"context that overlaps", "a\nb\nc\n", envelope("@@\n-a\n+A\n b\n@@\n b\n-c\n+C\n"), "A\nb\nC\n", ""},
		{"below an anchor", "f\n x\ng\n x\n", envelope("@@ g\n- x\n+ y\n"), "f\n x\ng\n y\n", ""},
		{"below two", "A\nf\n x\nB\nf\n x\n", envelope("@@ B\n@@ f\n- x\n+ y\n"), "A\nf\n x\nB\nf\n y\n", ""},
		{"an anchor with its @@", "f\n x\ng\n x\n", envelope("@@ g @@\n- x\n+ y\n"), "f\n x\ng\n y\n", ""},
		{"the anchor again as context", "f\n x\ng\n x\n", envelope("@@ g\n g\n- x\n+ y\n"), "f\n x\ng\n y\n", ""},
		{"an indented anchor", "f\n x\n  g\n x\n", envelope("@@ g\n- x\n+ y\n"), "f\n x\n  g\n y\n", ""},
		{"new lines below an anchor", "f\ng\nh\n", envelope("@@ g\n+x\n"), "f\ng\nx\nh\n", ""},
		{"new lines at the end", "f\ng\n", envelope("@@\n+x\n"), "f\ng\nx\n", "at the end"},
		{"the end of the file", "x\ny\nx\n", envelope("@@\n-x\n+z\n*** End of File\n"), "x\ny\nz\n", ""},
		{"the same lines, in order", "a\nx\nb\nx\n", envelope("@@\n-b\n+B\n@@\n-x\n+y\n"), "a\nx\nB\ny\n", ""},
		{"out of order", "a\nb\nc\n", envelope("@@\n-c\n+C\n@@\n-a\n+A\n"), "A\nb\nC\n", "above the one before"},
		{"an empty line without its blank", "a\n\nb\n", envelope("@@\n a\n\n-b\n+B\n"), "a\n\nB\n", ""},
		{"an empty line before the end", "a\nb\n", envelope("@@\n-b\n+B\n\n"), "a\nB\n", ""},
		{"white space at the end", "a \nb\t\n", envelope("@@\n a\n-b\n+B\n"), "a \nB\n", "line 1, where white space at the end"},
		{"other indentation", "\ta\n\tb\n", envelope("@@\n     a\n-    b\n+\tB\n"), "\ta\n\tB\n", "where white space differs"},
		{"a forgotten blank", "\ta\n\tb\n", envelope("@@\n\ta\n-\tb\n+\tB\n"), "\ta\n\tB\n", ""},
		{"signs", "a \u2013 \u201cb\u201d\nc\n", envelope("@@\n a - \"b\"\n-c\n+C\n"), "a \u2013 \u201cb\u201d\nC\n", "typographic"},
		{"to nothing", "a\n", envelope("@@\n-a\n"), "", ""},
		{"into an empty file", "", envelope("@@\n+a\n"), "a\n", ""},
		{"numbers in an envelope", "a\nb\nb\n", envelope("@@ -3,1 +3,1 @@\n-b\n+B\n"), "a\nb\nB\n", ""},

		{"unified", "a\nb\nb\n", diff + "@@ -3 +3 @@\n-b\n+B\n", "a\nb\nB\n", ""},
		{"unified, moved", "x\ny\na\nb\n", diff + "@@ -1,2 +1,2 @@\n a\n-b\n+B\n", "x\ny\na\nB\n", "at line 3, not at line 1"},
		{"unified, the second is moved as the first", "x\na\nq\nq\n", diff + "@@ -1 +1 @@\n-a\n+A\n@@ -2 +2 @@\n-q\n+Q\n", "x\nA\nQ\nq\n", "at line 2"},
		{"unified, no context", "a\nb\n", diff + "@@ -1,0 +2 @@\n+x\n", "a\nx\nb\n", ""},
		{"unified, at the top", "a\nb\n", diff + "@@ -0,0 +1 @@\n+x\n", "x\na\nb\n", ""},
		{"unified, miscounted", "a\nb\nc\n", diff + "@@ -1,9 +1,9 @@\n a\n-b\n+B\n", "a\nB\nc\n", ""},
		{"unified, without numbers", "a\nb\nc\n", diff + "@@\n a\n-b\n+B\n", "a\nB\nc\n", ""},
		{"a line that looks like a header", "-- x\n", diff + "@@ -1 +1 @@\n--- x\n+++ y\n", "++ y\n", ""},

		{"no line end stays", "a\nb", envelope("@@\n-b\n+B\n"), "a\nB", ""},
		{"no line end stays, new first", "a\nb", envelope("@@\n+B\n-b\n"), "a\nB", ""},
		{"no line end stays behind new lines", "a\nb", envelope("@@\n b\n+c\n"), "a\nb\nc", ""},
		{"no line end stays far away", "a\nb", envelope("@@\n-a\n+A\n"), "A\nb", ""},
		{"the last line goes", "a\nb", envelope("@@\n a\n-b\n"), "a\n", ""},
		{"a line end is made", "a\nb", diff + "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n", "a\nb\n", ""},
		{"a line end is taken", "a\nb\n", diff + "@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n", "a\nb", ""},
		{"neither has a line end", "a\nb", diff + "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+B\n\\ No newline at end of file\n", "a\nB", ""},
		{"context without a line end", "a\nb", diff + "@@ -1,2 +1,2 @@\n-a\n+A\n b\n\\ No newline at end of file\n", "A\nb", ""},

		{"CRLF", "a\r\nb\r\nc\r\n", envelope("@@\n a\n-b\n+B\n+D\n"), "a\r\nB\r\nD\r\nc\r\n", ""},
		{"CRLF, patch too", "a\r\nb\r\n", strings.ReplaceAll(envelope("@@\n a\n-b\n+B\n"), "\n", "\r\n"), "a\r\nB\r\n", ""},
		{"LF, patch is CRLF", "a\nb\n", strings.ReplaceAll(envelope("@@\n a\n-b\n+B\n"), "\n", "\r\n"), "a\nB\n", ""},
		{"CRLF, no line end", "a\r\nb", envelope("@@\n b\n+c\n"), "a\r\nb\r\nc", ""},
		{"CRLF, a new last line", "a\r\nb\r\n", envelope("@@\n b\n+c\n"), "a\r\nb\r\nc\r\n", ""},
		{"CRLF, git's diff of it", "a\r\nb\r\n", diff + "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+B\r\n", "a\r\nB\r\n", ""},
		{"CRLF to LF", "a\r\nb\r\n", diff + "@@ -1,2 +1,2 @@\n-a\r\n-b\r\n+a\n+b\n", "a\nb\n", ""},
		{"LF to CRLF", "a\nb\n", diff + "@@ -1,2 +1,2 @@\n-a\n-b\n+a\r\n+b\r\n", "a\r\nb\r\n", ""},
		{"LF, the diff is of a CRLF file", "a\nb\n", diff + "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+B\r\n", "a\nB\n", "white space at the end"},
		{"mixed", "a\r\nb\nc\n", envelope("@@\n a\n+x\n b\n+y\n"), "a\r\nx\r\nb\ny\nc\n", ""},

		{"mark", "\ufeffa\nb\n", envelope("@@\n-a\n+A\n"), "\ufeffA\nb\n", ""},
		{"mark, at the top", "\ufeffa\nb\n", diff + "@@ -0,0 +1 @@\n+x\n", "\ufeffx\na\nb\n", ""},
		{"mark, in the patch", "\ufeffa\nb\n", diff + "@@ -1 +1 @@\n-\ufeffa\n+\ufeffA\n", "\ufeffA\nb\n", ""},
		{"mark, taken out", "\ufeffa\nb\n", diff + "@@ -1 +1 @@\n-\ufeffa\n+a\n", "a\nb\n", ""},
		{"mark, put in", "a\nb\n", diff + "@@ -1 +1 @@\n-a\n+\ufeffa\n", "\ufeffa\nb\n", ""},
		{"not UTF-8 around it", "\xe9\na\n", envelope("@@\n-a\n+b\n"), "\xe9\nb\n", ""},
	} {
		got, notes, err := apply(t, c.before, c.patch)
		all := strings.Join(notes, "; ")
		if err != nil || got != c.after || (c.note == "") != (all == "") || !strings.Contains(all, c.note) {
			t.Errorf("%s: %q %q %v, want %q %q", c.what, got, all, err, c.after, c.note)
		}
	}
}

func TestMismatch(t *testing.T) {
	for _, c := range []struct {
		what, before, patch, why, want, have string
		near                                 int
		places                               int
	}{
		{"nowhere", "a\nb\n", envelope("@@\n-x\n+y\n"), "hunk 1 (line 3 of the patch): its lines are not in the file", "x", "", 0, 0},
		{"the second", "a\nb\n", envelope("@@\n-a\n+A\n@@\n-x\n+y\n"), "hunk 2 (line 6 of the patch): its lines", "x", "", 0, 0},
		{"nearly", "a\nb\nc\nd\n", envelope("@@\n a\n b\n-x\n+y\n"), "the nearest place starts at line 1 and differs at line 3", "x", "c", 3, 0},
		{"behind the end", "a\nb\n", envelope("@@\n a\n b\n-c\n"), "differs at line 3", "c", "", 3, 0},
		{"twice", "a\nb\na\n", envelope("@@\n-a\n+b\n"), "fits in several places", "", "", 0, 2},
		{"twice but for white space", "a \nb\na \n", envelope("@@\n-a\n+b\n"), "fits in several places", "", "", 0, 2},
		{"moved, twice", "x\na\na\n", diff + "@@ -1 +1 @@\n-a\n+b\n", "several places", "", "", 0, 2},
		{"an anchor that is there twice", "f\n x\nf\n x\n", envelope("@@ f\n- x\n+ y\n"), "several places", "", "", 0, 2},
		{"new lines at one of two anchors", "f\nf\n", envelope("@@ f\n+y\n"), "several places", "", "", 0, 2},
		{"no such anchor", "f\n x\n", envelope("@@ g\n- x\n+ y\n"), `no line "g"`, "", "", 0, 0},
		{"above its anchor", "x\nf\n", envelope("@@ f\n-x\n+y\n"), `not below "f"`, "", "", 1, 0},
		{"the same lines again", "a\n", envelope("@@\n-a\n+b\n@@\n-a\n+c\n"), "not where the patch says, or another hunk changes them", "", "", 1, 0},
		{"applied already", "B\nc\n", envelope("@@\n-b\n+B\n c\n"), "at line 1: it may be applied already", "", "", 0, 0},
		{"no lines", "a\n", diff + "@@ -1 +1 @@\n", "it has no lines", "", "", 0, 0},
		{"no context, wrong numbers", "a\n", diff + "@@ -1,3 +1,4 @@\n+x\n", "place can't be told", "", "", 0, 0},
		{"behind the last line", "a\n", diff + "@@ -9,0 +10 @@\n+x\n", "there are 1 lines", "", "", 0, 0},
		{"it does not end there", "a\nb\na\n", diff + "@@ -1 +1 @@\n-b\n\\ No newline at end of file\n+B\n", "not where the patch says", "", "", 2, 0},
		{"empty", "", envelope("@@\n-a\n"), "the file is empty", "", "", 0, 0},
	} {
		_, _, err := apply(t, c.before, c.patch)
		var m *Mismatch
		if !errors.As(err, &m) {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		if !strings.Contains(m.Error(), c.why) || m.Want != c.want || m.Have != c.have || m.Near != c.near || len(m.Places) != c.places {
			t.Errorf("%s: %q %+v", c.what, m, m)
		}
	}
}

// The context ends a search in a file that is all alike.
func TestApplyEnds(t *testing.T) {
	files, err := patch.Parse(envelope("@@\n" + strings.Repeat(" a\n", 2000) + "-b\n"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var notes []string
	if _, err := Apply(ctx, []byte(strings.Repeat("a\n", 1_000_000)), files[0].Hunks, &notes); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Whatever the file and the patch are, the lines that a hunk does not name keep
// their bytes, and what comes out has all new lines.
func FuzzApply(f *testing.F) {
	f.Add("a\nb\nc\n", envelope("@@ a\n-b\n+B\n"))
	f.Add("a\r\nb", envelope("@@\n b\n+c\n*** End of File\n"))
	f.Add("\ufeffa\nb\n", diff+"@@ -1,2 +1 @@\n-a\n b\n\\ No newline at end of file\n")
	f.Add("x\n", diff+"@@ -0,0 +1 @@\n+\r\n")
	f.Fuzz(func(t *testing.T, before, text string) {
		files, err := patch.Parse(text)
		if err != nil {
			return
		}
		for _, file := range files {
			var notes []string
			after, err := Apply(context.Background(), []byte(before), file.Hunks, &notes)
			if err != nil {
				continue
			}
			plus, minus := 0, 0
			for _, h := range file.Hunks {
				for _, l := range h.Lines {
					switch l.Kind {
					case '+':
						plus++
						if want := strings.TrimRight(strings.TrimPrefix(l.Text, bom), "\r"); !strings.Contains(string(after), want) {
							t.Fatalf("%q + %q: %q is not in %q", before, text, want, after)
						}
					case '-':
						minus++
					}
				}
			}
			if got, want := count(string(after)), count(before)+plus-minus; got != want {
				t.Fatalf("%q + %q: %d lines, want %d: %q", before, text, got, want, after)
			}
		}
	})
}

// count counts lines; a text that is only a mark has none.
func count(s string) int {
	s = strings.TrimPrefix(s, bom)
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}
