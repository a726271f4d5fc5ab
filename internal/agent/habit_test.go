package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/pkg/wire"
)

// Which call of a sequence is the first that is not run. A call is a letter for its
// input and a digit for its result.
func TestHabit(t *testing.T) {
	for calls, want := range map[string]int{
		"a1 a1 a1":                               3,
		"a1 a1 b1 a1 a1 a1":                      6,
		"a1 a2 a3 a4 a5":                         0, // it waits for something
		"a1 a1 b1 b1 a1 a1":                      0,
		"a1 a2 a2 a2":                            4,
		"a1 b2 a1 b2 a1 b2":                      6,
		"a1 b2 a1 b3 a1 b2 a1":                   0,
		"b0 a1 b2 a1 b2 a1 b2":                   7,
		"a1 b2 c3 a1 b2 c3 a1 b2 c3":             0,
		"a1 b1 c1 d1 e1 f1 g1 h1 i1":             9, // eight times the same result
		"a1 b1 c1 d1 e1 f1 g1 h2 i1":             0,
		"a1 b1 c1 d1 e1 f1 g1 h1":                0,
		"a- b- c- d- e- f- g- h- i- j-":          0, // nothing is said of them
		"a- a- a-":                               3,
		"a1 b1 c1 d1 e1 f1 g1 h1 x2 a1 b1 c1 d1": 9,
	} {
		h := &habit{}
		got := 0
		for i, c := range strings.Fields(calls) {
			state := &callState{Call: model.Call{Tool: "t", Input: json.RawMessage(fmt.Sprintf(`{"in":%q,"z":1}`, c[:1]))}}
			if i%2 == 1 { // laid out differently
				state.Input = json.RawMessage(fmt.Sprintf(`{ "z": 1, "in": %q }`, c[:1]))
			}
			if h.copy().loop(&state.Call) != "" {
				got = i + 1
				break
			}
			state.result = &wire.Result{Status: wire.StatusOK, Output: wire.Output{"text": strings.Trim(c[1:], "-")}}
			h.turn([]*callState{state})
		}
		if got != want {
			t.Errorf("%s: call %d is a loop, want %d", calls, got, want)
		}
	}
}

// The steps that are kept are few.
func TestHabitForgets(t *testing.T) {
	h := &habit{}
	for i := range 10_000 {
		h.push(step{key: uint64(i)})
	}
	if len(h.steps) > 4*sameResult {
		t.Errorf("%d steps", len(h.steps))
	}
}

// A model that repeats itself is told once, then the run ends; resumed, it is asked
// once more.
func TestLoop(t *testing.T) {
	h := newHouse(t)
	again := calls("todo_write", `{"n":1}`)
	end, err, l := h.improvise(improvised{again})
	h.ends(end, err, Failed, fail.ExitLimit)
	if e := fail.As(err); e.Code != codeLoop || len(h.ran()) != 2 || end.Turns != 4 || end.Run.Calls["limit"] != 2 {
		t.Errorf("%v, ran %v, %+v", err, h.ran(), end.Run)
	}
	if said := l.said(); said[len(said)-1] != "tool t3.1 todo_write limit todo_write was not run: the same call had the same result twice in a row; "+
		"do something else, or say what keeps you from going on: if this goes on, the run ends" {
		t.Errorf("the model was told %s", said[len(said)-1])
	}
	if err := wellFormed(l.asked[3].Messages); err != nil {
		t.Error(err)
	}
	end, err, l = h.improvise(improvised{again})
	if h.ends(end, err, Failed, fail.ExitLimit); len(l.asked) != 1 || len(h.ran()) != 2 {
		t.Errorf("%d requests, ran %v", len(l.asked), h.ran())
	}
	end, err, _ = h.improvise(improvised{calls("todo_write", `{"n":2}`), says(model.Turn{Say: "Done."})})
	h.ends(end, err, Completed, 0)

	// Told, it does something else; later it may begin anew.
	h = newHouse(t)
	other := calls("todo_write", `{"n":2}`)
	end, err, _ = h.improvise(improvised{again, again, again, other, again, again, again, other, says(model.Turn{Say: "Done."})})
	if h.ends(end, err, Completed, 0); end.Run.Calls["limit"] != 2 || end.Run.Calls["ok"] != 6 {
		t.Errorf("calls %v", end.Run.Calls)
	}
}

// A call that is asked about again and again until its result changes is none.
func TestWaitingIsNoLoop(t *testing.T) {
	h := newHouse(t)
	n := 0
	h.handlers = map[string]tool.Handler{"bash": func(context.Context, *tool.Env, json.RawMessage) (wire.Output, error) {
		n++
		return wire.Output{"text": fmt.Sprintf("%d %% done", n)}, nil
	}}
	list := improvised{}
	for range 20 {
		list = append(list, calls("bash", `{"command":"run status"}`))
	}
	end, err, _ := h.improvise(append(list, says(model.Turn{Say: "Done."})))
	if h.ends(end, err, Completed, 0); n != 20 {
		t.Errorf("%d calls ran", n)
	}
}

// Equal calls of one turn are what the model wants at once; a turn of them again is not.
func TestLoopOfTurns(t *testing.T) {
	h := newHouse(t)
	c := model.Call{Tool: "todo_write", Input: json.RawMessage(`{}`)}
	d := model.Call{Tool: "read_file", Input: json.RawMessage(`{"path":"a"}`)}
	end, err, _ := h.improvise(improvised{says(model.Turn{Calls: []model.Call{c, d}})})
	if h.ends(end, err, Failed, fail.ExitLimit); fail.As(err).Code != codeLoop || end.Turns != 4 {
		t.Errorf("%v after %d turns", err, end.Turns)
	}
}

// A script may repeat what it likes, also when it goes on later.
func TestScriptsMayRepeat(t *testing.T) {
	h := newHouse(t)
	turn := `{"calls":[{"tool":"todo_write","input":{"n":1}}]}` + "\n"
	end, err := h.play(bg, strings.Repeat(turn, 30)+`{"say":"Done."}`, func(o *Options) { o.Scripted, o.MaxTurns = true, 20 })
	h.ends(end, err, Failed, fail.ExitLimit)
	end, err = h.play(bg, strings.Repeat(turn, 30)+`{"say":"Done."}`, func(o *Options) { o.Scripted = true })
	if h.ends(end, err, Completed, 0); end.Run.Calls["ok"] != 30 || end.Run.Calls["limit"] != 0 {
		t.Errorf("calls %v", end.Run.Calls)
	}
}
