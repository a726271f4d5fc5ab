package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/scope"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/internal/record/session"
	"github.com/kxtools/kx/pkg/wire"
)

var bg = context.Background()

// The events and their data stand in kx-json(7); programs rely on them.
func TestEvents(t *testing.T) {
	h := newHouse(t)
	end, err := h.play(bg, `
{"say":"I look.","calls":[{"tool":"read_file","input":{"path":"a"}}]}
{"calls":[{"id":"mine","tool":"bash","input":{"command":"run badly"}}]}
{"calls":[{"tool":"emit_output","input":{"content":"The answer."}}]}
{"say":"Done.","stop":true}`)
	h.ends(end, err, Completed, 0)
	same(t, "events", trail(h.events), []string{
		`turn_start {"turn":1,"prompt":"go"}`,
		`text {"text":"I look."}`,
		`model_call {"turn":1,"say":"I look.","calls":[{"id":"t1.1","tool":"read_file","input":{"path":"a"}}]}`,
		`tool_call {"id":"t1.1","tool":"read_file","input":{"path":"` + h.ws + `/a"}}`,
		`tool_result t1.1 read_file ok "read_file is done"`,
		`turn_end {"turn":1}`,
		`turn_start {"turn":2}`,
		`model_call {"turn":2,"calls":[{"id":"mine","tool":"bash","input":{"command":"run badly"}}]}`,
		`tool_call {"id":"mine","tool":"bash","input":{"command":"run badly"}}`,
		`tool_result mine bash error "it went badly"`,
		`turn_end {"turn":2}`,
		`turn_start {"turn":3}`,
		`model_call {"turn":3,"calls":[{"id":"t3.1","tool":"emit_output","input":{"content":"The answer."}}]}`,
		`tool_call {"id":"t3.1","tool":"emit_output","input":{"content":"The answer."}}`,
		`tool_result t3.1 emit_output ok "The answer."`,
		`turn_end {"turn":3}`,
		`turn_start {"turn":4}`,
		`text {"text":"Done."}`,
		`model_call {"turn":4,"say":"Done.","stop":true}`,
		`turn_end {"turn":4}`,
		`done {"state":"completed","exit":0,"output":"The answer."}`,
	})
	same(t, "the session", trail(h.recorded()), trail(h.events))
	for i, e := range h.events {
		if e.Type != "event" || e.V != 1 || e.Session != sessionID || e.Seq != int64(i+1) || e.At.IsZero() {
			t.Errorf("event %d is %+v", i+1, e)
		}
	}
	raw, _ := wire.Marshal(end.Run)
	if want := `{"type":"run","v":1,"session":"run","state":"completed","exit":0,"calls":{"error":1,"ok":2},"output":"The answer."}`; string(raw) != want {
		t.Errorf("run %s, want %s", raw, want)
	}
	if end.Turns != 4 || end.Pending == nil || len(end.Pending) > 0 {
		t.Errorf("outcome %+v", end)
	}
}

// What the model is asked is the conversation so far, results in the order of the
// calls, and the tools that it may see.
func TestRequests(t *testing.T) {
	h := newHouse(t)
	l := &listener{}
	end, err := h.play(bg, `
{"say":"a","calls":[{"tool":"todo_write","input":{"n":1}},{"tool":"read_file","input":{"path":"secret/x"}},{"tool":"nothing"}]}
{"say":"b"}`, listen(l))
	h.ends(end, err, Completed, fail.ExitDenied)
	first := l.asked[0]
	if first.Type != "model_request" || first.V != 1 || first.Turn != 0 || l.asked[1].Turn != 1 {
		t.Errorf("requests %+v, %+v", first, l.asked[1])
	}
	var names []string
	for _, tool := range first.Tools {
		names = append(names, tool.Name)
		if tool.Description != "the tool "+tool.Name || string(tool.InputSchema) != schemas[tool.Name] {
			t.Errorf("tool %+v", tool)
		}
	}
	same(t, "tools", names, slices.Sorted(maps.Keys(schemas)))
	same(t, "messages", l.said(), []string{
		"user go", "assistant a", "tool t1.1 todo_write ok todo_write is done",
		"tool t1.2 read_file denied read_file is denied: it is secret",
		`tool t1.3 nothing not_found there is no tool "nothing"`,
	})
	if calls := l.asked[1].Messages[1].Calls; len(calls) != 3 || calls[1].ID != "t1.2" {
		t.Errorf("the calls of the assistant: %+v", calls)
	}
}

