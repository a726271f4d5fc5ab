package approve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/sock"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/approve"
	"github.com/kxtools/kx/pkg/wire"
)

// soon bounds what takes milliseconds, on a slow machine.
const soon = 20 * time.Second

// house is a state directory with a host on it.
type house struct {
	t      testing.TB
	st     *state.State
	store  *approval.Store
	host   *Host
	socket string
	ahead  atomic.Int64 // how far the clock of the house is ahead
}

func newHouse(t testing.TB) *house {
	t.Helper()
	st, err := state.Open(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, st: st}
	h.store, h.host = approval.New(st, h.now), New(st, h.now)
	run, err := os.MkdirTemp("", "kx") // short: a socket's name has 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	h.socket = filepath.Join(run, "approve.sock")
	ln, err := sock.Listen(h.socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.host.Server("1.2.3").Serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the host ended with %v", err)
		}
		os.RemoveAll(run)
	})
	return h
}

func (h *house) now() time.Time { return time.Now().Add(time.Duration(h.ahead.Load())) }

// park makes the n-th request; each is of a session of its own.
func (h *house) park(n int, expires *time.Time) *wire.Approval {
	h.t.Helper()
	a := wire.Approval{
		Kind: "call", Tool: "write_file", Input: json.RawMessage(fmt.Sprintf(`{"path":"/w/%d"}`, n)),
		Session: fmt.Sprintf("s%d", n), Caller: "agent", Workspace: "/w", Cwd: "/w", Reason: "ask by built-in",
	}
	var err error
	if a.ActionHash, err = approval.ActionHash(&a); err != nil {
		h.t.Fatal(err)
	}
	got, err := h.store.Park(a, expires)
	if err != nil {
		h.t.Fatal(err)
	}
	return got
}

func (h *house) client(key string) *approve.Client {
	h.t.Helper()
	read := h.st.HostKey
	if key == "approver" {
		read = h.st.ApproverKey
	}
	raw, err := read()
	if err != nil {
		h.t.Fatal(err)
	}
	c, err := approve.Dial(context.Background(), approve.Options{Socket: h.socket, KeyName: key, Key: raw})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { c.Close() })
	return c
}

// answers returns the lines of the audit that tell of an answer to id.
func (h *house) answers(id string) []audit.Approval {
	h.t.Helper()
	return slices.DeleteFunc(h.lines(id), func(a audit.Approval) bool { return a.State == audit.StateRefused })
}

// lines returns those of refusals, too.
func (h *house) lines(id string) []audit.Approval {
	h.t.Helper()
	var list []audit.Approval
	for e, err := range audit.New(h.st, h.now).List(audit.Filter{}) {
		if err != nil {
			h.t.Fatal(err)
		}
		var a audit.Approval
		if json.Unmarshal(e.Raw, &a) == nil && a.Type == audit.TypeApproval && a.ID == id {
			list = append(list, a)
		}
	}
	return list
}

// ask gives the host a request without a socket and returns what it sends.
func (h *house) ask(key, verb, args string) (docs []string, err error) {
	h.t.Helper()
	send := func(doc any) error {
		raw, err := wire.Marshal(doc)
		docs = append(docs, string(raw))
		return err
	}
	uid := os.Getuid()
	r := &sock.Request{ID: 1, Verb: verb, Args: json.RawMessage(args), Key: key, Peer: wire.Decider{PID: os.Getpid(), UID: &uid, Exe: "/bin/kx", TTY: "/dev/pts/3"}, Alive: func() bool { return true }}
	doc, err := h.host.Handle(context.Background(), r, send)
	if doc != nil {
		if err := send(doc); err != nil {
			h.t.Fatal(err)
		}
	}
	return docs, err
}

