package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/pkg/wire"
)

// A run that needs a person keeps every question of its turn, and what it can do
// without one it does.
func TestParks(t *testing.T) {
	h := newHouse(t)
	script := `{"calls":[{"tool":"write_file","input":{"path":"a"}},{"tool":"todo_write"},{"tool":"write_file","input":{"path":"b"}},{"tool":"write_file","input":{"path":"b"}}]}
{"say":"Done."}`
	end, err := h.play(bg, script)
	h.ends(end, err, Parked, fail.ExitPending)
	if len(end.Pending) != 3 || end.Run.Calls["pending"] != 3 || end.Run.Calls["ok"] != 1 {
		t.Fatalf("pending %v, calls %v", end.Pending, end.Run.Calls)
	}
	ids := strings.Join(end.Pending, ", ")
	if e := fail.As(err); e.Msg != "parked: 3 approvals are waiting ("+ids+"); answer with: kx approve" || e.Hint != "kx agent resume run" {
		t.Errorf("%s / %s", e.Msg, e.Hint)
	}
	same(t, "ran", h.ran(), []string{"todo_write {}"})
	got := trail(h.events)
	if last := got[len(got)-1]; last != `parked {"pending":["`+strings.Join(end.Pending, `","`)+`"]}` {
		t.Errorf("the last event is %s", last)
	}
	for i, call := range []string{"t1.1", "t1.3", "t1.4"} { // in the order of the calls
		a, err := h.approvals.Get(end.Pending[i])
		if err != nil || a.CallID != call || a.Session != sessionID || a.ExpiresAt != nil {
			t.Errorf("request %d is %+v, %v", i+1, a, err)
		}
		want := fmt.Sprintf(`approval {"id":"%s","call_id":"%s","tool":"write_file","state":"pending"}`, a.ID, call)
		if !slices.Contains(got, want) {
			t.Errorf("there is no event %s", want)
		}
	}

	// One answer is not all of them: what it settles stays settled.
	h.answer(end.Pending[1], wire.ApprovalAllowed, "")
	again, err := h.play(bg, script)
	h.ends(again, err, Parked, fail.ExitPending)
	same(t, "pending", again.Pending, []string{end.Pending[0], end.Pending[2]})
	same(t, "ran", h.ran(), []string{"todo_write {}", `write_file {"path":"b"}`})
	third, err := h.play(bg, script) // and nothing happens if nobody answers
	h.ends(third, err, Parked, fail.ExitPending)
	same(t, "pending", third.Pending, again.Pending)

	h.answer(end.Pending[0], wire.ApprovalDenied, "not there")
	h.answer(end.Pending[2], wire.ApprovalAllowed, "")
	l := &listener{}
	end, err = h.play(bg, script, listen(l))
	h.ends(end, err, Completed, 0)
	same(t, "ran", h.ran(), []string{"todo_write {}", `write_file {"path":"b"}`, `write_file {"path":"b"}`})
	same(t, "messages", l.said(), []string{
		"user go", "assistant", "tool t1.1 write_file denied write_file was denied by a person: not there",
		"tool t1.2 todo_write ok todo_write is done", "tool t1.3 write_file ok write_file is done", "tool t1.4 write_file ok write_file is done",
	})
	if !maps.Equal(end.Run.Calls, map[string]int{"ok": 3, "denied": 1}) {
		t.Errorf("calls %v", end.Run.Calls)
	}
}

// One that is denied by a person counts like any other denial.
func TestDeniedByAPerson(t *testing.T) {
	h := newHouse(t)
	script := `{"calls":[{"tool":"write_file","input":{"path":"a"}}]}` + "\n" + `{"expect":{"tool":"write_file","status":"denied","contains":"use b"},"say":"Then not."}`
	end, err := h.play(bg, script)
	h.ends(end, err, Parked, fail.ExitPending)
	if e := fail.As(err); e.Msg != "parked: one approval is waiting ("+end.Pending[0]+"); answer with: kx approve "+end.Pending[0] {
		t.Errorf("%s", e.Msg)
	}
	h.answer(end.Pending[0], wire.ApprovalDenied, "use b")
	end, err = h.play(bg, script)
	h.ends(end, err, Completed, fail.ExitDenied)
	if len(h.ran()) > 0 {
		t.Errorf("ran %v", h.ran())
	}
}

