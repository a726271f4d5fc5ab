package approve

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/lineage"
	"github.com/kxtools/kx/internal/base/sock"
	"github.com/kxtools/kx/internal/record/agentroot"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/approve"
	"github.com/kxtools/kx/pkg/wire"
)

// TestAsClient is no test but an approver in a process of its own: it allows a
// request and prints what it hears.
func TestAsClient(t *testing.T) {
	if flag.Arg(0) != "allow" {
		return
	}
	st, err := state.Open(flag.Arg(2))
	if err != nil {
		t.Fatal(err)
	}
	key, err := st.ApproverKey()
	if err != nil {
		t.Fatal(err)
	}
	c, err := approve.Dial(context.Background(), approve.Options{Socket: flag.Arg(1), KeyName: "approver", Key: key})
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.Allow(context.Background(), flag.Arg(3), approve.Answer{})
	var e *approve.Error
	switch {
	case errors.As(err, &e):
		fmt.Printf("heard %s %d %s\n", e.Code, e.Exit, e.Message)
	case err != nil:
		t.Fatal(err)
	default:
		fmt.Printf("heard %s via %s\n", a.State, a.DecidedBy.Via)
	}
}

// allowBy lets a program allow the request and returns what it heard; before stands
// before its name on the command line.
func (h *house) allowBy(program, id string, before ...string) string {
	h.t.Helper()
	line := append(before, program, "-test.run=^TestAsClient$", "allow", h.socket, h.st.Dir(), id)
	out, err := exec.Command(line[0], line[1:]...).CombinedOutput()
	if err != nil {
		h.t.Fatalf("%q: %v: %s", line, err, out)
	}
	for line := range strings.Lines(string(out)) {
		if heard, ok := strings.CutPrefix(line, "heard "); ok {
			return strings.TrimSpace(heard)
		}
	}
	h.t.Fatalf("%q heard nothing: %s", line, out)
	return ""
}

func TestBelowARootNobodyDecides(t *testing.T) {
	h := newHouse(t)
	a := h.park(1, nil)
	roots := agentroot.New(h.st, h.now)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for n, root := range []struct{ kind, want string }{
		{agentroot.Tool, fmt.Sprintf("below kx process %d, which runs tools", os.Getpid())},
		{agentroot.Agent, fmt.Sprintf("below process %d, the agent other", os.Getpid())},
	} {
		kind, want := root.kind, root.want
		if err := roots.Register(os.Getpid(), kind, "other"); err != nil {
			t.Fatal(err)
		}
		for _, before := range [][]string{nil, {"setsid", "-w"}, {"sh", "-c", `"$@"; true`, "sh"}} {
			if got := h.allowBy(self, a.ID, before...); !strings.HasPrefix(got, "not_a_person 3 ") || !strings.HasSuffix(got, want) {
				t.Errorf("%s, %q: %s", kind, before, got)
			}
		}
		// The root itself is no descendant: a person may sit before it.
		if docs, err := h.ask("approver", "allow", `{"id":"`+h.park(2+n, nil).ID+`"}`); err != nil {
			t.Errorf("%s itself: %q, %v", kind, docs, err)
		}
		roots.Leave(os.Getpid())
	}
	if got, err := h.store.Get(a.ID); err != nil || got.State != wire.ApprovalPending || len(h.answers(a.ID)) > 0 {
		t.Fatalf("it is %+v, %v", got, err)
	}
	if got := h.allowBy(self, a.ID); got != "allowed via socket" {
		t.Errorf("after the roots left: %s", got)
	}
}

