package fatigue

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/wire"
)

// past is a record of one's own making, with a clock that goes where it is told.
type past struct {
	t     testing.TB
	dir   string
	log   *audit.Log
	now   time.Time
	files map[string]*wire.Approval
	opts  Options
}

func newPast(t testing.TB) *past {
	st, err := state.Open(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	p := &past{t: t, dir: st.Dir(), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), files: map[string]*wire.Approval{}}
	p.log = audit.New(st, func() time.Time { return p.now })
	p.opts = Options{Log: p.log, Look: func(id string) (*wire.Approval, error) {
		if a := p.files[id]; a != nil {
			return a, nil
		}
		return nil, errors.New("there is no such request")
	}}
	return p
}

func (p *past) add(doc any) {
	p.t.Helper()
	if _, err := p.log.Append(doc, false); err != nil {
		p.t.Fatal(err)
	}
}

func (p *past) after(d time.Duration) { p.now = p.now.Add(d) }

func (p *past) decision(v wire.Verdict, id string, d wire.Decision) {
	p.t.Helper()
	d.Decision, d.LosingRules = v, []wire.Rule{}
	p.add(audit.Decision{Type: audit.TypeDecision, V: wire.Version, CallID: "c", Session: "s", Decision: d, DecidedBy: wire.Decider{Kind: "rule"}, ApprovalID: id})
}

// asks makes a request, or asks for it again.
func (p *past) asks(id string, d wire.Decision) {
	p.t.Helper()
	p.decision(wire.Ask, id, d)
	p.line(id, wire.ApprovalPending)
	if p.files[id] == nil {
		p.files[id] = &wire.Approval{ID: id, Kind: approval.KindCall, State: wire.ApprovalPending, CreatedAt: p.now}
	}
}

func (p *past) line(id, state string) {
	p.t.Helper()
	p.add(audit.Approval{Type: audit.TypeApproval, V: wire.Version, ID: id, State: state, Kind: approval.KindCall, Tool: "bash", Session: "s"})
}

func (p *past) ends(id, state string) {
	p.t.Helper()
	p.line(id, state)
	if a := p.files[id]; a != nil {
		at := p.now
		a.State, a.DecidedAt = state, &at
	}
}

// bash is a command line of which every command asks, by kx itself.
func bash(commands ...string) wire.Decision { return ruled(nil, commands...) }

// ruled is one of which every command asks by a rule.
func ruled(r *wire.Rule, commands ...string) wire.Decision {
	d := wire.Decision{Type: "decision", V: wire.Version, Tool: "bash"}
	for _, c := range commands {
		d.Leaves = append(d.Leaves, wire.Leaf{Argv: strings.Fields(c), Points: []wire.Point{{Effect: "exec", Resource: c, Decision: wire.Ask, Rule: r}}})
	}
	return d
}

func (p *past) read() *Count {
	p.t.Helper()
	c, err := Read(context.Background(), p.opts)
	if err != nil {
		p.t.Fatal(err)
	}
	sum := 0
	for _, n := range c.Ends {
		sum += n
	}
	if sum != c.Asked {
		p.t.Errorf("%d requests have %d ends: %v", c.Asked, sum, c.Ends)
	}
	for _, d := range c.Times {
		if d < 0 {
			p.t.Errorf("an answer took %v", d)
		}
	}
	return c
}

// said is a count in words.
func said(c *Count) string {
	parts := []string{fmt.Sprintf("asked %d", c.Asked)}
	for _, state := range ends {
		if n := c.Ends[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", state, n))
		}
	}
	for _, d := range c.Times {
		parts = append(parts, d.String())
	}
	if c.Damaged > 0 {
		parts = append(parts, fmt.Sprintf("damaged %d", c.Damaged))
	}
	return strings.Join(parts, ", ")
}

