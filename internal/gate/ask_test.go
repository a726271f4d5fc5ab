package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/pkg/wire"
)

const write = `{"path":"a","content":"x"}`

// pending calls a tool that asks, and returns the request.
func (w *world) pending(tool, input string) *wire.Approval {
	w.Helper()
	before := w.ran.Load()
	r := w.call(tool, input)
	w.wants(r, wire.StatusPending, 4, before)
	a, err := w.Approvals.Get(r.ApprovalID)
	if err != nil {
		w.Fatal(err)
	}
	return a
}

// The first call parks a request; the same call after the answer runs and uses
// it, once.
func TestApproved(t *testing.T) {
	w := newWorld(t, nil)
	r := w.call("write_file", write)
	w.wants(r, wire.StatusPending, 4, 0)
	if r.ApprovalID == "" || r.Error.Hint != "kx approve allow "+r.ApprovalID || !r.Decision.ApprovalRequired || r.Output.Text() != "write_file needs approval "+r.ApprovalID {
		t.Errorf("%+v", r)
	}
	a, err := w.Approvals.Get(r.ApprovalID)
	if err != nil || a.State != wire.ApprovalPending || a.Kind != "call" || a.Tool != "write_file" || string(a.Input) != `{"content":"x","path":"`+w.ws+`/a"}` ||
		a.Session != w.Session || a.Caller != "cli" || a.Workspace != w.ws || a.Cwd != w.ws || a.Mandatory || a.CallID != "" || a.Reason == "" ||
		!a.CreatedAt.Equal(start) || !a.ExpiresAt.Equal(start.Add(300*time.Second)) {
		t.Errorf("%+v, %v", a, err)
	}
	if got := w.trail(); got != "audit:ask:rule approval:pending" {
		t.Errorf("audit: %s", got)
	}
	w.answer(a.ID, wire.ApprovalAllowed)
	r = w.call("write_file", write)
	w.wants(r, wire.StatusOK, 0, 1)
	if d := r.Decision; r.ApprovalID != a.ID || d.Decision != wire.Allow || d.BaseDecision != wire.Ask || d.ApprovalRequired || d.Reason != "allowed by a person" {
		t.Errorf("%+v", r)
	}
	if got := w.trail(); !strings.HasSuffix(got, "audit:allow:human outcome:ok") {
		t.Errorf("audit: %s", got)
	}
	if a, _ := w.Approvals.Get(a.ID); a.State != wire.ApprovalSpent {
		t.Errorf("it is %s", a.State)
	}
	if again := w.pending("write_file", write); again.ID == a.ID {
		t.Error("an approval was used and asked for again")
	}
	w.wants(w.call("write_file", write), wire.StatusPending, 4, 1)
}

// What makes it another action, and what does not.
func TestSameAction(t *testing.T) {
	w := newWorld(t, nil)
	w.file("real/f", "")
	if err := os.Symlink("real", filepath.Join(w.ws, "link")); err != nil {
		t.Fatal(err)
	}
	first := w.pending("bash", `{"command":"ls"}`)
	for _, same := range []string{`{"description":"look","command":"ls"}`, `{"command":"ls","timeout_ms":5}`, ` {"command" : "\u006cs"} `} {
		if a := w.pending("bash", same); a.ID != first.ID {
			t.Errorf("%s is another action", same)
		}
	}
	file := w.pending("write_file", `{"path":"real/f"}`)
	for _, same := range []string{"link/f", "./real/../real/f", w.ws + "/real/f"} {
		if a := w.pending("write_file", `{"path":"`+same+`"}`); a.ID != file.ID {
			t.Errorf("%s is another file", same)
		}
	}
	ids := map[string]bool{first.ID: true, file.ID: true}
	other := func(why string, a *wire.Approval) {
		t.Helper()
		if ids[a.ID] {
			t.Errorf("%s is the same action", why)
		}
		ids[a.ID] = true
	}
	other("another command", w.pending("bash", `{"command":"ls ."}`))
	other("another folder of the command", w.pending("bash", `{"command":"ls","cwd":"real"}`))
	other("another tool", w.pending("write_file", `{"path":"real/g"}`))
	w.opts.Cwd = filepath.Join(w.ws, "real")
	other("another current folder", w.pending("bash", `{"command":"ls"}`))
	w.opts.Cwd = w.ws
	w.Caller = "somebody"
	other("another caller", w.pending("bash", `{"command":"ls"}`))
	w.Caller = "cli"
	w.Session = "elsewhere"
	w.Journal = broken{}
	other("another session", w.pending("bash", `{"command":"ls"}`))
	w.Run = true
	other("a call of a run", w.pending("bash", `{"command":"ls"}`))
	other("another call of a run", w.pending("bash", `{"command":"ls"}`))
}