func TestNoNewPrivs(t *testing.T) {
	h := newHouse(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	own, err := lineage.Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	want := "not_a_person 3 only a person"
	if own.NoNewPrivs { // then this host can't tell
		want = "allowed"
	}
	if got := h.allowBy(self, h.park(1, nil).ID, "setpriv", "--no-new-privs"); !strings.HasPrefix(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestConfined(t *testing.T) {
	free, bound, inside := lineage.Process{PID: 7}, lineage.Process{PID: 7, NoNewPrivs: true}, lineage.Process{PID: 7, Nested: true}
	for _, c := range []struct {
		peer, host lineage.Process
		ok         bool
	}{{free, free, true}, {free, bound, true}, {bound, bound, true}, {bound, free, false}, {inside, free, false}, {inside, bound, false}} {
		err := confined(c.peer, c.host)
		if e := fail.As(err); (err == nil) != c.ok || err != nil && (e.Code != "not_a_person" || e.Exit != fail.ExitDenied) {
			t.Errorf("%+v before %+v: %v", c.peer, c.host, err)
		}
	}
}

// Whom the host can't look at any more, it does not hear.
func TestWhoCannotBeSeen(t *testing.T) {
	h := newHouse(t)
	args := json.RawMessage(`{"id":"` + h.park(1, nil).ID + `"}`)
	dead := func() bool { return false }
	for name, r := range map[string]*sock.Request{
		"nobody":    {Peer: wire.Decider{PID: 1 << 22}, Alive: func() bool { return true }},
		"no pid":    {Alive: func() bool { return true }},
		"dead":      {Peer: wire.Decider{PID: os.Getpid()}, Alive: dead},
		"not held":  {Peer: wire.Decider{PID: os.Getpid()}},
		"elsewhere": {Peer: wire.Decider{PID: -1}, Alive: dead},
	} {
		r.ID, r.Verb, r.Key, r.Args = 1, "allow", "approver", args
		doc, err := h.host.Handle(t.Context(), r, func(any) error { return nil })
		if e := fail.As(err); e == nil || e.Code != "not_a_person" || e.Exit != fail.ExitDenied || doc != nil {
			t.Errorf("%s: %v, %v", name, doc, err)
		}
	}
	if err := elsewhere(lineage.Process{PID: 1 << 22}, lineage.Process{PID: os.Getpid()}); err == nil {
		t.Error("namespaces that can't be read are taken for the host's")
	}
}

// ssh -L ends in an sshd of the user.
func TestForwarded(t *testing.T) {
	h := newHouse(t)
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	for n, name := range []string{"sshd", "sshd-session"} {
		program := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(program, self, 0o700); err != nil {
			t.Fatal(err)
		}
		a := h.park(n, nil)
		for what, remote := range map[string]func() (bool, error){
			"forwarded 3 ": func() (bool, error) { return false, nil },
			"config 2 ":    func() (bool, error) { return false, fail.Config("config.toml:1: no") },
		} {
			h.host.remote = remote
			if got := h.allowBy(program, a.ID); !strings.HasPrefix(got, what) {
				t.Errorf("%s: %s, want %s", name, got, what)
			}
		}
		h.host.remote = func() (bool, error) { return true, nil }
		roots := agentroot.New(h.st, h.now)
		if err := roots.Register(os.Getpid(), agentroot.Tool, ""); err != nil {
			t.Fatal(err)
		}
		if got := h.allowBy(program, a.ID); !strings.HasPrefix(got, "not_a_person 3 ") {
			t.Errorf("%s below a root: %s", name, got)
		}
		roots.Leave(os.Getpid())
		if got := h.allowBy(program, a.ID); got != "allowed via forward" {
			t.Errorf("%s: %s", name, got)
		}
		if lines := h.answers(a.ID); len(lines) != 1 || lines[0].DecidedBy.Via != "forward" {
			t.Errorf("%s: the audit has %+v", name, lines)
		}
	}
}

// What can't be looked at is sshd only below an sshd of root's: a process may call
// itself anything.
func TestHiddenForward(t *testing.T) {
	for name, p := range map[string]lineage.Process{
		"a name": {Name: "sshd", Parent: os.Getpid()}, "an orphan": {Name: "sshd-session", Parent: 0},
		"a path": {Exe: "/tmp/sshd.d/kx", Name: "sshd"}, "another": {Name: "kx", Parent: 1},
	} {
		if yes, hidden := forwards(p); yes || hidden {
			t.Errorf("%s: %v, %v", name, yes, hidden)
		}
	}
	if yes, hidden := forwards(lineage.Process{Exe: "/usr/sbin/sshd (deleted)"}); !yes || hidden {
		t.Errorf("replaced on disk: %v, %v", yes, hidden)
	}
}