func TestVerbs(t *testing.T) {
	h := newHouse(t)
	if docs, err := h.ask("host", "list", ""); err != nil || !slices.Equal(docs, []string{`{"count":0,"type":"end","v":1}`}) {
		t.Errorf("an empty list: %q, %v", docs, err)
	}
	first, second := h.park(1, nil), h.park(2, nil)
	text := func(a *wire.Approval) string { raw, _ := wire.Marshal(a); return string(raw) }

	docs, err := h.ask("host", "list", "{}")
	if want := []string{text(first), text(second), `{"count":2,"type":"end","v":1}`}; err != nil || !slices.Equal(docs, want) {
		t.Errorf("list: %q, %v, want %q", docs, err, want)
	}
	docs, err = h.ask("host", "show", `{"id":"`+second.ID[:3]+`"}`)
	if err != nil || !slices.Equal(docs, []string{text(second)}) {
		t.Errorf("show: %q, %v", docs, err)
	}
	docs, err = h.ask("approver", "deny", `{"id":"`+first.ID+`","note":"not there"}`)
	if err != nil || len(docs) != 1 {
		t.Fatalf("deny: %q, %v", docs, err)
	}
	var got wire.Approval
	json.Unmarshal([]byte(docs[0]), &got)
	by := got.DecidedBy
	if got.State != wire.ApprovalDenied || got.Note != "not there" || got.DecidedAt == nil || by == nil ||
		by.Kind != "human" || by.Via != "socket" || by.PID != os.Getpid() || *by.UID != os.Getuid() || by.Exe != "/bin/kx" || by.TTY != "/dev/pts/3" {
		t.Errorf("deny: %s", docs[0])
	}
	if a, err := h.store.Get(first.ID); err != nil || a.State != wire.ApprovalDenied {
		t.Errorf("on disk it is %+v, %v", a, err)
	}
	if lines := h.answers(first.ID); len(lines) != 1 || lines[0].State != wire.ApprovalDenied || lines[0].Note != "not there" ||
		lines[0].ActionHash != first.ActionHash || lines[0].DecidedBy.PID != os.Getpid() || lines[0].Session != "s1" {
		t.Errorf("in the audit: %+v", lines)
	}
	docs, err = h.ask("host", "wait", `{"id":"`+first.ID+`"}`)
	if err != nil || len(docs) != 1 || !strings.Contains(docs[0], `"state":"denied"`) {
		t.Errorf("waiting for what is answered: %q, %v", docs, err)
	}
	if docs, err = h.ask("approver", "allow", `{"id":"`+second.ID+`"}`); err != nil || !strings.Contains(docs[0], `"state":"allowed"`) || !strings.Contains(docs[0], `"scope":"once"`) {
		t.Errorf("allow: %q, %v", docs, err)
	}
}

func TestRefusals(t *testing.T) {
	h := newHouse(t)
	a, done := h.park(1, nil), h.park(2, nil)
	if _, err := h.ask("approver", "deny", `{"id":"`+done.ID+`"}`); err != nil {
		t.Fatal(err)
	}
	late := time.Now().Add(-time.Second)
	old := h.park(3, &late)
	id := func(a *wire.Approval) string { return `{"id":"` + a.ID + `"}` }
	for _, c := range []struct {
		key, verb, args, code string
		exit                  int
	}{
		{"host", "allow", id(a), "not_an_approver", fail.ExitDenied},
		{"host", "deny", id(a), "not_an_approver", fail.ExitDenied},
		{"", "allow", id(a), "not_an_approver", fail.ExitDenied},
		{"approver", "allow", `{"id":"` + a.ID + `","scope":"ever"}`, "usage", fail.ExitUsage},
		{"approver", "allow", `{"id":"` + a.ID + `","scoop":"once"}`, "usage", fail.ExitUsage},
		{"approver", "deny", `{"id":"` + a.ID + `","scope":"once"}`, "usage", fail.ExitUsage},
		{"approver", "allow", `{"id":"` + a.ID + `","scope":"always","input":{}}`, "usage", fail.ExitUsage},
		{"approver", "allow", `{"id":"` + a.ID + `","input":["/w/2"]}`, "usage", fail.ExitUsage},
		{"approver", "allow", `["` + a.ID + `"]`, "usage", fail.ExitUsage},
		{"approver", "allow", `{"id":7}`, "usage", fail.ExitUsage},
		{"approver", "allow", `{"id":"` + a.ID + `","note":"` + strings.Repeat("x", maxNote+1) + `"}`, "note_bytes", fail.ExitLimit},
		{"approver", "allow", id(done), "already_decided", fail.ExitConflict},
		{"approver", "allow", id(old), "expired", fail.ExitConflict},
		{"approver", "allow", `{"id":"zzzzzz"}`, "no_such_request", fail.ExitNotFound},
		{"approver", "allow", `{"id":"../host"}`, "no_such_request", fail.ExitNotFound},
		{"approver", "allow", `{}`, "no_such_request", fail.ExitNotFound},
		{"host", "show", `{"id":"zzzzzz"}`, "no_such_request", fail.ExitNotFound},
		{"host", "wait", ``, "no_such_request", fail.ExitNotFound},
		{"approver", "answer", id(a), "question_request_mismatch", fail.ExitUsage},
		{"approver", "deny", `{"id":"` + a.ID + `","answers":[]}`, "question_declined_with_answers", fail.ExitUsage},
		{"approver", "", ``, "usage", fail.ExitUsage},
	} {
		docs, err := h.ask(c.key, c.verb, c.args)
		if e := fail.As(err); e == nil || e.Code != c.code || e.Exit != c.exit || len(docs) > 0 {
			t.Errorf("%s %s %.60s: %q, %v", c.key, c.verb, c.args, docs, err)
		}
	}
	if got, err := h.store.Get(a.ID); err != nil || got.State != wire.ApprovalPending {
		t.Errorf("the request is %+v, %v", got, err)
	}
	lines := h.lines(a.ID)
	for _, l := range lines {
		if l.State != audit.StateRefused || l.DecidedBy.Kind != "guard" || l.Tool != a.Tool || l.ActionHash != a.ActionHash || !strings.HasSuffix(l.Note, ": only the approver key answers requests") {
			t.Errorf("the audit has %+v", l)
		}
	}
	if len(lines) != 3 {
		t.Errorf("the audit has %d lines of who may not answer", len(lines))
	}
}