// With a wait the question is told of before the answer, and the run goes on.
func TestWaits(t *testing.T) {
	h := newHouse(t)
	var asked []string
	end, err := h.play(bg, `{"calls":[{"tool":"write_file","input":{"path":"a"}}]}`+"\n"+`{"say":"Done."}`, func(o *Options) {
		o.Gate.Wait = time.Minute
		emit := o.Emit
		o.Emit = func(e wire.Event) error {
			if e.Event == evApproval {
				var d approvalEvent
				json.Unmarshal(e.Data, &d)
				asked = append(asked, d.ID)
				go h.answer(d.ID, wire.ApprovalAllowed, "")
			}
			return emit(e)
		}
	})
	h.ends(end, err, Completed, 0)
	if len(asked) != 1 {
		t.Errorf("asked %v", asked)
	}
	same(t, "ran", h.ran(), []string{`write_file {"path":"a"}`})

	h = newHouse(t) // nobody answers
	end, err = h.play(bg, `{"calls":[{"tool":"write_file","input":{"path":"a"}}]}`, func(o *Options) { o.Gate.Wait = 20 * time.Millisecond })
	h.ends(end, err, Parked, fail.ExitPending)
	n := 0
	for _, e := range h.events {
		if e.Event == evApproval {
			n++
		}
	}
	if n != 1 || len(end.Pending) != 1 {
		t.Errorf("%d events of %v", n, end.Pending)
	}
}

// until returns a context that ends, as by a signal, when an event comes.
func until(event string) (context.Context, func(*Options)) {
	ctx, cancel := context.WithCancelCause(bg)
	return ctx, func(o *Options) {
		emit := o.Emit
		o.Emit = func(e wire.Event) error {
			if e.Event == event {
				cancel(fail.New("terminated", fail.ExitTerminated, "terminated"))
			}
			return emit(e)
		}
	}
}

// A signal during a wait parks the run; the request stays and is answered later.
func TestInterruptedWhileItWaits(t *testing.T) {
	h := newHouse(t)
	script := `{"calls":[{"tool":"write_file","input":{"path":"a"}}]}` + "\n" + `{"say":"Done."}`
	ctx, stop := until(evApproval)
	end, err := h.play(ctx, script, stop, func(o *Options) { o.Gate.Wait = time.Minute })
	h.ends(end, err, Parked, fail.ExitTerminated)
	if fail.As(err).Hint != "kx agent resume run" || len(end.Pending) != 1 {
		t.Fatalf("%v, pending %v", fail.As(err), end.Pending)
	}
	got := trail(h.events)
	if last := got[len(got)-1]; last != `parked {"pending":["`+end.Pending[0]+`"]}` {
		t.Errorf("the last event is %s", last)
	}
	if a, err := h.approvals.Get(end.Pending[0]); err != nil || a.State != wire.ApprovalPending {
		t.Errorf("the request is %+v, %v", a, err)
	}
	h.answer(end.Pending[0], wire.ApprovalAllowed, "")
	end, err = h.play(bg, script)
	h.ends(end, err, Completed, 0)
	same(t, "ran", h.ran(), []string{`write_file {"path":"a"}`})
}

// A signal while a call runs is its result; the calls behind it run later.
func TestInterruptedWhileACallRuns(t *testing.T) {
	h := newHouse(t)
	h.handlers = map[string]tool.Handler{"bash": func(ctx context.Context, _ *tool.Env, _ json.RawMessage) (wire.Output, error) {
		<-ctx.Done()
		return wire.Output{"text": "half of it"}, ctx.Err()
	}}
	script := `{"calls":[{"tool":"bash","input":{"command":"run long"}},{"tool":"todo_write","input":{"n":1}}]}` + "\n" + `{"say":"Done."}`
	ctx, stop := until(evToolCall)
	end, err := h.play(ctx, script, stop)
	h.ends(end, err, Parked, fail.ExitTerminated)
	if len(end.Pending) > 0 || !maps.Equal(end.Run.Calls, map[string]int{"error": 1}) {
		t.Errorf("pending %v, calls %v", end.Pending, end.Run.Calls)
	}
	got := trail(h.events)
	same(t, "the end", got[len(got)-2:], []string{`tool_result t1.1 bash error "half of it"`, `parked {"pending":[]}`})
	h.handlers = nil
	l := &listener{}
	end, err = h.play(bg, script, listen(l))
	h.ends(end, err, Completed, 0)
	same(t, "ran", h.ran(), []string{`todo_write {"n":1}`})
	same(t, "messages", l.said(), []string{"user go", "assistant", "tool t1.1 bash error half of it", "tool t1.2 todo_write ok todo_write is done"})
}

// A signal while the model thinks loses nothing.
func TestInterruptedWhileTheModelThinks(t *testing.T) {
	h := newHouse(t)
	ctx, stop := until(evTurnStart)
	end, err := h.play(ctx, `{"delay_ms":600000,"say":"x"}`, stop)
	h.ends(end, err, Parked, fail.ExitTerminated)
	end, err = h.play(bg, `{"say":"x"}`)
	h.ends(end, err, Completed, 0)
	same(t, "events", trail(h.recorded()), []string{
		`turn_start {"turn":1,"prompt":"go"}`, `parked {"pending":[]}`, `text {"text":"x"}`, `model_call {"turn":1,"say":"x","stop":true}`,
		`turn_end {"turn":1}`, `done {"state":"completed","exit":0,"output":"x"}`,
	})
}
