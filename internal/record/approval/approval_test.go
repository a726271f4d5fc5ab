package approval

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/wire"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// desk is a store with a clock that stands still.
type desk struct {
	testing.TB
	*Store
	at time.Time
}

func newDesk(t testing.TB) *desk {
	t.Helper()
	st, err := state.Open(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{TB: t, at: start}
	d.Store = New(st, func() time.Time { return d.at })
	return d
}

// ask parks a request for a command; one of a run has a call id.
func (d *desk) ask(command, callID string) *wire.Approval {
	d.Helper()
	a, err := d.park(command, callID)
	if err != nil {
		d.Fatal(err)
	}
	return a
}

func (d *desk) park(command, callID string) (*wire.Approval, error) {
	d.Helper()
	input, _ := json.Marshal(map[string]string{"command": command})
	a := wire.Approval{Kind: "call", Tool: "bash", Input: input, Session: "s", Caller: "cli", CallID: callID, Workspace: "/w", Cwd: "/w", Reason: "r"}
	var err error
	if a.ActionHash, err = ActionHash(&a); err != nil {
		d.Fatal(err)
	}
	var expires *time.Time
	if callID == "" {
		t := d.at.Add(Patience)
		expires = &t
	}
	return d.Park(a, expires)
}

func (d *desk) decide(id, verdict string) *wire.Approval {
	d.Helper()
	a, err := d.Decide(id, Answer{Allow: verdict == wire.ApprovalAllowed, Note: "note"}, wire.Decider{Kind: "human", PID: 7})
	if err != nil {
		d.Fatal(err)
	}
	return a
}

// state checks how a request stands, by id and, if it still counts, by hash.
func (d *desk) state(a *wire.Approval, want string, counts bool) {
	d.Helper()
	got, err := d.Get(a.ID)
	if err != nil || got.State != want {
		d.Errorf("%s is %v, %v; want %s", a.ID, got, err, want)
	}
	found, free, err := d.Find(a.ActionHash)
	if err != nil || counts != (found != nil && found.ID == a.ID) || (found == nil) != (free != "") || free == a.ID {
		d.Errorf("found %v, free %q, %v", found, free, err)
	}
}

// edit changes a file as by hand.
func (d *desk) edit(kind, id, old, new string) {
	d.Helper()
	path := d.path(kind, id)
	data, err := os.ReadFile(path)
	if err != nil {
		d.Fatal(err)
	}
	changed := strings.Replace(string(data), old, new, 1)
	if changed == string(data) {
		d.Fatalf("%s has no %s", data, old)
	}
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		d.Fatal(err)
	}
}

// refuses checks an error.
func refuses(t testing.TB, err error, code string, exit int) {
	t.Helper()
	if err == nil || fail.As(err).Code != code || fail.Exit(err) != exit {
		t.Errorf("got %+v, want %s (%d)", err, code, exit)
	}
}

// The hash is over what a person is asked, in canonical JSON, and nothing else.
func TestActionHash(t *testing.T) {
	a := wire.Approval{Tool: "bash", Input: json.RawMessage(`{"b":1,"a":"x"}`), Workspace: "/w", Cwd: "/w", Session: "s", Caller: "c"}
	hash := func(a wire.Approval) string {
		h, err := ActionHash(&a)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	want := hash(a)
	if len(want) != 64 {
		t.Errorf("hash %s", want)
	}
	for name, change := range map[string]func(a *wire.Approval){
		"spaces": func(a *wire.Approval) { a.Input = json.RawMessage(` { "a" : "\u0078", "b": 1.0 } `) },
		"reason": func(a *wire.Approval) { a.Reason, a.Mandatory, a.Preview = "r", true, "p" },
		"id":     func(a *wire.Approval) { a.ID, a.State, a.CreatedAt = "abcd", "allowed", start },
	} {
		b := a
		if change(&b); hash(b) != want {
			t.Errorf("%s makes it another action", name)
		}
	}
	for name, change := range map[string]func(a *wire.Approval){
		"tool":      func(a *wire.Approval) { a.Tool = "x" },
		"input":     func(a *wire.Approval) { a.Input = json.RawMessage(`{"b":2,"a":"x"}`) },
		"workspace": func(a *wire.Approval) { a.Workspace = "/x" },
		"cwd":       func(a *wire.Approval) { a.Cwd = "/x" },
		"session":   func(a *wire.Approval) { a.Session = "x" },
		"caller":    func(a *wire.Approval) { a.Caller = "x" },
		"call":      func(a *wire.Approval) { a.CallID = "x" },
	} {
		b := a
		if change(&b); hash(b) == want {
			t.Errorf("%s makes no other action", name)
		}
	}
	a.Input = json.RawMessage(`{"n":1e999}`)
	if _, err := ActionHash(&a); fail.Exit(err) != 2 {
		t.Errorf("got %v", err)
	}
}

func TestLife(t *testing.T) {
	d := newDesk(t)
	a := d.ask("ls", "")
	if !regexp.MustCompile(`^[a-z2-9]{4}$`).MatchString(a.ID) || a.State != wire.ApprovalPending || !a.CreatedAt.Equal(start) || a.Type != "approval" || a.V != 1 {
		t.Errorf("%+v", a)
	}
	d.state(a, wire.ApprovalPending, true)
	if again := d.ask("ls", ""); again.ID != a.ID {
		t.Error("the same action is another request")
	}
	got := d.decide(a.ID, wire.ApprovalAllowed)
	if got.State != wire.ApprovalAllowed || got.Scope != "once" || got.Note != "note" || got.DecidedBy.PID != 7 || !got.DecidedAt.Equal(start) || !got.SpendBy.Equal(start.Add(300*time.Second)) {
		t.Errorf("%+v", got)
	}
	d.state(a, wire.ApprovalAllowed, true)
	for _, verdict := range []string{wire.ApprovalAllowed, wire.ApprovalDenied} {
		_, err := d.Decide(a.ID, Answer{Allow: verdict == wire.ApprovalAllowed}, wire.Decider{})
		refuses(t, err, "already_decided", 7)
	}
	if err := d.Spend(got, "c1"); err != nil {
		t.Fatal(err)
	}
	refuses(t, d.Spend(got, "c2"), "already_spent", 7)
	d.state(a, wire.ApprovalSpent, false)
	if b := d.ask("ls", ""); b.ID == a.ID {
		t.Error("it was asked for again under the old id")
	}
	for _, kind := range []string{"pending", "decided", "spent"} {
		if fi, err := os.Stat(d.path(kind, a.ID)); err != nil || fi.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", kind, fi, err)
		}
	}
}

