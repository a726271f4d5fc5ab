package sheet

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// input is an input with a path and another field.
func input(t testing.TB, field, text string) string {
	t.Helper()
	raw, err := json.Marshal(map[string]string{"path": "a", field: text})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// A space that is none to the shell is visible in a command.
func TestSpacesOfACommand(t *testing.T) {
	h := newHouse(t)
	a := h.request("bash", `{"command":"rm a\u00a0b c\u3000d"}`)
	const want = `rm a\u00a0b c\u3000d`
	if got := show(h.reader.Read(a)); !strings.Contains(got, "|"+want+"\n") {
		t.Error(got)
	}
	if got := Brief(a); got != want {
		t.Error(got)
	}
}

// What is long is cut where it says so, and only there.
func TestLong(t *testing.T) {
	h := newHouse(t)
	wide, tall := strings.Repeat("é", 50_000), strings.Repeat("line\n", 6000)
	for _, tt := range []struct{ tool, field, text, want string }{
		{"bash", "command", ": " + wide, "… (80002 more bytes in this line)"},
		{"bash", "command", ": <<E\n" + tall + "E", "… 1002 more lines: kx approve show 7k2q -o table"},
		{"write_file", "content", wide, "… (80002 more bytes in this line)"},
		{"write_file", "content", tall, "… 1000 more lines: kx approve show 7k2q -o table"},
		{"mcp__a__b", "x", tall, "… 1002 more lines: kx approve show 7k2q -o table"},
	} {
		a := h.request(tt.tool, input(t, tt.field, tt.text))
		s := h.reader.Read(a)
		sane(t, s)
		if got := show(s); !strings.Contains(got, tt.want) || len(got) > 200_000 {
			t.Errorf("%s of %d bytes: %d bytes without %q, %.3000s", tt.tool, len(a.Input), len(got), tt.want, got)
		}
		whole := *h.reader
		whole.Uncut = true
		s = whole.Read(a)
		sane(t, s)
		if got := show(s); strings.Contains(got, " more lines") || strings.Count(got, "line")+strings.Count(got, "é") < 6000 {
			t.Errorf("%s of %d bytes is cut", tt.tool, len(a.Input))
		}
		if b := Brief(a); len(b) > 3*maxBrief {
			t.Errorf("one line of %d bytes", len(b))
		}
	}
}

// A diff takes no longer than a person waits, whatever the files are.
func TestLargeDiffs(t *testing.T) {
	h := newHouse(t)
	numbered := func(what string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%s %d of a file that is long\n", what, i)
		}
		return b.String()
	}
	million := numbered("line", 30_000)
	for name, tt := range map[string]struct{ before, after, want string }{
		"few changes":         {million, strings.Replace(million, "line 15000 ", "changed ", 1), "+changed of a file that is long"},
		"wholly different":    {numbered("line", 20_000), numbered("other", 20_000), " more lines: "},
		"the same over again": {strings.Repeat("a\nb\n", 100_000), strings.Repeat("b\na\n", 100_000), "-"},
		"at the limit":        {strings.Repeat("a\n", maxComparedLines/2), strings.Repeat("b\n", maxComparedLines/2), "-a"},
		"too large":           {strings.Repeat("a\n", maxComparedLines), "b\n", "replaced as a whole, too large to be compared: 500000 lines out, 1 lines in"},
	} {
		h.write("a", tt.before)
		a := h.request("write_file", input(t, "content", tt.after))
		start := time.Now()
		s := h.reader.Read(a)
		d := time.Since(start)
		if t.Logf("%s: %s", name, d); d > 30*time.Second {
			t.Errorf("%s: %s", name, d)
		}
		if got := show(s); !strings.Contains(got, tt.want) {
			t.Errorf("%s: no %q in %d bytes", name, tt.want, len(got))
		}
	}
}