// Of two who answer at once one wins, and the other hears that it lost.
func TestFirstAnswerWins(t *testing.T) {
	h := newHouse(t)
	ctx := context.Background()
	yes, no := h.client("approver"), h.client("approver")
	for n := range 20 {
		a := h.park(n, nil)
		var errs [2]error
		var wg sync.WaitGroup
		wg.Go(func() { _, errs[0] = yes.Allow(ctx, a.ID, approve.Answer{}) })
		wg.Go(func() { _, errs[1] = no.Deny(ctx, a.ID, approve.Answer{}) })
		wg.Wait()
		var lost *approve.Error
		if (errs[0] == nil) == (errs[1] == nil) || !errors.As(errors.Join(errs[:]...), &lost) ||
			lost.Exit != fail.ExitConflict || lost.Code != "already_decided" {
			t.Fatalf("allow: %v, deny: %v", errs[0], errs[1])
		}
		want := wire.ApprovalAllowed
		if errs[0] != nil {
			want = wire.ApprovalDenied
		}
		got, err := h.store.Get(a.ID)
		if err != nil || got.State != want {
			t.Errorf("it is %s, want %s, %v", got.State, want, err)
		}
		if lines := h.answers(a.ID); len(lines) != 1 || lines[0].State != want {
			t.Errorf("the audit has %+v", lines)
		}
	}
}

// A waiter wakes at the answer, not at the next look at the files.
func TestWaitersWake(t *testing.T) {
	h := newHouse(t)
	ctx := context.Background()
	approver, host := h.client("approver"), h.client("host")
	var took []time.Duration
	for n := range 15 {
		a := h.park(n, nil)
		woke, asked := make(chan time.Time, 1), make(chan struct{})
		go func() {
			close(asked)
			if got, err := host.Wait(ctx, a.ID[:4]); err != nil || got.State != wire.ApprovalAllowed {
				t.Errorf("waiting: %+v, %v", got, err)
			}
			woke <- time.Now()
		}()
		<-asked
		for range 3 { // requests go in order: the host has the wait before these
			if _, err := host.Show(ctx, a.ID); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		if _, err := approver.Allow(ctx, a.ID, approve.Answer{}); err != nil {
			t.Fatal(err)
		}
		took = append(took, (<-woke).Sub(began))
	}
	slices.Sort(took)
	t.Logf("from allow to a woken waiter: median %v, worst %v", took[len(took)/2], took[len(took)-1])
	if median := took[len(took)/2]; median > 100*time.Millisecond {
		t.Errorf("a waiter wakes after %v", median)
	}
}

// What happens without the host, it sees in the files.
func TestWaitSeesTheFiles(t *testing.T) {
	h := newHouse(t)
	expires := h.now().Add(time.Hour)
	expiring, cancelled := h.park(1, &expires), h.park(2, nil)
	c := h.client("host")
	states := make(chan string, 2)
	for _, id := range []string{expiring.ID, cancelled.ID} {
		go func() {
			a, err := c.Wait(context.Background(), id)
			if err != nil {
				t.Error(err)
				a = &wire.Approval{}
			}
			states <- a.State
		}()
	}
	if _, err := h.store.Cancel("s2", wire.Decider{Kind: "human"}); err != nil {
		t.Fatal(err)
	}
	if got := within(t, states); got != wire.ApprovalCancelled {
		t.Errorf("cancelled: %s", got)
	}
	h.ahead.Store(int64(2 * time.Hour))
	if got := within(t, states); got != wire.ApprovalExpired {
		t.Errorf("expired: %s", got)
	}
}

func within[T any](t *testing.T, ch <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-ch:
	case <-time.After(soon):
		t.Fatal("nothing came")
	}
	return got
}

