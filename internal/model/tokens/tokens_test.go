package tokens

import (
	"strings"
	"testing"
)

// The numbers of o200k_base, taken once; an estimate may be somewhat higher, and
// hardly lower.
func TestOf(t *testing.T) {
	hash := "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	for text, want := range map[string]int{
		"":                          0,
		"a":                         1,
		strings.Repeat("word ", 80): 100,
		strings.Repeat("func main() {\n\treturn\n}\n", 10): 60,
		strings.Repeat("漢字", 50):                           100,
		strings.Repeat("안녕", 50):                           100,
		strings.Repeat("приве", 40):                        100, // two bytes a letter
		hash:                                               32,
		hash + " " + hash:                                  65,
		strings.Repeat("abcdefgh", 10):                     20, // a long word is no hash
		"\xff\xfe":                                         1,
	} {
		if got := Of(text); got != want {
			t.Errorf("%.30q: %d tokens, want %d", text, got, want)
		}
	}
}

func FuzzOf(f *testing.F) {
	f.Add("a漢\xff9f86d081884c7d659a2feaa0c55ad015")
	f.Fuzz(func(t *testing.T, s string) {
		if n := Of(s); n < 0 || n > len(s) || s != "" && n == 0 {
			t.Errorf("%q has %d tokens", s, n)
		}
	})
}
