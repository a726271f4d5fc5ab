package approval

import (
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/pkg/wire"
)

// Whoever answers a session answers what was shown, all of it, or nothing.
func TestDecideAllOrNothing(t *testing.T) {
	for _, c := range []struct {
		name  string
		shown func(a, b *wire.Approval) []string
		deny  bool
		spoil func(d *desk, a, b *wire.Approval) // between the list and the answer
		exit  int
	}{
		{name: "all", shown: both},
		{name: "in any order", shown: func(a, b *wire.Approval) []string { return []string{b.ID, a.ID} }},
		{name: "denied", shown: both, deny: true},
		{name: "one not shown", shown: func(a, b *wire.Approval) []string { return []string{a.ID} }, exit: fail.ExitConflict},
		{name: "none shown", shown: func(a, b *wire.Approval) []string { return nil }, exit: fail.ExitConflict},
		{name: "unknown", shown: func(a, b *wire.Approval) []string { return []string{a.ID, b.ID, "zzzz"} }, exit: fail.ExitConflict},
		{name: "no id", shown: func(a, b *wire.Approval) []string { return []string{a.ID, b.ID, "../../x"} }, exit: fail.ExitConflict},
		{name: "a beginning", shown: func(a, b *wire.Approval) []string { return []string{a.ID, b.ID[:3]} }, exit: fail.ExitConflict},
		{name: "twice", shown: func(a, b *wire.Approval) []string { return []string{a.ID, b.ID, a.ID} }, exit: fail.ExitUsage},
		{name: "answered meanwhile", shown: both, exit: fail.ExitConflict,
			spoil: func(d *desk, a, b *wire.Approval) { d.decide(a.ID, wire.ApprovalDenied) }},
		{name: "expired meanwhile", shown: both, exit: fail.ExitConflict,
			spoil: func(d *desk, a, b *wire.Approval) { d.at = d.at.Add(Patience + time.Second) }},
		{name: "changed meanwhile", shown: both, exit: fail.ExitConflict, spoil: change},
		{name: "changed and denied", shown: both, deny: true, spoil: change},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			a, b := d.ask("one", ""), d.ask("two", "")
			if c.spoil != nil {
				c.spoil(d, a, b)
			}
			before := d.states(a, b)
			done, err := d.DecideAll("s", c.shown(a, b), Answer{Allow: !c.deny, Scope: Once, Note: "n"}, wire.Decider{Kind: "human", PID: 7})
			if fail.Exit(err) != c.exit {
				t.Fatalf("it exits with %d, want %d: %v", fail.Exit(err), c.exit, err)
			}
			if c.exit != 0 {
				if after := d.states(a, b); len(done) > 0 || !slices.Equal(before, after) {
					t.Fatalf("something was answered: %v, before %v, after %v", done, before, after)
				}
				return
			}
			want := wire.ApprovalAllowed
			if c.deny {
				want = wire.ApprovalDenied
			}
			if got := d.states(a, b); !slices.Equal(got, []string{want, want}) || len(done) != 2 {
				t.Fatalf("the requests are %v, and %d were returned", got, len(done))
			}
			for _, a := range done {
				if a.Note != "n" || a.DecidedBy == nil || a.DecidedBy.PID != 7 || !a.DecidedAt.Equal(start) || (a.SpendBy == nil) != c.deny {
					t.Errorf("%+v", a)
				}
			}
		})
	}
}

func both(a, b *wire.Approval) []string { return []string{a.ID, b.ID} }

// change makes another action of the second request.
func change(d *desk, _, b *wire.Approval) {
	raw, err := os.ReadFile(d.path("pending", b.ID))
	if err != nil {
		d.Fatal(err)
	}
	raw = []byte(strings.Replace(string(raw), `"two"`, `"rm"`, 1))
	if err := os.WriteFile(d.path("pending", b.ID), raw, 0o600); err != nil {
		d.Fatal(err)
	}
}

func (d *desk) states(list ...*wire.Approval) []string {
	d.Helper()
	var states []string
	for _, a := range list {
		got, err := d.Get(a.ID)
		if err != nil {
			d.Fatal(err)
		}
		states = append(states, got.State)
	}
	return states
}

// Other sessions are not touched, and a session where nothing waits is no error.
func TestDecideAllOfOneSession(t *testing.T) {
	d := newDesk(t)
	a := d.ask("one", "")
	q := wire.Approval{Kind: KindQuestion, Tool: "ask_user_question", Session: "s", Caller: "cli", ActionHash: "q"}
	question, err := d.Park(q, nil)
	if err != nil {
		t.Fatal(err)
	}
	if done, err := d.DecideAll("other", nil, Answer{Allow: true}, wire.Decider{}); err != nil || len(done) > 0 {
		t.Errorf("%v, %v", done, err)
	}
	if _, err := d.DecideAll("other", []string{a.ID}, Answer{Allow: true}, wire.Decider{}); fail.Exit(err) != fail.ExitConflict {
		t.Errorf("the request of another session: %v", err)
	}
	if got := d.states(a); got[0] != wire.ApprovalPending {
		t.Errorf("it is %s", got[0])
	}
	// Nor is a question, which yes doesn't answer.
	if done, err := d.DecideAll("s", []string{a.ID}, Answer{Allow: true}, wire.Decider{}); err != nil || len(done) != 1 {
		t.Errorf("%v, %v", done, err)
	}
	if got := d.states(question); got[0] != wire.ApprovalPending {
		t.Errorf("the question is %s", got[0])
	}
}

// While requests come, an answer to all hits exactly those that were shown.
func TestDecideAllWhileRequestsCome(t *testing.T) {
	d := newDesk(t)
	var coming sync.WaitGroup
	coming.Go(func() {
		for i := range 30 {
			if _, err := d.park(strings.Repeat("x", i+1), ""); err != nil {
				t.Error(err)
			}
		}
	})
	answered := map[string]bool{}
	for len(answered) < 30 && !t.Failed() {
		pending, _ := d.List(wire.ApprovalPending)
		var ids []string
		for _, a := range pending {
			ids = append(ids, a.ID)
		}
		done, err := d.DecideAll("s", ids, Answer{Allow: true, Scope: Once}, wire.Decider{Kind: "human"})
		if err != nil && (fail.Exit(err) != fail.ExitConflict || len(done) > 0) {
			t.Fatalf("%d were answered: %v", len(done), err)
		}
		for _, a := range done {
			if answered[a.ID] || !slices.Contains(ids, a.ID) {
				t.Errorf("%s was not shown, or answered twice", a.ID)
			}
			answered[a.ID] = true
		}
	}
	coming.Wait()
}
