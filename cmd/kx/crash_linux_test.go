package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The moments at which a process dies: those that internal/base/failpoint names,
// before and after each step, by whose they are.
var (
	parking = []string{"park.before", "park.after", "record.before", "record.after", "notify.before", "notify.after", "result.before", "result.after"}
	hosting = []string{"answer.before", "decide.before", "decide.after", "answer.record", "answer.ring", "answer.after"}
	sending = []string{"send.before", "send.after"}
	acting  = []string{
		"spend.before", "spend.after", "record.before", "record.after", "intent.before", "intent.after", "run.after",
		"outcome.before", "outcome.after", "result.before", "result.after",
	}
)

// Who is killed.
const (
	nobody   = ""
	caller   = "caller that asks"
	approver = "approver"
	host     = "host"
	actor    = "caller that acts"
)

var points = map[string][]string{caller: parking, host: hosting, approver: sending, actor: acting}

// blow kills somebody: at a point, or after a time.
type blow struct {
	who, point string
	after      time.Duration
}

func (b blow) String() string {
	if b.point == "" {
		return fmt.Sprintf("%s after %v", b.who, b.after)
	}
	return b.who + " at " + b.point
}

// check holds what is on disk against what everybody was told.
func (c *house) check() {
	c.Helper()
	states := map[string]string{}
	spent := 0
	for line := range strings.Lines(c.calm("approve", "list", "--all")) {
		var a struct{ ID, State string }
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			c.fail("%q: %v", line, err)
		}
		if states[a.ID] = a.State; a.State == "spent" {
			spent++
		}
	}
	for id := range c.acked {
		if s := states[id]; s != "allowed" && s != "spent" {
			c.fail("%s was allowed and is %q", id, s)
		}
	}
	if n := c.effects(); n > spent {
		c.fail("it happened %d times by %d approvals", n, spent)
	}
	c.files(spent)
	open := c.audited(states)
	c.calm("audit", "verify")
	if c.agent {
		c.ran()
	} else if last := c.fell; len(last) == 1 && last[0].who == actor && !c.waits {
		want := 0
		if slices.Contains([]string{"record.after", "intent.before", "intent.after", "run.after", "outcome.before"}, last[0].point) {
			want = 1
		}
		if last[0].point != "" && open != want {
			c.fail("%d calls were decided and have no outcome, want %d", open, want)
		}
	}
}

// files looks for what a dying process may have left half written.
func (c *house) files(spent int) {
	c.Helper()
	for kind, want := range map[string]int{"pending": -1, "decided": -1, "spent": spent} {
		names, err := filepath.Glob(filepath.Join(c.state, "approvals", kind, "*.json"))
		if err != nil || want >= 0 && len(names) != want {
			c.fail("%s has %q, %v", kind, names, err)
		}
		for _, name := range names {
			var doc struct{ ID string }
			b, err := os.ReadFile(name)
			if err != nil || json.Unmarshal(b, &doc) != nil || doc.ID+".json" != filepath.Base(name) {
				c.fail("%s is %q, %v", name, b, err)
			}
		}
	}
}

// audited follows the record: each call that was let through has an approval of its
// own. It returns how many of those have no outcome.
func (c *house) audited(states map[string]string) (open int) {
	c.Helper()
	outcome, by := map[string]bool{}, map[string]string{}
	days, _ := filepath.Glob(filepath.Join(c.state, "audit/*.jsonl"))
	for _, day := range days {
		b, err := os.ReadFile(day)
		if err != nil {
			c.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			var l struct {
				Type, Decision string
				CallID         string `json:"call_id"`
				ApprovalID     string `json:"approval_id"`
			}
			if json.Unmarshal([]byte(line), &l) != nil {
				continue // verify knows whether it may be torn
			}
			switch {
			case l.Type == "outcome":
				outcome[l.CallID] = true
			case l.Type == "audit" && l.Decision == "allow":
				if by[l.ApprovalID] != "" || states[l.ApprovalID] != "spent" {
					c.fail("%s is %s, let %q through, and now %q", l.ApprovalID, states[l.ApprovalID], by[l.ApprovalID], l.CallID)
				}
				by[l.ApprovalID] = l.CallID
			}
		}
	}
	for _, call := range by {
		if !outcome[call] {
			open++
		}
	}
	if n := c.effects(); n > len(by) {
		c.fail("it happened %d times and was let through %d times", n, len(by))
	}
	return open
}

