package approve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/sock"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/app"
	hostapprove "github.com/kxtools/kx/internal/host/approve"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/approve"
	"github.com/kxtools/kx/pkg/wire"
)

// desk is a person's place: requests, a host that answers, and a command.
type desk struct {
	testing.TB
	store     *approval.Store
	app       *app.App
	out, errs *bytes.Buffer
	question  string
}

func newDesk(t testing.TB, session string) (*desk, *AllOptions) {
	t.Helper()
	st, err := state.Open(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	run, err := os.MkdirTemp("", "kx") // short: a socket's name has 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	ln, err := sock.Listen(filepath.Join(run, "s"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		hostapprove.New(st, time.Now).Server("1").Serve(ctx, ln)
	}()
	t.Cleanup(func() { cancel(); <-ended; os.RemoveAll(run) })
	d := &desk{TB: t, store: approval.New(st, time.Now)}
	io, _, out, errs := term.Test()
	d.out, d.errs = out, errs
	d.app = app.New(io, func(string) string { return "" }, "1")
	d.app.Globals.Output = "jsonl"
	o := &AllOptions{
		App: d.app, Verb: "allow", Session: session,
		Open: func() (*approval.Store, error) { return d.store, nil },
		Human: func(_ context.Context, _, question string) (wire.Decider, error) {
			d.question = question
			return wire.Decider{}, nil
		},
		Connect: func(ctx context.Context, name string) (*approve.Client, error) {
			key, err := st.ApproverKey()
			if err != nil {
				return nil, err
			}
			return approve.Dial(ctx, approve.Options{Socket: filepath.Join(run, "s"), KeyName: name, Key: key})
		},
	}
	return d, o
}

func (d *desk) ask(session, command string) *wire.Approval {
	d.Helper()
	input, _ := json.Marshal(map[string]string{"command": command})
	a := wire.Approval{Kind: "call", Tool: "bash", Input: input, Session: session, Caller: "cli", Workspace: "/w", Cwd: "/w", Reason: "r"}
	var err error
	if a.ActionHash, err = approval.ActionHash(&a); err != nil {
		d.Fatal(err)
	}
	got, err := d.store.Park(a, nil)
	if err != nil {
		d.Fatal(err)
	}
	return got
}

// A person confirms a list; a request that comes while they read it is not among
// what they said yes to.
func TestAllAnswersWhatWasShown(t *testing.T) {
	d, o := newDesk(t, "s")
	d.ask("s", "make test")
	d.ask("s", "make \x1b[2Jinstall")
	d.ask("other", "rm -r /")
	confirm := o.Human
	o.Human = func(ctx context.Context, line, question string) (wire.Decider, error) {
		d.ask("s", "rm -r .")
		return confirm(ctx, line, question)
	}
	if err := all(t.Context(), o); fail.Exit(err) != fail.ExitConflict {
		t.Fatalf("it says %v", err)
	}
	if pending, _ := d.store.List(wire.ApprovalPending); len(pending) != 4 || d.out.Len() > 0 {
		t.Fatalf("%d wait, and it prints %s", len(pending), d.out)
	}
	o.Human = confirm
	if err := all(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"make test", "rm -r .", "allow all 3?"} {
		if !strings.Contains(d.question, want) {
			t.Errorf("the question is %q, without %q", d.question, want)
		}
	}
	if strings.Contains(d.question, "other") || strings.Contains(d.question, "rm -r /") || strings.Contains(d.question, "\x1b") {
		t.Errorf("the question is %q", d.question)
	}
	if n := strings.Count(d.out.String(), `"state":"allowed"`); n != 3 {
		t.Errorf("it prints %s", d.out)
	}
}

func TestAllNotConfirmed(t *testing.T) {
	d, o := newDesk(t, "s")
	a := d.ask("s", "make test")
	o.Human = func(context.Context, string, string) (wire.Decider, error) {
		return wire.Decider{}, fail.Denied("refused", "no")
	}
	if err := all(t.Context(), o); fail.Exit(err) != fail.ExitDenied {
		t.Errorf("it says %v", err)
	}
	if got, err := d.store.Get(a.ID); err != nil || got.State != wire.ApprovalPending {
		t.Errorf("it is %v, %v", got, err)
	}
}

// The host may answer some and then fail: those are shown, for they count.
func TestAllShowsWhatCounts(t *testing.T) {
	d, o := newDesk(t, "s")
	first, second := d.ask("s", "make test"), d.ask("s", "make install")
	o.Connect = func(ctx context.Context, _ string) (*approve.Client, error) {
		return dying(t, ctx, first)
	}
	err := all(t.Context(), o)
	if fail.Exit(err) != fail.ExitUnavailable || fail.As(err).Hint != "kx approve list --all --session s" {
		t.Errorf("it says %+v", fail.As(err))
	}
	if got := d.out.String(); !strings.Contains(got, first.ID) || strings.Contains(got, second.ID) {
		t.Errorf("it prints %s", got)
	}
}

// dying connects to a host that answers a request with one approval and is gone.
func dying(t *testing.T, ctx context.Context, a *wire.Approval) (*approve.Client, error) {
	dir, err := os.MkdirTemp("", "kx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	ln, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprintf(conn, "{\"type\":\"hello\",\"v\":1,\"version\":\"1\",\"nonce\":\"%032d\"}\n", 1)
		lines := bufio.NewScanner(conn)
		lines.Scan() // the client's proof
		lines.Scan()
		var req struct{ ID int64 }
		if json.Unmarshal(lines.Bytes(), &req) != nil {
			return
		}
		raw, _ := wire.Marshal(map[string]any{"id": req.ID, "result": a})
		conn.Write(append(raw, '\n'))
	}()
	return approve.Dial(ctx, approve.Options{Socket: filepath.Join(dir, "s"), KeyName: "approver", Key: []byte("k")})
}
