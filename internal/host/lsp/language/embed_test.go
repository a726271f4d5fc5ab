package language

import (
	"slices"
	"testing"
)

func TestGoEmbeds(t *testing.T) {
	for text, want := range map[string][]string{
		"package a\n":                            nil,
		"//go:embed\nvar x string\n":             nil,
		"//go:embedded x\n":                      nil,
		"\t//go:embed a.txt \r\nvar x string\n":  {"a.txt"},
		"//go:embed a b/*.css all:c\n":           {"a", "b/*.css", "c"},
		"//go:embed \"a b\" `c d` e\n":           {"a b", "c d", "e"},
		"//go:embed \"a\n//go:embed b\n":         {"\"a", "b"},
		"// //go:embed no\nvar s = \"x\"\n":      nil,
		"//go:embed a\n//go:embed b\nvar x, y\n": {"a", "b"},
	} {
		if got := goEmbeds(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}

func TestTakes(t *testing.T) {
	for _, tt := range []struct {
		pattern, file string
		want          bool
	}{
		{"a.txt", "a.txt", true}, {"a.txt", "b/a.txt", false}, {"*.txt", "a.txt", true}, {"*.txt", "b/a.txt", false},
		{"b", "b/c/d", true}, {"b", "bc", false}, {"b/*", "b/c/d", true}, {"b/*.css", "b/c.js", false}, {".", "x/y", true}, {"[", "[", false},
	} {
		if got := Takes(tt.pattern, tt.file); got != tt.want {
			t.Errorf("%s takes %s: %v", tt.pattern, tt.file, got)
		}
	}
}

func FuzzGoEmbeds(f *testing.F) {
	f.Add("//go:embed \"a b\" `c` d\n", "a b/c")
	f.Fuzz(func(t *testing.T, text, file string) {
		for _, p := range goEmbeds(text) {
			Takes(p, file)
		}
	})
}
