package expand

import (
	"slices"
	"strings"
	"testing"

	"github.com/kxtools/kx/pkg/policy/shell"
)

func TestExpand(t *testing.T) {
	s := shell.Analyze("a=1; a=2; b=$a/x; c=~/y; for d in p q; do :; done; e=$(mk); f=$f; g={h,i}")
	x := &Words{Home: "/home/u", Cwd: "/w/sub", Workspace: "/w", Values: s.Values}
	for src, want := range map[string]string{
		"x": "x", "$a": "1 2", "${a}z": "1z 2z", "$b": "1/x 2/x", "$c/z": "/home/u/y/z", "$d": "p q", "$e": "?", "$none": "!", "${none}/": "!/", "$HOME/x": "/home/u/x", "\"${HOME}\"": "/home/u", "$PWD": "/w/sub",
		"${none:-v}": "! v", "${a:+w}": "1 2 w", "${none:?}": "?", "${a%x}": "1 2 ?", "${!a}": "?", "${#a}": "?", "${a[0]}": "1 2", "$1": "?", "$@": "?", "$": "$", "x$": "x$",
		"{p,q}/r": "p/r q/r", "a{b,{c,d}}": "ab ac ad", "{1..3}x": "?x", "{x}": "{x}", "${a}{p,q}": "1p 2p 1q 2q", "$g": "h i",
		"$(pwd)/x": "/w/sub/x", "`pwd`": "/w/sub", "$(git rev-parse --show-toplevel)/y": "/w/y", "$(echo ~)/.x": "/home/u/.x", "$(dirname ~/a/b)": "/home/u/a", "$(echo $a)": "1 2", "$(mk)": "?", "$(git rev-parse --git-dir)": "/w/.git/?", "$(which kx)": "kx", "<(x)": "?", "@(a|b)c": "?c", "$((1))": "?",
		"'$a'": "$a", "$f": "?",
	} {
		w := shell.Analyze("p " + src).Leaves
		texts := x.Expand(w[len(w)-1].Words[1])
		got := strings.NewReplacer(Unknown, "?", Unset, "!").Replace(strings.Join(texts, " "))
		if got != want {
			t.Errorf("%s: %s, want %s", src, got, want)
		}
	}
	for text, want := range map[string]string{"~": "/home/u", "~/x": "/home/u/x", "~u/x": "/home/u/x", "~bob": "/home/bob", "~root/x": "/root/x", "~+/x": "/w/sub/x", "~-": Unknown, "x~": "x~"} {
		if got := x.Tilde(text); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
	if got := x.Fields(shell.Analyze("p {p,$a}").Leaves[0].Words[1]); !slices.EqualFunc(got, [][]string{{"p"}, {"1", "2"}}, slices.Equal) {
		t.Errorf("%v", got)
	}
}

func TestGlob(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"a*", "abc", true}, {"*c", "abc", true}, {"a?c", "abc", true}, {"a[xb]c", "abc", true}, {"a[", "a[", true}, {"[", "x", false}, {"a" + Unknown, "a", true}, {"a*d", "abc", false}, {"", "", true}, {"*", "", true}, {"a**b*", "axxb", true}, {"?", "", false}, {"[x]", "", false},
	} {
		if Glob(tt.pattern, tt.name) != tt.want {
			t.Errorf("%q of %q: not %v", tt.pattern, tt.name, tt.want)
		}
	}
	if Sure("*") || Sure(".*") || Sure("?"+Unknown) || !Sure("a*") {
		t.Error("what is sure of a pattern")
	}
}

func FuzzExpand(f *testing.F) {
	for _, s := range []string{"${a:-${b}}", "{a,{b,c}}{d,e}", "$(echo `x`)", "${", "$(", "{,", "${a[", "@(", "~/$x", "{{{{{{,}}}}}}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x := &Words{Home: "/h", Cwd: "/w", Workspace: "/w", Values: []shell.Value{{Name: "a", Word: shell.Word{Text: text}}}}
		for _, w := range []shell.Word{{Text: text}, {Text: text, Glob: true}, {Text: text, Literal: true}} {
			if n := len(x.Expand(w)); n > 2*maxTexts {
				t.Fatalf("%d texts", n)
			}
			x.Fields(w)
			Glob(text, text)
		}
	})
}