// ran looks at what the model was told: the call ran once, or nobody knows.
func (c *house) ran() {
	c.Helper()
	var results []string
	for line := range strings.Lines(c.calm("agent", "show", "a")) {
		var e struct {
			Event string
			Data  struct{ Status string }
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			c.fail("%q: %v", line, err)
		}
		if e.Event == "tool_result" {
			results = append(results, e.Data.Status)
		}
	}
	n := c.effects()
	unknown := len(results) == 1 && results[0] == "unknown" && n <= 1
	if ok := len(results) == 1 && results[0] == "ok" && n == 1; !ok && !unknown {
		c.fail("the results are %q, and it happened %d times", results, n)
	}
	if len(c.fell) == 1 && c.fell[0].point != "" && !c.waits {
		b := c.fell[0]
		if want := b.who == actor && b.point != "spend.before" && b.point != "result.after"; unknown != want {
			c.fail("nobody knows what became of it: %v, want %v", unknown, want)
		}
	}
	if unknown && len(c.fell) == 0 {
		c.fail("nothing died and nobody knows what became of it")
	}
}

// TestCrash kills whoever has a part in an approval at each point of it.
func TestCrash(t *testing.T) {
	bin := built(t)
	for _, who := range []string{nobody, caller, approver, host, actor} {
		at := points[who]
		if who == nobody {
			at = []string{""}
		}
		for _, point := range at {
			for _, agent := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/agent=%v", who, point, agent), func(t *testing.T) {
					t.Parallel()
					c := newHouse(t, bin)
					c.agent = agent
					if who != nobody {
						c.blows = []blow{{who: who, point: point}}
					}
					c.play()
					if who != nobody && len(c.fell) != 1 {
						c.fail("the point was not met")
					}
				})
			}
		}
	}
}

// A dozen in every test; KX_STRESS asks for enough to hit what lies between the
// points.
const (
	fewCrashes  = 12
	manyCrashes = 300
)

// longest is about how long each process lives that does not wait.
const longest = 25 * time.Millisecond

// TestCrashAnywhere kills several of them in one life, at points and at times of
// chance.
func TestCrashAnywhere(t *testing.T) {
	bin := built(t)
	rounds := fewCrashes
	if os.Getenv("KX_STRESS") != "" {
		rounds = manyCrashes
	}
	seed := uint64(time.Now().UnixNano())
	met := make(chan blow, rounds*8)
	t.Cleanup(func() {
		close(met)
		deaths := map[string]int{}
		for b := range met {
			if b.point == "" {
				b.point = "any time"
			}
			deaths[b.who+" at "+b.point]++
		}
		t.Logf("%d lives, deaths: %v", rounds, deaths)
	})
	for i := range rounds {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			c := newHouse(t, bin)
			c.agent, c.waits = i%2 == 1, i%4 >= 2
			for _, who := range []string{caller, approver, host, actor} {
				for range r.IntN(3) {
					b := blow{who: who, after: time.Duration(1 + r.IntN(int(longest)))}
					if r.IntN(2) == 0 {
						b = blow{who: who, point: points[who][r.IntN(len(points[who]))]}
					}
					c.blows = append(c.blows, b)
				}
			}
			t.Logf("seed %d: %v", seed, c.blows)
			c.play()
			for _, b := range c.fell {
				met <- b
			}
		})
	}
}