// A denial answers the same call for 15 minutes, with the note.
func TestDenied(t *testing.T) {
	w := newWorld(t, nil)
	a := w.pending("write_file", write)
	w.answer(a.ID, wire.ApprovalDenied)
	for _, after := range []time.Duration{0, 15*time.Minute - time.Second} {
		w.pass(after)
		r := w.call("write_file", write)
		w.wants(r, wire.StatusDenied, 3, 0)
		if r.Error.Code != "denied_by_human" || r.Error.Message != "write_file was denied by a person: so be it" || r.Decision.Decision != wire.Deny || r.ApprovalID != a.ID {
			t.Errorf("%+v", r)
		}
	}
	if got := w.trail(); !strings.HasSuffix(got, "audit:deny:human") {
		t.Errorf("audit: %s", got)
	}
	w.pass(time.Second)
	if again := w.pending("write_file", write); again.ID == a.ID {
		t.Error("a denial was asked about again")
	}
}

// A request lives 300 s after it was asked for last, an answer can be used for
// 300 s.
func TestExpiry(t *testing.T) {
	w := newWorld(t, nil)
	a := w.pending("write_file", write)
	w.pass(299 * time.Second)
	if again := w.pending("write_file", write); again.ID != a.ID || !again.ExpiresAt.Equal(start.Add(599*time.Second)) {
		t.Errorf("%+v", again)
	}
	w.pass(300*time.Second + 1)
	if got, _ := w.Approvals.Get(a.ID); got.State != wire.ApprovalExpired {
		t.Errorf("it is %s", got.State)
	}
	b := w.pending("write_file", write)
	if b.ID == a.ID {
		t.Error("an expired request came back")
	}
	w.answer(b.ID, wire.ApprovalAllowed)
	w.pass(300*time.Second + 1)
	c := w.pending("write_file", write)
	if c.ID == b.ID {
		t.Error("an old answer was used")
	}
	w.answer(c.ID, wire.ApprovalAllowed)
	w.pass(300 * time.Second)
	w.wants(w.call("write_file", write), wire.StatusOK, 0, 1)
}

// The call is decided anew when it comes again: a deny wins, an allow runs and
// leaves the approval, an ask uses it.
func TestDecidedAnew(t *testing.T) {
	w := newWorld(t, nil)
	a := w.pending("write_file", write)
	w.answer(a.ID, wire.ApprovalAllowed)
	state := func(want string) {
		t.Helper()
		if got, _ := w.Approvals.Get(a.ID); got.State != want {
			t.Fatalf("it is %s, not %s", got.State, want)
		}
	}
	w.policy("[[rule]]\ntool = \"write_file\"\ndecision = \"deny\"\n")
	w.wants(w.call("write_file", write), wire.StatusDenied, 3, 0)
	state(wire.ApprovalAllowed)
	w.policy("[[rule]]\ntool = \"write_file\"\ndecision = \"allow\"\n")
	r := w.call("write_file", write)
	w.wants(r, wire.StatusOK, 0, 1)
	if r.ApprovalID != "" || r.Decision.Reason == "allowed by a person" {
		t.Errorf("%+v", r)
	}
	state(wire.ApprovalAllowed)
	w.opts.Mode = "dontAsk"
	w.policy("")
	w.wants(w.call("write_file", write), wire.StatusDenied, 3, 1)
	state(wire.ApprovalAllowed)
	w.opts.Mode = ""
	w.wants(w.call("write_file", write), wire.StatusOK, 0, 2)
	state(wire.ApprovalSpent)
}

// An approval that a call names must be for that very call.
func TestApprovalID(t *testing.T) {
	w := newWorld(t, nil)
	a := w.pending("write_file", write)
	w.answer(a.ID, wire.ApprovalAllowed)
	with := func(tool, input, id string) *wire.Result {
		return w.do(wire.Call{Tool: tool, Input: json.RawMessage(input), ApprovalID: id})
	}
	r := with("write_file", `{"path":"b"}`, a.ID)
	w.wants(r, wire.StatusConflict, 7, 0)
	if r.Error.Code != "hash_mismatch" {
		t.Errorf("%+v", r.Error)
	}
	w.wants(with("get_goal", `{}`, a.ID), wire.StatusConflict, 7, 0) // though it is allowed anyway
	w.wants(with("write_file", write, "zzzz"), wire.StatusNotFound, 8, 0)
	w.wants(with("write_file", write, "../"+a.ID), wire.StatusNotFound, 8, 0)
	w.opts.Mode = "dontAsk"
	w.wants(with("write_file", `{"path":"b"}`, a.ID), wire.StatusDenied, 3, 0)
	w.opts.Mode = ""
	if list, _ := w.Approvals.List(wire.ApprovalPending); len(list) != 0 {
		t.Errorf("asked for %+v", list)
	}
	w.wants(with("write_file", write, a.ID), wire.StatusOK, 0, 1)
}