func TestTimes(t *testing.T) {
	d := newDesk(t)
	a := d.ask("ls", "")
	d.at = start.Add(Patience)
	d.state(a, wire.ApprovalPending, true)
	if b := d.ask("ls", ""); b.ID != a.ID || !b.ExpiresAt.Equal(d.at.Add(Patience)) {
		t.Errorf("asked for again: %+v", b)
	}
	d.at = start.Add(2*Patience + 1)
	d.state(a, wire.ApprovalExpired, false)
	_, err := d.Decide(a.ID, Answer{Allow: true, Scope: Once}, wire.Decider{})
	refuses(t, err, "expired", 7)

	b := d.ask("ls", "")
	d.decide(b.ID, wire.ApprovalAllowed)
	d.at = d.at.Add(SpendWithin)
	d.state(b, wire.ApprovalAllowed, true)
	d.at = d.at.Add(1)
	d.state(b, wire.ApprovalExpired, false)

	c := d.ask("ls", "")
	d.decide(c.ID, wire.ApprovalDenied)
	d.at = d.at.Add(DenialHolds - 1)
	d.state(c, wire.ApprovalDenied, true)
	d.at = d.at.Add(-time.Hour) // a clock that went back forgets no denial
	d.state(c, wire.ApprovalDenied, true)
	d.at = d.at.Add(time.Hour + 1)
	d.state(c, wire.ApprovalDenied, false)

	e := d.ask("pwd", "")
	d.decide(e.ID, wire.ApprovalAllowed)
	d.at = d.at.Add(SpendWithin + 1)
	f := d.ask("pwd", "")
	if err := d.Spend(d.decide(f.ID, wire.ApprovalAllowed), ""); err != nil {
		t.Fatal(err)
	}
	d.at = d.at.Add(-SpendWithin) // nor does it bring back an old answer
	if found, _, err := d.Find(e.ActionHash); found != nil || err != nil {
		t.Errorf("found %+v, %v", found, err)
	}

	// In a run nothing expires, and what was used is remembered.
	r := d.ask("ls", "t1.1")
	d.at = d.at.Add(1000 * time.Hour)
	d.state(r, wire.ApprovalPending, true)
	if got := d.decide(r.ID, wire.ApprovalAllowed); got.SpendBy != nil {
		t.Errorf("%+v", got)
	}
	d.at = d.at.Add(1000 * time.Hour)
	d.state(r, wire.ApprovalAllowed, true)
	if err := d.Spend(r, "t1.1"); err != nil {
		t.Fatal(err)
	}
	d.state(r, wire.ApprovalSpent, true)
	if again := d.ask("ls", "t1.1"); again.ID != r.ID || again.State != wire.ApprovalSpent {
		t.Errorf("%+v", again)
	}
}

