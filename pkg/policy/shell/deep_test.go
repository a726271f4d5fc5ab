package shell

import (
	"strings"
	"testing"
	"time"
)

// Nothing that fits into a command takes long, however it is nested.
func TestDeep(t *testing.T) {
	nest := func(open, inner, end string) string {
		n := (MaxLength - len(inner)) / (len(open) + len(end))
		return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
	}
	for _, src := range []string{
		nest("echo $(", "a", ")"), nest("(", "a", ")"), nest("{ ", "a", "; }"), nest("\"$(", "a", ")\""), nest("${x:-", "a", "}"), nest("$((", "1", "))"), nest("$(", "a", ")"),
		nest("{a,", "b", "}"), nest("env ", "a", ""), nest("eval ", "a", ""), nest("sudo xargs ", "a", ""), nest("if a; then ", "b", "; fi"), nest("f() { ", "a", "; }"),
		nest("echo {a,b}", "", "{a,b}"), nest("a | ", "b", ""), nest("a && ", "b", ""), nest("x=$x ", "a", ""), nest("<(", "a", ")"), nest("[[ ! ", "a", " ]]"), nest("`", "a", "`"),
		nest("bash <<< ", "a", ""), nest("for i in a; do ", "b", "; done"), nest("cd a; ", "b", ""), nest("cd a || ", "b", ""), nest("while a; do ", "b", "; done"), nest("echo a\\\n#", "", ""), nest("#\\\n", "a", ""),
	} {
		start := time.Now()
		Analyze(src)
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("%.40s…: %v", src, took)
		}
	}
}