// The exit says "denied" if the last turn with calls had a denied one and none
// after it succeeded.
func TestExitOfDenials(t *testing.T) {
	deny := `{"tool":"read_file","input":{"path":"secret/x"}}`
	fine := `{"tool":"todo_write","input":{"n":1}}`
	bad := `{"tool":"bash","input":{"command":"run badly"}}`
	for name, c := range map[string]struct {
		script string
		exit   int
	}{
		"denied":                     {`{"calls":[` + deny + `]}`, 3},
		"denied, then words":         {`{"calls":[` + deny + `]}` + "\n" + `{"say":"sorry"}`, 3},
		"success after it":           {`{"calls":[` + deny + `,` + fine + `]}`, 0},
		"success before it":          {`{"calls":[` + fine + `,` + deny + `]}`, 3},
		"failure after it":           {`{"calls":[` + deny + `,` + bad + `]}`, 3},
		"a later turn":               {`{"calls":[` + deny + `]}` + "\n" + `{"calls":[` + bad + `]}`, 0},
		"a later turn of words":      {`{"calls":[` + deny + `,` + fine + `]}` + "\n" + `{"say":"x"}`, 0},
		"a failed call is no denial": {`{"calls":[` + bad + `]}`, 0},
		"a tool that is not there":   {`{"calls":[{"tool":"nothing"}]}`, 0},
	} {
		h := newHouse(t)
		end, err := h.play(bg, c.script)
		if h.ends(end, err, Completed, c.exit); t.Failed() {
			t.Fatal(name)
		}
		for _, e := range h.events {
			if e.Event == evError {
				t.Errorf("%s: a run that is complete has the error %s", name, e.Data)
			}
		}
	}
}

func TestEndsOfScripts(t *testing.T) {
	for name, c := range map[string]struct {
		script, state string
		exit, turns   int
		output        string
	}{
		"stop":                      {`{"say":"x","stop":true}` + "\n" + `{"say":"never"}`, Completed, 0, 1, "x"},
		"stop after its calls":      {`{"calls":[{"tool":"todo_write"}],"stop":true}` + "\n" + `{"say":"never"}`, Completed, 0, 1, ""},
		"words alone":               {`{"say":"x"}` + "\n" + `{"say":"never"}`, Completed, 0, 1, "x"},
		"nothing at all":            {`{}`, Completed, 0, 1, ""},
		"the end without a stop":    {`{"calls":[{"tool":"todo_write"}]}` + "\n" + `{"calls":[{"tool":"todo_write"}]}`, Completed, 0, 2, ""},
		"words with calls are none": {`{"say":"x","calls":[{"tool":"todo_write"}]}`, Completed, 0, 1, ""},
		"output, then words":        {`{"calls":[{"tool":"emit_output","input":{"content":"y"}}]}` + "\n" + `{"say":"x"}`, Completed, 0, 2, "y"},
		"output twice":              {`{"calls":[{"tool":"emit_output","input":{"content":"y"}}]}` + "\n" + `{"calls":[{"tool":"emit_output","input":{"content":"z"}}]}`, Completed, 0, 2, "z"},
		"an expectation":            {`{"calls":[{"tool":"todo_write"}]}` + "\n" + `{"expect":{"tool":"bash"}}`, Failed, 1, 1, ""},
		"a fault":                   {`{"fail":{"status":429,"retry_after":3}}`, Failed, 5, 0, ""},
		"a torn answer":             {`{"say":"x","calls":[{"tool":"todo_write"}]}` + "\n" + `{"fail":{"torn":true}}`, Failed, 1, 1, ""},
		"equal ids":                 {`{"calls":[{"id":"a","tool":"todo_write"},{"id":"a","tool":"todo_write"}]}`, Failed, 1, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			end, err := h.play(bg, c.script)
			h.ends(end, err, c.state, c.exit)
			if end.Turns != c.turns || end.Run.Output != c.output {
				t.Errorf("%d turns, output %q", end.Turns, end.Run.Output)
			}
			last := trail(h.events)[len(h.events)-1]
			output := ""
			if c.output != "" {
				output = `,"output":"` + c.output + `"`
			}
			if want := fmt.Sprintf(`done {"state":"%s","exit":%d%s}`, c.state, c.exit, output); last != want {
				t.Errorf("the last event is %s, want %s", last, want)
			}
			if c.state == Failed {
				e, _ := wire.Marshal(fail.As(err).Wire())
				got := trail(h.events)
				same(t, "the end", got[len(got)-3:len(got)-1], []string{
					fmt.Sprintf(`model_call {"turn":%d,"error":%s}`, c.turns+1, e), "error " + string(e),
				})
			}
			if ran := len(h.ran()); name == "equal ids" && ran > 0 {
				t.Errorf("%d calls ran", ran)
			}
		})
	}
}