func TestWatch(t *testing.T) {
	h := newHouse(t)
	ctx, stop := context.WithCancel(context.Background())
	early := h.park(1, nil)
	seen, ended := make(chan string, 16), make(chan error, 1)
	watcher, approver := h.client("host"), h.client("approver")
	go func() {
		ended <- watcher.Watch(ctx, func(a *wire.Approval) error { seen <- a.ID + " " + a.State; return nil })
	}()
	step := func(want string) {
		t.Helper()
		if got := within(t, seen); got != want {
			t.Errorf("saw %q, want %q", got, want)
		}
	}
	step(early.ID + " pending")
	late := h.park(2, nil)
	step(late.ID + " pending")
	if _, err := approver.Allow(ctx, late.ID, approve.Answer{}); err != nil {
		t.Fatal(err)
	}
	step(late.ID + " allowed")
	if _, err := h.store.Cancel("s1", wire.Decider{Kind: "human"}); err != nil {
		t.Fatal(err)
	}
	step(early.ID + " cancelled")
	stop()
	if err := within(t, ended); !errors.Is(err, context.Canceled) {
		t.Errorf("watching ended with %v", err)
	}
	select {
	case got := <-seen:
		t.Errorf("saw %q, too", got)
	default:
	}
}

// A request that is too large for a line is shown without its input; a damaged one
// takes nobody else's place.
func TestOddRequests(t *testing.T) {
	h := newHouse(t)
	big := wire.Approval{
		Kind: "call", Tool: "write_file", Session: "s", Caller: "agent", Workspace: "/w", Cwd: "/w",
		Input:  json.RawMessage(`{"content":"` + strings.Repeat("x", sock.MaxLine) + `"}`),
		Leaves: slices.Repeat([]wire.Leaf{{Argv: []string{"true"}, Points: []wire.Point{}}}, sock.MaxLine/8),
	}
	var err error
	if big.ActionHash, err = approval.ActionHash(&big); err != nil {
		t.Fatal(err)
	}
	a, err := h.store.Park(big, nil)
	if err != nil {
		t.Fatal(err)
	}
	broken, fine := h.park(1, nil), h.park(2, nil)
	if err := os.Truncate(filepath.Join(h.st.Dir(), "approvals/pending", broken.ID+".json"), 20); err != nil {
		t.Fatal(err)
	}
	c := h.client("approver")
	list, err := c.List(context.Background())
	if err != nil || len(list) != 2 || list[0].ID != a.ID || list[1].ID != fine.ID {
		t.Fatalf("list: %v, %v", list, err)
	}
	if list[0].Leaves != nil || string(list[0].Input) != "null" || !strings.Contains(list[0].Preview, "kx approve show "+a.ID) {
		t.Errorf("the large one: %d leaves, input %.50s, preview %q", len(list[0].Leaves), list[0].Input, list[0].Preview)
	}
	if got, err := c.Allow(context.Background(), a.ID, approve.Answer{}); err != nil || got.State != wire.ApprovalAllowed {
		t.Errorf("allowing it: %v", err)
	}
	if got, err := h.store.Get(a.ID); err != nil || !bytes.Equal(got.Input, big.Input) {
		t.Errorf("its record: %v", err)
	}
	var e *approve.Error
	if _, err := c.Deny(context.Background(), broken.ID, approve.Answer{}); !errors.As(err, &e) || e.Code != "damaged_request" {
		t.Errorf("the damaged one: %v", err)
	}
}

// The names of the keys and of the host are those that other clients know.
func TestHello(t *testing.T) {
	h := newHouse(t)
	conn, err := net.Dial("unix", h.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var hello map[string]any
	if err := json.NewDecoder(conn).Decode(&hello); err != nil || hello["name"] != "approve" || hello["version"] != "1.2.3" {
		t.Errorf("hello %v, %v", hello, err)
	}
	var e *approve.Error
	for _, name := range []string{"host", "approver", "other"} {
		c, err := approve.Dial(context.Background(), approve.Options{Socket: h.socket, KeyName: name, Key: []byte("guessed")})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.List(context.Background()); !errors.As(err, &e) || e.Code != "bad_key" || e.Exit != fail.ExitDenied {
			t.Errorf("a guessed %s key: %v", name, err)
		}
		c.Close()
	}
}

func BenchmarkList(b *testing.B) {
	h := newHouse(b)
	for n := range 1000 {
		h.park(n, nil)
	}
	c := h.client("host")
	b.ResetTimer()
	for b.Loop() {
		if list, err := c.List(context.Background()); err != nil || len(list) != 1000 {
			b.Fatalf("%d, %v", len(list), err)
		}
	}
}

func BenchmarkAllowWakes(b *testing.B) {
	h := newHouse(b)
	approver, host := h.client("approver"), h.client("host")
	n := 0
	for b.Loop() {
		b.StopTimer()
		a := h.park(n, nil)
		n++
		woke := make(chan struct{})
		go func() {
			host.Wait(context.Background(), a.ID)
			close(woke)
		}()
		for range 3 {
			host.Show(context.Background(), a.ID)
		}
		b.StartTimer()
		if _, err := approver.Allow(context.Background(), a.ID, approve.Answer{}); err != nil {
			b.Fatal(err)
		}
		<-woke
	}
}
