package queue

import (
	"fmt"
	"testing"

	"github.com/kxtools/kx/pkg/wire"
)

func filled(n int) *List {
	l := &List{}
	for i := range n {
		l.Add(of(&wire.Approval{ID: fmt.Sprintf("r%d", i), Tool: "bash", Session: fmt.Sprintf("s%d", i%3)}))
	}
	l.Refresh()
	return l
}

// The cursor stays on its request; where that goes, it is on the next one.
func TestCursor(t *testing.T) {
	l := filled(5)
	for i, c := range []struct {
		do   func()
		want string
	}{
		{func() {}, "r0"},
		{func() { l.Move(2) }, "r2"},
		{func() { l.Remove("r0") }, "r2"},
		{func() { l.Add(of(&wire.Approval{ID: "r9"})) }, "r2"},
		{func() { l.Remove("r2") }, "r3"},
		{func() { l.Move(99) }, "r9"},
		{func() { l.Remove("r9") }, "r4"},
		{func() { l.Move(-99) }, "r1"},
		{func() { l.Selected().Gone = true; l.Move(1) }, "r3"}, // what was answered goes when it is left
		{func() { l.Move(-1) }, "r3"},
		{func() { l.Look("s1") }, "r4"},
		{func() { l.Look("") }, "r4"},
		{func() { l.Look("nothing") }, ""},
		{func() { l.Look(""); l.Remove("r3") }, "r4"},
		{func() { l.Selected().Gone = true; l.Move(1) }, ""},
	} {
		c.do()
		got := ""
		if e := l.Selected(); e != nil {
			got = e.A.ID
		}
		if got != c.want {
			t.Fatalf("step %d: the cursor is on %q, want %q", i, got, c.want)
		}
	}
}

// What is drawn has the cursor in it, and no gap at its end.
func TestTop(t *testing.T) {
	l := filled(20)
	for _, c := range []struct{ move, room, want int }{{0, 7, 0}, {6, 7, 0}, {1, 7, 1}, {99, 7, 13}, {-1, 7, 13}, {-99, 7, 0}, {10, 3, 8}, {0, 30, 0}, {0, 1, 10}} {
		l.Move(c.move)
		if got := l.Top(c.room); got != c.want {
			t.Errorf("after %d with room for %d: %d, want %d", c.move, c.room, got, c.want)
		}
	}
}

func TestFilter(t *testing.T) {
	l := filled(9)
	l.Look("S1 bash")
	l.Add(of(&wire.Approval{ID: "x", Session: "s1", Tool: "bash"}))
	l.Add(of(&wire.Approval{ID: "y", Session: "s2", Tool: "bash"}))
	if len(l.Shown) != 4 || l.Waiting() != 11 {
		t.Errorf("%d are shown, %d wait", len(l.Shown), l.Waiting())
	}
}

func of(a *wire.Approval) *Entry { return New(a, a) }
