package approval

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kxtools/kx/pkg/wire"
)

// age makes both folders look as if they had been left alone for long.
func (d *desk) age() {
	d.Helper()
	for _, kind := range []string{"pending", "decided"} {
		dir := filepath.Dir(d.path(kind, "x"))
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(dir, old, old); err != nil && !os.IsNotExist(err) {
			d.Fatal(err)
		}
	}
}

// TestPendingFollows compares the view with the list after every change that there is.
func TestPendingFollows(t *testing.T) {
	d := newDesk(t)
	view := d.Follow()
	var ids []string
	rnd := rand.New(rand.NewPCG(1, 2))
	pick := func() string { return ids[rnd.IntN(len(ids))] }
	steps := []struct {
		name string
		do   func(i int)
	}{
		{"ask", func(i int) { ids = append(ids, d.ask(fmt.Sprint("c", i), "").ID) }},
		{"ask in a run", func(i int) { ids = append(ids, d.ask(fmt.Sprint("c", i), fmt.Sprint("t", i)).ID) }},
		{"answer", func(int) { _, _ = d.Decide(pick(), Answer{Allow: true}, wire.Decider{Kind: "human"}) }},
		{"extend", func(int) { _ = d.Extend(pick(), d.at.Add(time.Hour)) }},
		{"wait", func(int) { d.at = d.at.Add(time.Minute) }},
		{"set the clock back", func(int) { d.at = d.at.Add(-2 * Patience) }},
		{"damage", func(int) { _ = os.WriteFile(d.path("pending", pick()), []byte("{"), 0o600) }},
		{"forge an answer", func(int) { _ = os.WriteFile(d.path("decided", pick()), []byte("{}"), 0o600) }},
		{"remove", func(int) { _ = os.Remove(d.path("pending", pick())) }},
		{"remove an answer", func(int) { _ = os.Remove(d.path("decided", pick())) }},
		{"nothing", func(int) {}},
	}
	ids = append(ids, d.ask("first", "").ID)
	for i := range 600 {
		step := steps[rnd.IntN(len(steps))]
		if i%7 == 0 && len(ids) < MaxPending {
			step = steps[0]
		}
		if step.name[:3] == "ask" && len(ids) > 3*MaxPending/2 {
			step = steps[2]
		}
		func() {
			if step.name[:3] == "ask" {
				if list, _ := d.Store.List(wire.ApprovalPending); len(list) >= MaxPending {
					return
				}
			}
			step.do(i)
		}()
		got, gotBad := view.List()
		want, wantBad := d.Store.List(wire.ApprovalPending)
		if diff := cmp.Diff(want, got); diff != "" || len(gotBad) != len(wantBad) {
			t.Fatalf("step %d, %s: %d damaged, want %d\n%s", i, step.name, len(gotBad), len(wantBad), diff)
		}
		if i%5 == 0 {
			d.age()
		}
	}
}

// TestPendingLooksAtLittle: what was answered long ago is not looked at again.
func TestPendingLooksAtLittle(t *testing.T) {
	d := newDesk(t)
	a := d.ask("a", "")
	d.decide(a.ID, wire.ApprovalAllowed)
	b := d.ask("b", "")
	d.age()
	view := d.Follow()
	view.List()
	if len(view.open) != 1 || view.open[b.ID] == nil {
		t.Fatalf("it follows %v", view.open)
	}
	if looked, err := view.names(); looked || err != nil {
		t.Errorf("it looks for new ones in folders that are as they were: %v", err)
	}
	d.ask("c", "")
	if list, _ := view.List(); len(list) != 2 {
		t.Errorf("%d wait, want 2", len(list))
	}
}

// BenchmarkPending is a look at 500 requests that wait, with 5,000 answered before.
func BenchmarkPending(b *testing.B) {
	d := newDesk(b)
	for i := range 5500 {
		raw := fmt.Sprintf(`{"type":"approval","v":1,"id":"p%05d","kind":"call","tool":"bash","input":{"command":"go test ./..."},"session":"s%d","created_at":"2026-03-01T12:00:00Z"}`, i, i)
		id := fmt.Sprintf("p%05d", i)
		for _, kind := range []string{"pending", "decided"} {
			if _, err := d.st.Sub("approvals", kind); err != nil {
				b.Fatal(err)
			}
			if kind == "decided" && i >= 5000 {
				continue
			}
			if err := os.WriteFile(d.path(kind, id), []byte(raw), 0o600); err != nil {
				b.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name string
		look func() int
	}{
		{"list", func() int { l, _ := d.Store.List(wire.ApprovalPending); return len(l) }},
		{"follow", func() func() int {
			view := d.Follow()
			return func() int { l, _ := view.List(); return len(l) }
		}()},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if n := c.look(); n != 500 {
					b.Fatal(n)
				}
			}
		})
	}
}
