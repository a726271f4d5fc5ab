package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kxtools/kx/internal/base/fsx/fsxtest"
	"github.com/kxtools/kx/internal/record/session"
	"github.com/kxtools/kx/pkg/wire"
)

// killScript has every kind of call: one that runs, one that a person is asked for,
// one that is alone in its turn, and one that ends the run.
const killScript = `
{"say":"a","calls":[{"tool":"read_file","input":{"path":"r"}},{"tool":"write_file","input":{"path":"w1"}},{"tool":"write_file","input":{"path":"w2"}}]}
{"calls":[{"tool":"bash","input":{"command":"run 1"}},{"tool":"bash","input":{"command":"run 2"}}]}
{"calls":[{"tool":"emit_output","input":{"content":"out"}}]}
{"say":"Done."}`

// killMoments are more than a run of it has: every event about to be written and
// just written, and every tool about to act and just having acted.
const killMoments = 80

// killed runs the session of the child and stops for ever at the n-th moment.
func killed(t *testing.T, task string) {
	var dir string
	var n int64
	fmt.Sscan(task, &n, &dir)
	h := openHouse(t, dir)
	var moments atomic.Int64 // calls of a turn run side by side
	h.moment = func(what string) {
		if moments.Add(1) == n {
			fsxtest.Say(what)
			fsxtest.Wait()
		}
	}
	_, err := h.play(bg, killScript, func(o *Options) {
		o.Log = &stopping{o.Log, h.moment}
		o.Gate.Tools = h.tools()
	})
	fsxtest.Say(fmt.Sprintf("ended after %d moments: %v", moments.Load(), err))
	fsxtest.Wait()
}

// stopping tells of every event before and after it is written.
type stopping struct {
	Log
	moment func(string)
}

func (s *stopping) Append(event string, data any) (wire.Event, error) {
	s.moment("before " + event)
	e, err := s.Log.Append(event, data)
	s.moment("after " + event)
	return e, err
}

// TestKilled kills a run at every moment there is. Whatever the moment, no call runs
// twice, none that did not begin is lost, and of one that did begin and has no result
// the model is told that nobody knows.
func TestKilled(t *testing.T) {
	if task, ok := fsxtest.Child(); ok {
		killed(t, task)
	}
	for _, phase := range []string{"from the start", "resumed with answers"} {
		unknown, ended, last := 0, false, ""
		for n := 1; n <= killMoments && !ended; n++ {
			h := newHouse(t)
			if phase != "from the start" {
				end, err := h.play(bg, killScript)
				h.ends(end, err, Parked, 4)
				h.allow()
			}
			said := fsxtest.KillAfter(t, fmt.Sprintf("%d %s", n, h.dir), 1)
			last = said[0]
			ended = strings.HasPrefix(last, "ended")

			m, err := h.store.Meta(sessionID)
			if err != nil || m.State == session.Running {
				t.Fatalf("%s, moment %d: the session is %+v, %v", phase, n, m, err)
			}
			unknown += h.goOn(fmt.Sprintf("%s, moment %d (%s)", phase, n, last))
		}
		t.Logf("%s: %s; calls that nobody knows of: %d", phase, last, unknown)
		if !ended || unknown == 0 { // each tool is killed while it acts
			t.Errorf("%s: the end is reached: %v; calls that nobody knows of: %d", phase, ended, unknown)
		}
	}
}

// allow allows whatever waits.
func (h *house) allow() {
	h.t.Helper()
	pending, _ := h.approvals.List(wire.ApprovalPending)
	for _, a := range pending {
		h.answer(a.ID, wire.ApprovalAllowed, "")
	}
}

// goOn resumes a killed run until it is complete and checks what became of it. It
// returns how many calls nobody knows of.
func (h *house) goOn(moment string) (unknown int) {
	h.t.Helper()
	var end *Outcome
	for range 3 {
		var err error
		if end, err = h.play(bg, killScript); err == nil {
			break
		}
		h.allow()
	}
	if end == nil || end.Run.State != Completed {
		h.t.Fatalf("%s: it does not complete: %+v", moment, end)
	}
	ran := map[string]int{}
	for _, line := range h.ran() {
		ran[line]++
	}
	begun, results := map[string]int{}, map[string]string{}
	for _, e := range h.recorded() {
		switch e.Event {
		case evToolCall:
			var d toolCall
			json.Unmarshal(e.Data, &d)
			begun[d.ID]++
		case evToolResult:
			var r wire.Result
			json.Unmarshal(e.Data, &r)
			if results[r.ID] != "" {
				h.t.Errorf("%s: call %s has two results", moment, r.ID)
			}
			results[r.ID] = string(r.Status)
		}
	}
	for id, line := range map[string]string{
		"t1.1": `read_file {"path":"r"}`, "t1.2": `write_file {"path":"w1"}`, "t1.3": `write_file {"path":"w2"}`,
		"t2.1": `bash {"command":"run 1"}`, "t2.2": `bash {"command":"run 2"}`, "t3.1": `emit_output {"content":"out"}`,
	} {
		status := results[id]
		switch {
		case ran[line] > 1 || begun[id] > 1:
			h.t.Errorf("%s: call %s began %d times and ran %d times", moment, id, begun[id], ran[line])
		case status == "ok" && ran[line] != 1:
			h.t.Errorf("%s: call %s is ok and did not run", moment, id)
		case status == "unknown":
			unknown++
		case status != "ok":
			h.t.Errorf("%s: call %s is %q", moment, id, status)
		}
	}
	if unknown > 3 { // what ran side by side
		h.t.Errorf("%s: of %d calls nobody knows", moment, unknown)
	}
	if n := end.Run.Calls["unknown"]; n != unknown || end.Turns != 4 {
		h.t.Errorf("%s: the run says %+v, %d turns", moment, end.Run.Calls, end.Turns)
	}
	return unknown
}
