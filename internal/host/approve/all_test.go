package approve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/pkg/approve"
	"github.com/kxtools/kx/pkg/wire"
)

// session parks n requests of one session.
func (h *house) session(name string, n int) (ids []string) {
	h.t.Helper()
	for i := range n {
		a := wire.Approval{
			Kind: "call", Tool: "write_file", Input: json.RawMessage(fmt.Sprintf(`{"path":"/w/%d"}`, i)),
			Session: name, Caller: "agent", Workspace: "/w", Cwd: "/w", Reason: "ask by built-in",
		}
		var err error
		if a.ActionHash, err = approval.ActionHash(&a); err != nil {
			h.t.Fatal(err)
		}
		got, err := h.store.Park(a, nil)
		if err != nil {
			h.t.Fatal(err)
		}
		ids = append(ids, got.ID)
	}
	return ids
}

func exit(err error) int {
	var e *approve.Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e.Exit
	}
	return -1
}

// Every request of a session is answered, recorded once, and its waiter woken.
func TestAll(t *testing.T) {
	h := newHouse(t)
	ids, other := h.session("s", 3), h.session("other", 1)
	var waiters sync.WaitGroup
	for _, id := range ids {
		c := h.client("host")
		waiters.Go(func() {
			if a, err := c.Wait(context.Background(), id); err != nil || a.State != wire.ApprovalDenied {
				t.Errorf("who waits for %s gets %v, %v", id, a, err)
			}
		})
	}
	done, err := h.client("approver").DenyAll(context.Background(), "s", ids, "not today")
	if err != nil || len(done) != 3 {
		t.Fatalf("%d are answered, %v", len(done), err)
	}
	waiters.Wait()
	for _, a := range done {
		if a.State != wire.ApprovalDenied || a.Note != "not today" || a.DecidedBy == nil || a.DecidedBy.Kind != "human" {
			t.Errorf("%+v", a)
		}
		if n := len(h.answers(a.ID)); n != 1 {
			t.Errorf("the audit tells of %s %d times", a.ID, n)
		}
	}
	if a, err := h.store.Get(other[0]); err != nil || a.State != wire.ApprovalPending {
		t.Errorf("the other session's is %v, %v", a, err)
	}
	if done, err := h.client("approver").AllowAll(context.Background(), "s", nil, ""); err != nil || len(done) != 0 {
		t.Errorf("where nothing waits: %v, %v", done, err)
	}
}

func TestAllRefuses(t *testing.T) {
	h := newHouse(t)
	ids := h.session("s", 2)
	many := make([]string, approval.MaxPending+1)
	for i := range many {
		many[i] = ids[0]
	}
	for name, c := range map[string]struct {
		key, session string
		ids          []string
		note         string
		exit         int
	}{
		"the host key":     {"host", "s", ids, "", fail.ExitDenied},
		"no session":       {"approver", "", ids, "", fail.ExitUsage},
		"too many":         {"approver", "s", many, "", fail.ExitLimit},
		"a long note":      {"approver", "s", ids, string(make([]byte, maxNote+1)), fail.ExitLimit},
		"one was not seen": {"approver", "s", ids[:1], "", fail.ExitConflict},
		"not of it":        {"approver", "other", ids, "", fail.ExitConflict},
		"one twice":        {"approver", "s", []string{ids[0], ids[1], ids[0]}, "", fail.ExitUsage},
	} {
		if _, err := h.client(c.key).AllowAll(context.Background(), c.session, c.ids, c.note); exit(err) != c.exit {
			t.Errorf("%s: %v, want %d", name, err, c.exit)
		}
	}
	for _, id := range ids {
		if a, err := h.store.Get(id); err != nil || a.State != wire.ApprovalPending {
			t.Errorf("%s is %v, %v", id, a, err)
		}
	}
}

// Of answers to a whole session and to one of its requests at once, some win
// whole and the others get 7 and change nothing.
func TestAllRaces(t *testing.T) {
	for round := range 20 {
		h := newHouse(t)
		ids := h.session("s", 5)
		var mu sync.Mutex
		winners := map[string]int{}
		var racers sync.WaitGroup
		race := func(name string, do func(c *approve.Client) (int, error)) {
			c := h.client("approver")
			racers.Go(func() {
				n, err := do(c)
				if err != nil && exit(err) != fail.ExitConflict {
					t.Errorf("%s: %v", name, err)
				}
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					winners[name] = n
				}
			})
		}
		for i := range 2 {
			race(fmt.Sprintf("all %d", i), func(c *approve.Client) (int, error) {
				done, err := c.AllowAll(context.Background(), "s", ids, "")
				return len(done), err
			})
		}
		if round%2 == 1 {
			race("one", func(c *approve.Client) (int, error) {
				_, err := c.Deny(context.Background(), ids[3], approve.Answer{})
				return 1, err
			})
		}
		racers.Wait()
		if len(winners) != 1 {
			t.Fatalf("the winners are %v", winners)
		}
		pending, _ := h.store.List(wire.ApprovalPending)
		for name, n := range winners {
			if want := map[bool]int{true: 1, false: 5}[name == "one"]; n != want || len(pending) != 5-want {
				t.Fatalf("%s answered %d, and %d wait", name, n, len(pending))
			}
		}
	}
}