func TestExpectationNamesItsTurn(t *testing.T) {
	h := newHouse(t)
	script := `{"calls":[{"tool":"read_file","input":{"path":"a"}}]}
{"expect":{"tool":"read_file","status":"denied"},"calls":[{"tool":"todo_write"}]}
{"say":"never"}`
	for range 2 { // however often it is resumed, nothing goes on over a broken expectation
		end, err := h.play(bg, script)
		h.ends(end, err, Failed, 1)
		if want := "turn 2 of the model: expected read_file denied, found ok: read_file is done"; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	same(t, "ran", h.ran(), []string{`read_file {"path":"a"}`})
}

// A fault of a provider ends the run; resumed, it asks for the next turn.
func TestResumeAfterAFault(t *testing.T) {
	h := newHouse(t)
	script := `{"calls":[{"tool":"todo_write","input":{"n":1}}]}
{"fail":{"status":503}}
{"calls":[{"tool":"todo_write","input":{"n":2}}]}
{"say":"Done."}`
	end, err := h.play(bg, script)
	h.ends(end, err, Failed, fail.ExitUnavailable)
	end, err = h.play(bg, script)
	h.ends(end, err, Completed, 0)
	same(t, "ran", h.ran(), []string{`todo_write {"n":1}`, `todo_write {"n":2}`})
	same(t, "events", trail(h.events)[:2], []string{
		`model_call {"turn":2,"calls":[{"id":"t2.1","tool":"todo_write","input":{"n":2}}]}`, `tool_call {"id":"t2.1","tool":"todo_write","input":{"n":2}}`,
	})
	if end.Turns != 3 || end.Run.Calls["ok"] != 2 {
		t.Errorf("%d turns, calls %v", end.Turns, end.Run.Calls)
	}
}

// The limit of turns is that of the session: resumed, it fails again.
func TestMaxTurns(t *testing.T) {
	h := newHouse(t)
	script := strings.Repeat(`{"calls":[{"tool":"todo_write"}]}`+"\n", 5)
	most := func(o *Options) { o.MaxTurns = 2 }
	for range 2 {
		end, err := h.play(bg, script, most)
		h.ends(end, err, Failed, fail.ExitLimit)
		if fail.As(err).Code != "max_turns" || end.Turns != 2 {
			t.Errorf("%d turns, %v", end.Turns, err)
		}
	}
	if ran := len(h.ran()); ran != 2 {
		t.Errorf("%d calls ran", ran)
	}
	h = newHouse(t)
	end, err := h.play(bg, strings.Repeat(`{"calls":[{"tool":"todo_write"}]}`+"\n", 2), most)
	h.ends(end, err, Completed, 0)
}

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
	if e := fail.As(err); e.Msg != "parked: 3 approvals are waiting ("+ids+"); answer with: kx approve allow ID" || e.Hint != "kx agent resume run" {
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
	if e := fail.As(err); e.Msg != "parked: one approval is waiting ("+end.Pending[0]+"); answer with: kx approve allow "+end.Pending[0] {
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

// Ids are those of one call of the session, whatever a model gives.
func TestIDs(t *testing.T) {
	h := newHouse(t)
	script := `{"calls":[{"id":"1","tool":"write_file","input":{"path":"a"}},{"id":"t2.1","tool":"todo_write"}]}
{"calls":[{"id":"1","tool":"write_file","input":{"path":"a"}},{"id":"t2.1+","tool":"todo_write"}]}`
	end, err := h.play(bg, script)
	h.ends(end, err, Parked, fail.ExitPending)
	h.answer(end.Pending[0], wire.ApprovalAllowed, "")
	end, err = h.play(bg, script)
	h.ends(end, err, Parked, fail.ExitPending) // the same call again is another question
	if a, err := h.approvals.Get(end.Pending[0]); err != nil || a.CallID != "t2.1++" {
		t.Errorf("request %+v, %v", a, err)
	}
	h.answer(end.Pending[0], wire.ApprovalAllowed, "")
	end, err = h.play(bg, script)
	h.ends(end, err, Completed, 0)
	if ran := h.ran(); len(ran) != 4 {
		t.Errorf("ran %v", ran)
	}
}

// What a scope hides is neither shown to the model nor there for its calls.
func TestScope(t *testing.T) {
	h := newHouse(t)
	h.opts.Scope = scope.Scope{Capability: scope.Capability{ToolDeny: scope.List{"bash"}}}
	l := &listener{}
	end, err := h.play(bg, `{"calls":[{"tool":"bash","input":{"command":"run x"}}]}`+"\n{}", listen(l), func(o *Options) { o.Sees = h.opts.Scope.Sees })
	h.ends(end, err, Completed, 0)
	for _, tool := range l.asked[0].Tools {
		if tool.Name == "bash" {
			t.Error("the model sees bash")
		}
	}
	if len(l.asked[0].Tools) != len(schemas)-1 {
		t.Errorf("it sees %d tools", len(l.asked[0].Tools))
	}
	same(t, "messages", l.said()[2:], []string{`tool t1.1 bash not_found there is no tool "bash"`})
}

// A second run of a session that runs is refused.
func TestOneRunAtATime(t *testing.T) {
	h := newHouse(t)
	var second error
	end, err := h.play(bg, `{"say":"x"}`, func(o *Options) {
		o.Emit = func(e wire.Event) error {
			if e.Event == evText {
				_, second = openHouse(t, h.dir).play(bg, `{"say":"y"}`)
			}
			return nil
		}
	})
	h.ends(end, err, Completed, 0)
	if e := fail.As(second); e == nil || e.Code != "session_running" || e.Exit != fail.ExitConflict {
		t.Errorf("the second run: %v", second)
	}
}

// shaky is a log that breaks.
type shaky struct {
	Log
	mu    sync.Mutex
	until int // appends
}

func (s *shaky) Append(event string, data any) (wire.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.until--; s.until < 0 {
		return wire.Event{}, errBroken
	}
	return s.Log.Append(event, data)
}

// If the session can't be written nothing runs, and the run says so.
func TestLogBreaks(t *testing.T) {
	for n := range 14 {
		h := newHouse(t)
		end, err := h.play(bg, `{"say":"x","calls":[{"tool":"todo_write","input":{"n":1}},{"tool":"bash","input":{"command":"run 2"}}]}`+"\n"+`{"say":"y"}`,
			func(o *Options) { o.Log = &shaky{Log: o.Log, until: n} })
		calls := 0
		for _, e := range h.recorded() {
			if e.Event == evToolCall {
				calls++
			}
		}
		if ran := len(h.ran()); ran > calls {
			t.Errorf("after %d events: %d calls ran, %d are recorded", n, ran, calls)
		}
		if n == 13 { // it does not come to it
			h.ends(end, err, Completed, 0)
			continue
		}
		if end == nil || end.Run.State != Failed || !errors.Is(err, errBroken) {
			t.Errorf("after %d events: %+v, %v", n, end, err)
		}
	}
}

// If nobody can be told, the run stops.
func TestEmitFails(t *testing.T) {
	h := newHouse(t)
	end, err := h.play(bg, `{"say":"x","calls":[{"tool":"todo_write"}]}`, func(o *Options) {
		o.Emit = func(e wire.Event) error {
			if e.Event == evText {
				return errBroken
			}
			return nil
		}
	})
	if end.Run.State != Failed || !errors.Is(err, errBroken) || len(h.ran()) > 0 {
		t.Errorf("%+v, %v, ran %v", end.Run, err, h.ran())
	}
}

func TestDamagedSession(t *testing.T) {
	h := newHouse(t)
	if _, err := h.store.AppendShared(sessionID, evModelCall, []int{1}, false); err != nil {
		t.Fatal(err)
	}
	if end, err := h.play(bg, `{"say":"x"}`); end != nil || err == nil {
		t.Errorf("%+v, %v", end, err)
	}
}

// A model gets to see why, also where a tool has no text of its own.
func TestContent(t *testing.T) {
	for want, r := range map[string]*wire.Result{
		"text": {Output: wire.Output{"text": "text"}, Error: &wire.Error{Message: "why"}},
		"why":  {Output: wire.Output{"lines": 1}, Error: &wire.Error{Message: "why"}},
		"":     {},
	} {
		if got := content(r); got != want {
			t.Errorf("%+v: %q", r, got)
		}
	}
}

func TestNamed(t *testing.T) {
	given := []model.Call{{Tool: "a"}, {ID: "x", Tool: "b"}, {ID: "used", Tool: "c"}, {ID: "t4.4", Tool: "d"}}
	got, err := named(given, 4, map[string]bool{"used": true, "t4.1": true})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, c := range got {
		ids = append(ids, c.ID)
	}
	same(t, "ids", ids, []string{"t4.1+", "x", "t4.3", "t4.4"})
	if given[0].ID != "" || given[2].ID != "used" {
		t.Errorf("it changed what it was given: %+v", given)
	}
	if _, err := named([]model.Call{{ID: "x"}, {ID: "x"}}, 1, nil); err == nil {
		t.Error("equal ids are taken")
	}
}

func TestFoldOfNothing(t *testing.T) {
	s, err := fold(func(func(wire.Event, error) bool) {})
	if err != nil || s.turns != 0 || !s.closed || s.messages == nil {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := fold(func(yield func(wire.Event, error) bool) { yield(wire.Event{}, errBroken) }); err != errBroken {
		t.Errorf("%v", err)
	}
}

var _ Log = (*session.Writer)(nil)