func TestCounts(t *testing.T) {
	for _, tt := range []struct {
		name string
		past func(p *past)
		want string
	}{
		{"nothing", func(*past) {}, "asked 0"},
		{"calls that nobody was asked about", func(p *past) { p.decision(wire.Allow, "", bash("ls")); p.decision(wire.Deny, "", bash("rm x")) }, "asked 0"},
		{"it waits", func(p *past) { p.asks("a", bash("ls")) }, "asked 1, pending 1"},
		{"each answer", func(p *past) {
			for i, state := range answers {
				id := fmt.Sprint("a", i)
				p.asks(id, bash("ls"))
				p.after(time.Duration(i+1) * time.Second)
				p.ends(id, state)
			}
		}, "asked 3, allowed 1, denied 1, answered 1, 1s, 2s, 3s"},
		{"asked for again while it waits", func(p *past) {
			p.asks("a", bash("ls"))
			p.after(time.Minute)
			p.asks("a", bash("ls"))
			p.after(time.Minute)
			p.ends("a", wire.ApprovalAllowed)
		}, "asked 1, allowed 1, 2m0s"},
		{"asked for again in the moment of the answer", func(p *past) {
			p.asks("a", bash("ls"))
			p.after(time.Second)
			p.ends("a", wire.ApprovalDenied)
			p.asks("a", bash("ls"))
		}, "asked 1, denied 1, 1s"},
		{"the first answer is final", func(p *past) {
			p.asks("a", bash("ls"))
			p.ends("a", wire.ApprovalDenied)
			p.line("a", wire.ApprovalAllowed)
		}, "asked 1, denied 1, 0s"},
		{"nobody who is no person answers", func(p *past) { p.asks("a", bash("ls")); p.line("a", audit.StateRefused) }, "asked 1, pending 1"},
		{"it expired", func(p *past) { p.asks("a", bash("ls")); p.files["a"].State = wire.ApprovalExpired }, "asked 1, expired 1"},
		{"its file is gone", func(p *past) { p.asks("a", bash("ls")); delete(p.files, "a") }, "asked 1, expired 1"},
		{"it was stopped", func(p *past) {
			p.asks("a", bash("ls"))
			p.add(audit.SessionStop{Type: audit.TypeSessionStop, V: wire.Version, Session: "s", Cancelled: []string{"a", "other"}})
		}, "asked 1, cancelled 1"},
		{"allowed, and not used in time", func(p *past) {
			p.asks("a", bash("ls"))
			p.ends("a", wire.ApprovalAllowed)
			p.files["a"].State = wire.ApprovalExpired
		}, "asked 1, allowed 1, 0s"},
		{"answered by a host that died before the record", func(p *past) {
			p.asks("a", bash("ls"))
			at := p.now.Add(3 * time.Second)
			p.files["a"].State, p.files["a"].DecidedAt = wire.ApprovalSpent, &at
			p.asks("b", bash("ls"))
			p.files["b"].State, p.files["b"].DecidedAt, p.files["b"].Kind = wire.ApprovalSpent, &at, approval.KindQuestion
		}, "asked 2, allowed 1, answered 1, 3s, 3s"},
		{"an answer to nothing", func(p *past) { p.ends("old", wire.ApprovalAllowed); p.asks("a", bash("ls")) }, "asked 1, pending 1"},
		{"an answer that stands before its request", func(p *past) {
			p.ends("a", wire.ApprovalAllowed)
			p.after(time.Second)
			p.asks("a", bash("ls"))
		}, "asked 1, allowed 1"},
		{"the clock goes back", func(p *past) {
			p.asks("a", bash("ls"))
			p.after(-time.Hour)
			p.ends("a", wire.ApprovalAllowed)
			p.asks("b", bash("ls"))
			p.after(time.Second)
			p.ends("b", wire.ApprovalAllowed)
		}, "asked 2, allowed 2, 1s"},
		{"a state of a later kx", func(p *past) { p.asks("a", bash("ls")); p.line("a", "pondered") }, "asked 1, pending 1"},
		{"damaged lines", func(p *past) {
			p.asks("a", bash("ls"))
			p.spoil("nonsense\n" + `{"type":"approval","seq":9,"at":"2026-03-01T12:00:00Z","id":7}` + "\n" +
				`{"type":"audit","seq":9,"at":"2026-03-01T12:00:00Z","decision":"ask","approval_id":"b","leaves":7}` + "\n" +
				`{"type":"session_stop","seq":9,"at":"2026-03-01T12:00:00Z","cancelled":7}` + "\n" +
				`{"type":"approval","seq":9,"at":"2026-03-01T12:00:00Z","id":"c","state":"pending","kind":7}` + "\n")
		}, "asked 1, pending 1, damaged 5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPast(t)
			tt.past(p)
			if got := said(p.read()); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

// spoil adds text to the record that kx did not write.
func (p *past) spoil(text string) {
	p.t.Helper()
	f, err := os.OpenFile(filepath.Join(p.dir, "audit", p.now.Format(time.DateOnly)+".jsonl"), os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// What was asked before the time is not counted, also where it was asked for again
// or answered since.
func TestSinceAndSession(t *testing.T) {
	p := newPast(t)
	p.asks("old", bash("ls"))
	p.asks("parked", bash("ls"))
	p.after(time.Hour)
	p.opts.Since = p.now
	p.after(time.Second)
	p.ends("old", wire.ApprovalAllowed)
	p.asks("parked", bash("ls"))
	p.asks("new", bash("make all"))
	p.after(time.Second)
	p.ends("new", wire.ApprovalDenied)
	if got := said(p.read()); got != "asked 1, denied 1, 1s" {
		t.Error(got)
	}
	p.opts.Session = "other"
	if got := said(p.read()); got != "asked 0" {
		t.Errorf("of another session: %s", got)
	}
	p.opts.Since, p.opts.Session = time.Time{}, "s"
	if got := said(p.read()); got != "asked 3, allowed 1, denied 1, pending 1, 1s, 1h0m1s" {
		t.Error(got)
	}
}

func TestWithin(t *testing.T) {
	for _, tt := range []struct {
		times   int // 1 s, 2 s, ...
		percent int
		want    time.Duration
	}{{1, 50, 1}, {1, 90, 1}, {2, 50, 1}, {3, 50, 2}, {10, 50, 5}, {10, 90, 9}, {11, 90, 10}, {100, 90, 90}} {
		c := Count{}
		for i := range tt.times {
			c.Times = append(c.Times, time.Duration(i+1))
		}
		if got, ok := c.Within(tt.percent); !ok || got != tt.want {
			t.Errorf("%d%% of %d: %d, want %d", tt.percent, tt.times, got, tt.want)
		}
	}
	if _, ok := (&Count{}).Within(50); ok {
		t.Error("no answer has a time")
	}
}
