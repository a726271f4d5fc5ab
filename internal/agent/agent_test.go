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

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/scope"
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
	got, renamed, err := named(given, 4, map[string]bool{"used": true, "t4.1": true})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, c := range got {
		ids = append(ids, c.ID)
	}
	same(t, "ids", ids, []string{"t4.1+", "x", "t4.3", "t4.4"})
	if !renamed || given[0].ID != "" || given[2].ID != "used" {
		t.Errorf("it changed what it was given: %+v", given)
	}
	if _, _, err := named([]model.Call{{ID: "x"}, {ID: "x"}}, 1, nil); err == nil {
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

// FuzzFold reads sessions that somebody else has written: lines of an event and its
// data. Whatever they hold, the conversation is one that a model can be asked with.
func FuzzFold(f *testing.F) {
	f.Add("turn_start {\"turn\":1,\"prompt\":\"go\"}\nmodel_call {\"turn\":1,\"calls\":[{\"id\":\"a\",\"tool\":\"bash\",\"input\":{}}]}\n" +
		"tool_call {\"id\":\"a\"}\ntool_result {\"id\":\"a\",\"tool\":\"bash\",\"status\":\"ok\"}\nturn_end {}")
	f.Add("model_call {\"calls\":[{\"id\":\"a\"},{\"id\":\"a\"}]}\napproval {\"id\":\"x\",\"call_id\":\"a\"}\nmodel_call {\"error\":{}}\nturn_end 7")
	f.Add("tool_result null\nturn_end\nmodel_call null\ntool_result {\"tool\":\"emit_output\",\"status\":\"ok\"}\nturn_end\nturn_end")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := fold(func(yield func(wire.Event, error) bool) {
			for _, l := range strings.Split(text, "\n") {
				event, data, _ := strings.Cut(l, " ")
				if !yield(wire.Event{Event: event, Data: json.RawMessage(data)}, nil) {
					return
				}
			}
		})
		if err != nil {
			return
		}
		if len(s.pending()) > len(s.missing()) || len(s.missing()) > len(s.open) || s.closed && len(s.open) > 0 || s.turns > s.asked {
			t.Errorf("%q: %+v", text, s)
		}
		if _, err := wire.Marshal(s.messages); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		s.close()
		var open []model.Call
		for _, m := range s.messages {
			if m.Role == "tool" {
				if len(open) == 0 || open[0].ID != m.CallID {
					t.Fatalf("%q: %+v", text, s.messages)
				}
				open = open[1:]
			} else if len(open) > 0 {
				t.Fatalf("%q: call %q has no result", text, open[0].ID)
			}
			if m.Role == "assistant" {
				open = m.Calls
			}
		}
	})
}