func TestCap(t *testing.T) {
	d := newDesk(t)
	var first *wire.Approval
	for i := range MaxPending {
		if a := d.ask(fmt.Sprint(i), ""); i == 0 {
			first = a
		}
	}
	_, err := d.park("one more", "")
	refuses(t, err, "pending_approvals", 6)
	d.ask("0", "") // it waits already
	d.decide(first.ID, wire.ApprovalDenied)
	d.ask("one more", "")
	_, err = d.park("yet one", "")
	refuses(t, err, "pending_approvals", 6)
	d.at = d.at.Add(Patience + 1)
	d.ask("yet one", "") // the others have expired
}

// The session's pending requests end with it; what was answered stays answered.
func TestCancel(t *testing.T) {
	d := newDesk(t)
	a, b, c := d.ask("a", ""), d.ask("b", ""), d.ask("c", "t1")
	d.decide(b.ID, wire.ApprovalAllowed)
	ids, err := d.Cancel("other", wire.Decider{Kind: "human"})
	if len(ids) != 0 || err != nil {
		t.Errorf("%v, %v", ids, err)
	}
	ids, err = d.Cancel("s", wire.Decider{Kind: "human"})
	want := []string{a.ID, c.ID}
	slices.Sort(ids)
	slices.Sort(want)
	if !slices.Equal(ids, want) || err != nil {
		t.Errorf("%v, %v", ids, err)
	}
	d.state(a, wire.ApprovalCancelled, false)
	d.state(b, wire.ApprovalAllowed, true)
	d.state(c, wire.ApprovalCancelled, false)
	_, err = d.Decide(a.ID, Answer{Allow: true, Scope: Once}, wire.Decider{})
	refuses(t, err, "already_decided", 7)
}

func TestGet(t *testing.T) {
	d := newDesk(t)
	for _, id := range []string{"", "zzzz", "../x", "a/b", "ABCD", "*", strings.Repeat("a", 5000)} {
		_, err := d.Get(id)
		refuses(t, err, "no_such_request", 8)
		if len(err.Error()) > 100 {
			t.Errorf("a message of %d bytes", len(err.Error()))
		}
	}
	byFirst := map[byte][]string{}
	for i := range 40 {
		id := d.ask(fmt.Sprint(i), "").ID
		byFirst[id[0]] = append(byFirst[id[0]], id)
	}
	alone, several := 0, 0
	for first, ids := range byFirst {
		a, err := d.Get(string(first))
		if len(ids) == 1 {
			alone++
			if err != nil || a.ID != ids[0] {
				t.Errorf("%c: %v, %v", first, a, err)
			}
			continue
		}
		several++
		refuses(t, err, "usage", 2)
		for _, id := range ids {
			if !strings.Contains(err.Error(), id) {
				t.Errorf("%v does not name %s", err, id)
			}
		}
	}
	if alone == 0 || several == 0 {
		t.Error("the ids say nothing of prefixes")
	}
}

// Ids stay short, and an action never gets one twice.
func TestIDs(t *testing.T) {
	seen := map[string]bool{}
	for n := range maxCandidates {
		id := candidate("0123", n)
		if !regexp.MustCompile(`^[abcdefghjkmnpqrstuvwxyz2-9]{4,6}$`).MatchString(id) {
			t.Fatalf("id %q", id)
		}
		seen[id] = true
	}
	if len(seen) < maxCandidates-10 {
		t.Errorf("%d of %d ids are different", len(seen), maxCandidates)
	}
	// An id that another action has is passed over.
	d := newDesk(t)
	a := d.ask("ls", "")
	os.Remove(d.path("pending", a.ID))
	b := d.ask("pwd", "")
	data, err := os.ReadFile(d.path("pending", b.ID))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.path("pending", a.ID), []byte(strings.ReplaceAll(string(data), `"id":"`+b.ID, `"id":"`+a.ID)), 0o600); err != nil {
		t.Fatal(err)
	}
	c := d.ask("ls", "")
	if c.ID == a.ID {
		t.Fatal("two actions have one id")
	}
	d.state(c, wire.ApprovalPending, true)
}

// In a dry run nothing is made.
func TestPeek(t *testing.T) {
	st, err := state.Peek(filepath.Join(t.TempDir(), "none"))
	if err != nil {
		t.Fatal(err)
	}
	s := New(st, func() time.Time { return start })
	if list, bad := s.List(""); list != nil || bad != nil {
		t.Errorf("%v, %v", list, bad)
	}
	if a, free, err := s.Find("h"); a != nil || free == "" || err != nil {
		t.Errorf("%v, %q, %v", a, free, err)
	}
	if _, err := s.Park(wire.Approval{ActionHash: "h"}, nil); err == nil {
		t.Error("a request was parked")
	}
	if _, err := os.Stat(st.Dir()); !errors.Is(err, fs.ErrNotExist) {
		t.Error("something was made")
	}
}
