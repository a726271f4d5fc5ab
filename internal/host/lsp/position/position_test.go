package position

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sourcegraph/go-lsp"
)

func TestLines(t *testing.T) {
	for text, want := range map[string][]string{
		"":                  {""},
		"a":                 {"a"},
		"a\n":               {"a", ""},
		"a\r\nb":            {"a", "b"},
		"a\rb":              {"a", "b"},
		"a\r":               {"a", ""},
		"a\n\rb":            {"a", "", "b"},
		"a\r\r\n\nb":        {"a", "", "", "b"},
		"\ufeffpackage x\n": {"\ufeffpackage x", ""},
		"a\xff\n\x80":       {"a\xff", "\x80"},
		"a\u2028b\vc":       {"a\u2028b\vc"},
	} {
		x := New([]byte(text))
		var got []string
		for n := 1; n <= x.Lines(); n++ {
			got = append(got, x.Line(n))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if x.Line(0) != "" || x.Line(x.Lines()+1) != "" {
			t.Errorf("%q: lines beside the text", text)
		}
	}
}

// The places of one text, in each encoding.
func TestPlaces(t *testing.T) {
	x := New([]byte("\ufeffa\r\n\té😀x\n" + "e\u0301👨\u200d👩\n" + "\xff\xfez\rlast"))
	for _, c := range []struct {
		line, column     int
		u8, u16, u32     int
		offset, nextUTF8 int // bytes, and where the character ends for a server that counts bytes
	}{
		{1, 1, 0, 0, 0, 0, 3},  // the mark at the start is a character
		{1, 2, 3, 1, 1, 3, 4},  // a
		{2, 1, 0, 0, 0, 6, 1},  // a tab is one
		{2, 2, 1, 1, 1, 7, 3},  // é
		{2, 3, 3, 2, 2, 9, 7},  // the emoji
		{2, 4, 7, 4, 3, 13, 8}, // x
		{3, 2, 1, 1, 1, 16, 3}, // a combining mark
		{3, 3, 3, 2, 2, 18, 7}, // a man
		{3, 4, 7, 4, 3, 22, 10},
		{3, 5, 10, 5, 4, 25, 14},
		{4, 1, 0, 0, 0, 30, 3}, // a byte that is not UTF-8 is U+FFFD to servers
		{4, 3, 6, 2, 2, 32, 7}, // z
		{5, 4, 3, 3, 3, 37, 4}, // behind a lone \r
	} {
		for enc, want := range map[Encoding]int{UTF8: c.u8, UTF16: c.u16, UTF32: c.u32, "": c.u16} {
			p, err := x.ToLSP(c.line, c.column, enc)
			if err != nil || p != (lsp.Position{Line: c.line - 1, Character: want}) {
				t.Errorf("%d:%d in %s is %v, %v, want %d", c.line, c.column, enc, p, err, want)
			}
			if line, column := x.FromLSP(p, enc); line != c.line || column != c.column {
				t.Errorf("%v in %s is %d:%d, want %d:%d", p, enc, line, column, c.line, c.column)
			}
			if got := x.offset(p, enc); got != c.offset {
				t.Errorf("%v in %s is at byte %d, want %d", p, enc, got, c.offset)
			}
		}
		for u := c.u8; u < c.nextUTF8; u++ { // inside the character: its start
			p := lsp.Position{Line: c.line - 1, Character: u}
			if line, column := x.FromLSP(p, UTF8); line != c.line || column != c.column {
				t.Errorf("%v is %d:%d, want %d:%d", p, line, column, c.line, c.column)
			}
		}
	}
	if line, column := x.FromLSP(lsp.Position{Line: 1, Character: 3}, UTF16); line != 2 || column != 3 {
		t.Errorf("inside a surrogate pair: %d:%d", line, column)
	}
}

func TestPlacesThatAreNot(t *testing.T) {
	x := New([]byte("ab\né\n"))
	for _, at := range [][2]int{{0, 1}, {1, 0}, {-1, 1}, {4, 1}} {
		if p, err := x.ToLSP(at[0], at[1], UTF16); err == nil {
			t.Errorf("%v is %v", at, p)
		}
	}
	for at, want := range map[[2]int]lsp.Position{
		{1, 9}: {Line: 0, Character: 2}, {2, 9}: {Line: 1, Character: 1}, {3, 9}: {Line: 2},
	} {
		if p, err := x.ToLSP(at[0], at[1], UTF16); err != nil || p != want {
			t.Errorf("%v is %v, %v, want %v", at, p, err, want)
		}
	}
	for p, want := range map[lsp.Position][3]int{
		{Line: -1, Character: 5}: {1, 1, 0}, {Line: 0, Character: -5}: {1, 1, 0}, {Line: 0, Character: 99}: {1, 3, 2},
		{Line: 1, Character: 99}: {2, 2, 5}, {Line: 99, Character: 0}: {3, 1, 6},
	} {
		line, column := x.FromLSP(p, UTF16)
		if got := [3]int{line, column, x.offset(p, UTF16)}; got != want {
			t.Errorf("%v is %v, want %v", p, got, want)
		}
	}
}

// A long line has the places that it would have if each were counted from its start.
func TestLongLine(t *testing.T) {
	line := strings.Repeat("aé😀e\u0301\xff"+strings.Repeat("x", 300), 20)
	x := New([]byte("short\n" + line + "\r\n" + strings.Repeat("é", 10)))
	for _, enc := range []Encoding{UTF8, UTF16, UTF32} {
		column, units := 1, 0
		for i, r := range line {
			at := lsp.Position{Line: 1, Character: units}
			if got, err := x.ToLSP(2, column, enc); err != nil || got != at {
				t.Fatalf("%s, column %d: %v, %v; want %v", enc, column, got, err, at)
			}
			if n, c := x.FromLSP(at, enc); n != 2 || c != column {
				t.Fatalf("%s, %v: %d:%d, want column %d", enc, at, n, c, column)
			}
			if got, err := x.Byte(at, enc); err != nil || got != len("short\n")+i {
				t.Fatalf("%s, %v: byte %d, %v; want %d", enc, at, got, err, len("short\n")+i)
			}
			column, units = column+1, units+enc.units(r)
		}
		end := lsp.Position{Line: 1, Character: units}
		if got, err := x.ToLSP(2, column+100, enc); err != nil || got != end {
			t.Errorf("%s, past the end: %v, %v", enc, got, err)
		}
		if n, c := x.FromLSP(lsp.Position{Line: 1, Character: units + 100}, enc); n != 2 || c != column {
			t.Errorf("%s, past the end: %d:%d", enc, n, c)
		}
	}
}

// A program that was made smaller has all of its names on one line.
func TestManyPlacesOfALine(t *testing.T) {
	const many = 500_000
	text := "é;" + strings.Repeat("let q;", many)
	began := time.Now()
	x := New([]byte(text))
	once := time.Since(began)
	began = time.Now()
	for i := range 20_000 {
		at := lsp.Position{Character: len(text) - 2 - i}
		if _, column := x.FromLSP(at, UTF16); column != at.Character+1 {
			t.Fatalf("%v is column %d", at, column)
		}
	}
	if took := time.Since(began); took > 500*once {
		t.Errorf("places: %v, and %v to read the text", took, once)
	}
	began = time.Now()
	if found := Names(text, "q"); len(found) != many || found[many-1] != utf8.RuneCountInString(text)-1 {
		t.Errorf("%d names", len(found))
	}
	if took := time.Since(began); took > 500*once {
		t.Errorf("names: %v, and %v to read the text", took, once)
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		line, name string
		want       []int
	}{
		{"x := x + xx + x_ + _x + x1 + $x + x", "x", []int{1, 6, 35}},
		{"\t😀.add(add2, add)", "add", []int{4, 14}},
		{"naïve.na(naï)", "naï", []int{10}},
		{"e\u0301 e", "e", []int{4}}, // a mark belongs to its letter
		{"größe(größe)", "größe", []int{1, 7}},
		{"a.#p = this.#p", "#p", []int{3, 13}},
		{"変数 = 変数名", "変数", []int{1}},
		{"aaaa", "aa", nil},
		{"\xffx\xff", "x", []int{2}},
		{"x", "", nil},
		{"", "x", nil},
		{"é", "\xa9", nil},
	} {
		if got := Names(c.line, c.name); !slices.Equal(got, c.want) {
			t.Errorf("%q in %q at %v, want %v", c.name, c.line, got, c.want)
		}
	}
}

func TestIdentifier(t *testing.T) {
	for _, c := range []struct {
		line   string
		column int
		want   string
	}{
		{"foo(bar)", 1, "foo"}, {"foo(bar)", 3, "foo"}, {"foo(bar)", 4, "foo"}, {"foo(bar)", 5, "bar"}, {"foo(bar)", 8, "bar"},
		{"foo(bar)", 9, ""}, {"foo(bar)", 10, ""}, {"foo(bar)", 0, ""}, {"foo", 4, "foo"}, {"foo", 5, ""}, {"", 1, ""},
		{"\t😀 größe", 5, "größe"}, {"\t😀 größe", 2, ""}, {"a 12", 3, ""}, {"a12", 3, "a12"}, {"$x", 1, "$x"},
	} {
		got, ok := Identifier(c.line, c.column)
		if ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%q, column %d: %q, %v, want %q", c.line, c.column, got, ok, c.want)
		}
	}
}

