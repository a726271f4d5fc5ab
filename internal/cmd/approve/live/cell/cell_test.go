package cell

import (
	"slices"
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/base/term"
)

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text        string
		width, hang int
		want        []string
	}{
		{"", 10, 2, []string{""}},
		{"abc", 3, 1, []string{"abc"}},
		{"go test ./...", 8, 2, []string{"go test ", "  ./..."}},
		{"go   test", 4, 0, []string{"go  ", " ", "test"}},
		{"abcdefghij", 4, 0, []string{"abcd", "efgh", "ij"}},
		{"abcdefghij", 6, 2, []string{"abcdef", "  ghij"}},
		{"a abcdefghij", 6, 2, []string{"a abcd", "  efgh", "  ij"}},
		{"abc abcdefghij", 6, 2, []string{"abc ", "  abcd", "  efgh", "  ij"}},
		{"日本語日本語", 5, 0, []string{"日本", "語日", "本語"}},
		{"abc 日本", 6, 0, []string{"abc ", "日本"}},
		{"é́é́é́", 2, 0, []string{"é́é́", "é́"}},
		{"👩👩👩", 5, 0, []string{"👩👩", "👩"}},
		{"abcdef", 4, 9, []string{"abcd", "  ef"}},
		{"a\x1b[2Jb", 20, 0, []string{`a\x1b[2Jb`}},
	} {
		if got := Wrap(c.text, c.width, c.hang); !slices.Equal(got, c.want) {
			t.Errorf("Wrap(%q, %d, %d) = %q, want %q", c.text, c.width, c.hang, got, c.want)
		}
	}
}

func TestFit(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		pad   bool
		want  string
	}{
		{"abc", 3, false, "abc"}, {"abcd", 3, false, "ab…"}, {"ab", 4, true, "ab  "}, {"日本語", 4, true, "日… "}, {"日本", 4, true, "日本"},
		{"abc", 0, false, ""}, {"abc", 1, false, "…"}, {"a\nb", 9, false, `a\nb`}, {"a\u202eb", 5, false, `a\u2…`},
	} {
		if got := Fit(c.text, c.width, c.pad); got != c.want {
			t.Errorf("Fit(%q, %d, %v) = %q, want %q", c.text, c.width, c.pad, got, c.want)
		}
	}
}

func TestRender(t *testing.T) {
	r := Row{{Text: "ab\x1b[31m", Style: "1"}, {Text: "cdefghij"}}
	if got, want := r.Render(12, true), "\x1b[1mab\\x1b[31m\x1b[mc…"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := r.Render(12, false), "ab\\x1b[31mc…"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestField(t *testing.T) {
	var f Field
	f.Insert("use the日本\nstaging\x1b bucket")
	f.Edit("home")
	f.Insert("please ")
	f.Edit("end")
	f.Edit("ctrl+w")
	f.Insert("db")
	f.Edit("left")
	f.Edit("backspace")
	if got, want := f.String(), `please use the日本 staging\x1b b`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if text, x := f.Window(10); Width(text[:strings.Index(text, "b")]) > 10 || x != 9 {
		t.Errorf("the window is %q, the cursor at %d", text, x)
	}
	f.Edit("ctrl+u")
	f.Edit("ctrl+k")
	f.Edit("delete")
	f.Edit("backspace")
	if f.String() != "" || f.Edit("tab") {
		t.Errorf("%q is left", f.String())
	}
	f.Insert(strings.Repeat("x", maxField+1))
	if f.String() != "" {
		t.Error("a flood was taken")
	}
}

// Nothing is lost at a break, no line is too wide, and a long text takes no more than
// its share of time.
func FuzzWrap(f *testing.F) {
	f.Add("go test ./... 日本語 👩‍💻 é́", uint8(10), uint8(2))
	f.Add(strings.Repeat("e\u0301", 50), uint8(3), uint8(0))
	f.Fuzz(func(t *testing.T, s string, width, hang uint8) {
		w, h := int(width)+4, int(hang)
		lines := Wrap(s, w, h)
		if h >= w/2 {
			h = 2
		}
		var b strings.Builder
		for i, l := range lines {
			if Width(l) > w {
				t.Fatalf("%q is wider than %d", l, w)
			}
			if i > 0 {
				l = l[h:]
			}
			b.WriteString(l)
		}
		if b.String() != term.Line(s) {
			t.Fatalf("%q was wrapped to %q", s, lines)
		}
	})
}

func BenchmarkWrap(b *testing.B) {
	for name, s := range map[string]string{"ascii": "abc def ", "wide": "日本語 ", "marks": "e\u0301", "emoji": "👍🏽"} {
		for size, n := range map[string]int{"10k": 10_000, "100k": 100_000} {
			text := strings.Repeat(s, n/len(s))
			b.Run(name+"/"+size, func(b *testing.B) {
				for b.Loop() {
					Wrap(text, 80, 2)
				}
			})
		}
	}
}
