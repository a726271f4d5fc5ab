package prompt

import (
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/base/redact"
)

// Where a file is cut, no half of a secret stays, however it lies.
func TestSecretsAreHiddenWhereFilesAreCut(t *testing.T) {
	const value, marker = "sk-0123456789abcdefghijklmnopqrstuvwxyz", "[secret model.a.b]"
	h := newHouse(t, "")
	h.Hide = redact.New([]redact.Secret{{Name: "model.a.b", Value: value}}).Bytes
	for before := 1; before <= len(value); before++ {
		fill := strings.Repeat("x", maxProjectFile-before)
		h.write("ws/AGENTS.md", fill+value+strings.Repeat("y", 100))
		s, err := h.System(nil)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(s.Text, "xs") || !strings.Contains(s.Text, "x[") {
			t.Fatalf("%d bytes before the cut: %q", before, s.Text[strings.Index(s.Text, "xxx")+len(fill)-10:])
		}
		if len(s.Text) > maxProjectFile+4<<10 {
			t.Fatalf("%d bytes before the cut: %d bytes are there", before, len(s.Text))
		}
	}

	// What is cut ends with a whole line.
	h.write("ws/AGENTS.md", strings.Repeat("a line of it\n", maxProjectFile/13+1)+"more")
	s, err := h.System(nil)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(s.Text, "a line of it\n[only the first 32.0 KiB") {
		t.Errorf("%q", s.Text[len(s.Text)-100:])
	}

	// Attached files, where only their beginning is shown.
	h.write("ws/long.txt", strings.Repeat("x", beginning-7)+value+strings.Repeat("y", maxWhole))
	if got := h.task("@long.txt").Attached; strings.Contains(got, "xs") || !strings.Contains(got, "x"+marker[:7]) {
		t.Errorf("%.1200q", got)
	}
}
