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