// At most 50 requests of a session wait.
func TestPendingCap(t *testing.T) {
	w := newWorld(t, nil)
	nth := func(n int) string { return fmt.Sprintf(`{"path":"f%d"}`, n) }
	var first *wire.Approval
	for i := range approval.MaxPending {
		a := w.pending("write_file", nth(i))
		if i == 0 {
			first = a
		}
	}
	r := w.call("write_file", nth(50))
	w.wants(r, wire.StatusLimit, 6, 0)
	if approval.MaxPending != 50 || r.Error.Code != "pending_approvals" {
		t.Errorf("%+v", r.Error)
	}
	w.pending("write_file", nth(49)) // one that waits already
	session, journal := w.Session, w.Journal
	w.Session, w.Journal = "elsewhere", broken{}
	w.pending("write_file", nth(50))
	w.Session, w.Journal = session, journal
	w.answer(first.ID, wire.ApprovalDenied)
	w.pending("write_file", nth(50))
}

// Two calls of a run are two requests, which never expire.
func TestRun(t *testing.T) {
	w := newWorld(t, nil)
	w.Run = true
	do := func(id string) *wire.Result {
		return w.do(wire.Call{ID: id, Tool: "write_file", Input: json.RawMessage(write)})
	}
	one, two := do("t1.1"), do("t1.2")
	w.wants(one, wire.StatusPending, 4, 0)
	if two.ApprovalID == one.ApprovalID {
		t.Error("two calls are one request")
	}
	w.pass(100 * 24 * time.Hour)
	if again := do("t1.1"); again.ApprovalID != one.ApprovalID {
		t.Error("a request of a run has expired")
	}
	w.answer(one.ApprovalID, wire.ApprovalAllowed)
	w.pass(100 * 24 * time.Hour)
	w.wants(do("t1.1"), wire.StatusOK, 0, 1)
	w.wants(do("t1.2"), wire.StatusPending, 4, 1)
}

// An approval that was used by a process which then died leaves it open whether
// the call of the run has run: it neither runs nor asks again. Outside a run it
// is simply used up.
func TestUnknown(t *testing.T) {
	w := newWorld(t, nil)
	w.Run = true
	call := wire.Call{ID: "t1.1", Tool: "write_file", Input: json.RawMessage(write)}
	r := w.do(call)
	w.answer(r.ApprovalID, wire.ApprovalAllowed)
	a, err := w.Approvals.Get(r.ApprovalID)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Approvals.Spend(a, call.ID); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r = w.do(call)
		w.wants(r, wire.StatusUnknown, 1, 0)
		if r.ApprovalID != a.ID || !strings.Contains(r.Output.Text(), "nobody knows whether this call ran") {
			t.Errorf("%+v", r)
		}
	}
	if got := w.trail(); !strings.HasSuffix(got, "outcome:unknown outcome:unknown") {
		t.Errorf("audit: %s", got)
	}
	w.policy("[[rule]]\ntool = \"write_file\"\ndecision = \"deny\"\n")
	w.wants(w.do(call), wire.StatusDenied, 3, 0)
	w.policy("")

	w.Run = false
	r = w.do(call)
	w.answer(r.ApprovalID, wire.ApprovalAllowed)
	if a, err = w.Approvals.Get(r.ApprovalID); err != nil || w.Approvals.Spend(a, "x") != nil {
		t.Fatal(err)
	}
	if again := w.do(call); again.Status != wire.StatusPending || again.ApprovalID == a.ID {
		t.Errorf("%+v", again)
	}
}

// Of calls that come for one approval at once, one runs.
func TestSpentOnce(t *testing.T) {
	w := newWorld(t, nil)
	const many = 8
	for range 5 {
		before := w.ran.Load()
		w.answer(w.pending("write_file", write).ID, wire.ApprovalAllowed)
		results := make([]*wire.Result, many)
		b := w.begin()
		var all sync.WaitGroup
		for i := range many {
			all.Go(func() {
				results[i] = b.Do(context.Background(), wire.Call{Tool: "write_file", Input: json.RawMessage(write)})
			})
		}
		all.Wait()
		ok := 0
		for _, r := range results {
			switch r.Status {
			case wire.StatusOK:
				ok++
			case wire.StatusConflict, wire.StatusPending: // too late, or asked anew
			default:
				t.Errorf("%s: %+v", r.Status, r.Error)
			}
		}
		if ok != 1 || w.ran.Load() != before+1 {
			t.Fatalf("%d calls succeeded, %d ran", ok, w.ran.Load()-before)
		}
		w.pass(time.Hour)
	}
}
