package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/pkg/wire"
)

// quota checks that a result is the typed error of a quota and nothing else.
func (w *world) quota(r *wire.Result, quota, unit string, limit, actual int) {
	w.Helper()
	want := fmt.Sprintf(`{"actual_%[1]s":%[4]d,"error":"quota_exceeded","limit_%[1]s":%[3]d,"quota":"%[2]s","text":"%[5]s: %[4]d %[1]s, the limit %[2]s is %[3]d","tool":"%[5]s"}`,
		unit, quota, limit, actual, r.Tool)
	got, _ := json.Marshal(r.Output)
	if string(got) != want || r.Status != wire.StatusLimit || Exit(r) != 6 || r.Error.Code != quota || r.Error.Hint != "kx config show" {
		w.Errorf("status %s, error %+v\ngot  %s\nwant %s", r.Status, r.Error, got, want)
	}
}

// says returns a tool whose output is n bytes of JSON.
func says(n *int) tool.Handler {
	return func(context.Context, *tool.Env, json.RawMessage) (wire.Output, error) {
		return wire.Output{"text": strings.Repeat("x", *n-len(`{"text":""}`))}, nil
	}
}

func TestInputBytes(t *testing.T) {
	w := newWorld(t, nil)
	w.config("[limits]\nmax_input_bytes = 30\n")
	at := func(n int) string { return `{"text":"` + strings.Repeat("x", n-len(`{"text":""}`)) + `"}` }
	if b := w.begin(); b.MaxInput() != 30 {
		t.Errorf("an input may have %d bytes", b.MaxInput())
	}
	w.config("[limits]\nmax_input_bytes = 1099511627776\n")
	if b := w.begin(); b.MaxInput() != 1<<30 {
		t.Errorf("an input may have %d bytes", b.MaxInput())
	}
	w.config("[limits]\nmax_input_bytes = 30\n")
	w.wants(w.call("todo_write", at(30)), wire.StatusOK, 0, 1)
	r := w.call("todo_write", at(31))
	w.quota(r, "input_bytes", "bytes", 30, 31)
	if w.ran.Load() != 1 || r.Decision != nil {
		t.Errorf("%d runs, decision %+v", w.ran.Load(), r.Decision)
	}
}

// What is over the limit is replaced by the error, not cut, and the audit says so.
func TestOutputBytes(t *testing.T) {
	n := 100
	w := newWorld(t, handlers{"get_goal": says(&n)})
	w.config("[limits]\nmax_output_bytes = 100\n")
	w.wants(w.call("get_goal", "{}"), wire.StatusOK, 0, 1)
	n = 101
	w.quota(w.call("get_goal", "{}"), "output_bytes", "bytes", 100, 101)
	if got := w.trail(); w.ran.Load() != 2 || !strings.HasSuffix(got, "audit:allow:rule outcome:limit") {
		t.Errorf("%d runs, %s", w.ran.Load(), got)
	}
}

// The envelope is the whole result, with what was decided of it.
func TestEnvelopeBytes(t *testing.T) {
	n := 100
	w := newWorld(t, handlers{"get_goal": says(&n)})
	r := w.call("get_goal", "{}")
	whole, err := wire.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if size := len(whole); size < 500 || r.DurationMS != 0 {
		t.Fatalf("%s", whole)
	}
	w.config(fmt.Sprintf("[limits]\nmax_result_envelope_bytes = %d\n", len(whole)))
	w.wants(w.call("get_goal", "{}"), wire.StatusOK, 0, 2)
	n++
	w.quota(w.call("get_goal", "{}"), "result_envelope_bytes", "bytes", len(whole), len(whole)+1)
}

func TestCallsPerTurn(t *testing.T) {
	w := newWorld(t, nil)
	w.config("[limits]\nmax_calls_per_turn = 2\n")
	b := w.begin()
	do := func(tool string) *wire.Result { return b.Do(context.Background(), wire.Call{Tool: tool}) }
	do("get_goal")
	w.wants(do("todo_write"), wire.StatusOK, 0, 2)
	for i := range 3 { // each of those that are too many
		w.quota(do("get_goal"), "max_calls_per_turn", "calls", 2, 3+i)
	}
	b = w.begin()
	w.wants(do("get_goal"), wire.StatusOK, 0, 3)
}

func TestCumulative(t *testing.T) {
	n := 100
	w := newWorld(t, handlers{"get_goal": says(&n)})
	w.config("[limits]\nmax_cumulative_output_bytes = 250\n")
	b := w.begin()
	do := func() *wire.Result { return b.Do(context.Background(), wire.Call{ID: "c", Tool: "get_goal"}) }
	do()
	w.wants(do(), wire.StatusOK, 0, 2)
	w.quota(do(), "cumulative_output_bytes", "bytes", 250, 300)
	n = 50 // what was replaced does not count
	w.wants(do(), wire.StatusOK, 0, 4)
	n = 100
	w.wants(w.call("get_goal", "{}"), wire.StatusOK, 0, 5) // another batch

	w.config("")
	b = w.begin()
	whole, err := wire.Marshal(do())
	if err != nil {
		t.Fatal(err)
	}
	size := len(whole)
	w.config(fmt.Sprintf("[limits]\nmax_cumulative_result_envelope_bytes = %d\n", 2*size))
	b = w.begin()
	do()
	w.wants(do(), wire.StatusOK, 0, 8)
	w.quota(do(), "cumulative_result_envelope_bytes", "bytes", 2*size, 3*size)
}

// A batch keeps the rules and limits that it began with.
func TestNextBatch(t *testing.T) {
	w := newWorld(t, nil)
	old := w.begin()
	w.config("[limits]\nmax_input_bytes = 5\n")
	w.policy("[[rule]]\ntool = \"get_goal\"\ndecision = \"deny\"\n")
	input := json.RawMessage(`{"text":"long enough"}`)
	w.wants(old.Do(context.Background(), wire.Call{Tool: "todo_write", Input: input}), wire.StatusOK, 0, 1)
	w.wants(old.Do(context.Background(), wire.Call{Tool: "get_goal"}), wire.StatusOK, 0, 2)
	b := w.begin()
	w.wants(b.Do(context.Background(), wire.Call{Tool: "todo_write", Input: input}), wire.StatusLimit, 6, 2)
	w.wants(b.Do(context.Background(), wire.Call{Tool: "get_goal"}), wire.StatusDenied, 3, 2)
}
