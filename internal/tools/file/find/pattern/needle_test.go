package pattern

import (
	"regexp/syntax"
	"strings"
	"testing"
)

func TestNeedles(t *testing.T) {
	for pattern, want := range map[string]string{
		"foo":                        "foo",
		`foo\s+barbaz\(`:             "barbaz(",
		"(?i)foo":                    "?foo",
		"(foo)+(ba)?":                "foo",
		"(foo){2,}":                  "foo",
		"(foo){0,2}":                 "",
		"foo|bar|quux":               "foo bar quux",
		"foo|b*":                     "",
		"x(foo|barbaz)":              "foo barbaz", // the longer for sure
		"xxxx(foo|barbaz)":           "xxxx",
		"a|bb|ccc|d1|e1|f1|g1|h1|i1": "", // too many
		"x\uFFFDyz":                  "yz",
		"\uFFFD":                     "",
		"[ab]c*":                     "",
		".*":                         "",
		"^$":                         "",
		"Foo(?i:bars)":               "?bars",
	} {
		re, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range required(re) {
			s := strings.ToLower(string(l.runes))
			if l.fold {
				s = "?" + s
			}
			got = append(got, s)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q requires %q, want %q", pattern, got, want)
		}
	}
}

func TestNext(t *testing.T) {
	for _, c := range []struct {
		pattern, content string
		want             string // the lines that may match
	}{
		{"foo", "foo\nbar\nfoofoo\n", "0 2"},
		{"(?i)TASK", "task\ntas\u212a\nta\u017fk\nTAS\nask", "0 1 2"}, // k and s have a third case
		{"(?i)zaz", "xZAzaz\nza\nzA\nZ", "0"},
		{"(?i)привет", "ПРИВЕТ\nпривет\nприве\xd1т", "0 1"},
		{"(?i)日本", "x日本\n日\n", "0"},
		{"(?i)ß1", "ẞ1\nSS1\n", "0"},
		{"one|two|(?i:three)", "three\n\nTWO\ntwo\nTHREE\none", "0 3 4 5"},
		{"x*", "a\nb", "0 1"},
		{"(?i)ab", "", ""},
	} {
		re, err := syntax.Parse(c.pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		needles, content := New(re), []byte(c.content)
		for range 2 { // the second time after Rewind
			var got []string
			needles.Rewind()
			for start, n := 0, 0; start < len(content); n++ {
				end := start + strings.IndexByte(c.content[start:]+"\n", '\n')
				if len(needles) == 0 || needles.Next(content, start) <= end && needles.Next(content, start) < len(content) {
					got = append(got, string(rune('0'+n)))
				}
				start = end + 1
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%q in %q: lines %q, want %q", c.pattern, c.content, got, c.want)
			}
		}
	}
}