// offset is the byte of the place that FromLSP finds.
func (t *Text) offset(p lsp.Position, enc Encoding) int {
	_, offset, _ := t.find(p, enc)
	return offset
}

// A place that a text does not have is not taken for the nearest one.
func TestByte(t *testing.T) {
	x := New([]byte("abc 😀\nd"))
	for p, want := range map[lsp.Position]int{
		{Line: 0, Character: 4}: 4, {Line: 0, Character: 6}: 8, {Line: 1, Character: 1}: 10, {Line: 1, Character: 99}: 10, {Line: 2, Character: 0}: 10,
	} {
		if got, err := x.Byte(p, UTF16); err != nil || got != want {
			t.Errorf("%v is %d, %v, want %d", p, got, err, want)
		}
	}
	for name, p := range map[string]lsp.Position{
		"past the text": {Line: 3, Character: 0}, "behind the last line": {Line: 2, Character: 1}, "half an emoji": {Line: 0, Character: 5},
		"before the text": {Line: -1, Character: 0}, "before a line": {Line: 0, Character: -1},
	} {
		if got, err := x.Byte(p, UTF16); err == nil {
			t.Errorf("%s: %d", name, got)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a\r\nb\rc\n", "\ufeff\té😀\n", "\xff\xc3\n\xed\xa0\x80", "e\u0301👨\u200d👩"} {
		f.Add([]byte(s), 1, 3)
	}
	f.Fuzz(func(t *testing.T, text []byte, line, column int) {
		x := New(text)
		for _, enc := range []Encoding{UTF8, UTF16, UTF32} {
			// any place, asked either way, is one of the text
			p := lsp.Position{Line: line, Character: column}
			l, c := x.FromLSP(p, enc)
			q, err := x.ToLSP(l, c, enc)
			if err != nil || x.offset(q, enc) != x.offset(p, enc) {
				t.Fatalf("%v in %s is %d:%d, which is %v, %v", p, enc, l, c, q, err)
			}
			if at, err := x.Byte(p, enc); err == nil && at != x.offset(p, enc) {
				t.Fatalf("%v in %s is byte %d and %d", p, enc, at, x.offset(p, enc))
			}
			if q, err := x.ToLSP(line, column, enc); err == nil {
				if l, c := x.FromLSP(q, enc); l != line || c != min(column, utf8.RuneCountInString(x.Line(line))+1) {
					t.Fatalf("%d:%d in %s is %v, which is %d:%d", line, column, enc, q, l, c)
				}
			}
		}
		// every character of every line, against the standard library
		offset := 0
		for n := 1; n <= x.Lines(); n++ {
			s := x.Line(n)
			column := 1
			for i := range s {
				for enc, want := range map[Encoding]int{
					UTF8: len(strings.ToValidUTF8(s[:i], "")) + 3*invalid(s[:i]), UTF16: len(utf16.Encode([]rune(s[:i]))), UTF32: column - 1,
				} {
					p, err := x.ToLSP(n, column, enc)
					if err != nil || p.Character != want || x.offset(p, enc) != offset+i {
						t.Fatalf("%d:%d in %s is %v, %v, want %d", n, column, enc, p, err, want)
					}
				}
				column++
				if column > 200 {
					break // the test is quadratic
				}
			}
			offset += len(s)
			if rest := string(text[offset:]); strings.HasPrefix(rest, "\r\n") {
				offset += 2
			} else if rest != "" {
				offset++
			}
		}
		if offset != len(text) {
			t.Fatalf("the lines are %d bytes of %d", offset, len(text))
		}
	})
}

// invalid counts the bytes that are not UTF-8.
func invalid(s string) int {
	n := 0
	for i, r := range s {
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd") {
			n++
		}
	}
	return n
}

func FuzzNames(f *testing.F) {
	f.Add("x := x + xx", "x", 3)
	f.Add("é\xff😀", "é", 2)
	f.Fuzz(func(t *testing.T, line, name string, column int) {
		runes := []rune(line)
		for _, c := range Names(line, name) {
			if c < 1 || c > len(runes) {
				t.Fatalf("%q in %q at column %d", name, line, c)
			}
			if got := string(runes[c-1:]); !strings.HasPrefix(got, name) {
				t.Fatalf("%q in %q at column %d is %q", name, line, c, got)
			}
		}
		if id, ok := Identifier(line, column); ok && !strings.Contains(line, id) {
			t.Fatalf("%q is not in %q", id, line)
		}
	})
}
