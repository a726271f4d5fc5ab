package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/pkg/wire"
)

// improvised is a model whose turns are functions, one after the other; the last one
// is asked again and again.
type improvised []func(*model.Request) (*model.Turn, error)

func (m *improvised) Turn(_ context.Context, r *model.Request) (*model.Turn, error) {
	next := (*m)[0]
	if len(*m) > 1 {
		*m = (*m)[1:]
	}
	return next(r)
}

func (m *improvised) Close() error { return nil }

// says is a turn.
func says(t model.Turn) func(*model.Request) (*model.Turn, error) {
	return func(*model.Request) (*model.Turn, error) { return &t, nil }
}

// calls is a turn of one call.
func calls(tool, input string) func(*model.Request) (*model.Turn, error) {
	return says(model.Turn{Calls: []model.Call{{Tool: tool, Input: json.RawMessage(input)}}})
}

// improvise plays the session with such a model.
func (h *house) improvise(m improvised, change ...func(*Options)) (*Outcome, error, *listener) {
	h.t.Helper()
	l := &listener{}
	change = append([]func(*Options){func(o *Options) { o.Model = &m }, listen(l)}, change...)
	end, err := h.play(bg, "{}", change...)
	return end, err, l
}

// A call whose arguments are none is answered, with the schema; what the model sees is
// enough to do it right. Nothing of it runs.
func TestBrokenCalls(t *testing.T) {
	h := newHouse(t)
	end, err, l := h.improvise(improvised{
		says(model.Turn{Calls: []model.Call{
			{Tool: "todo_write", Input: json.RawMessage("{}"), Broken: "unexpected end of JSON input", Wrote: `{"n":`},
			{Tool: "todo_write", Input: json.RawMessage(`{"m":1}`)},
			{Tool: "todo_writes", Input: json.RawMessage("{}"), Broken: "no JSON", Wrote: `x`},
			{Tool: "read_file", Input: json.RawMessage(`{}`)},
		}}),
		says(model.Turn{Say: "Done."}),
	})
	h.ends(end, err, Completed, 0)
	same(t, "messages", l.said()[2:], []string{
		"tool t1.1 todo_write error todo_write: the arguments can't be read, so nothing was run: unexpected end of JSON input " +
			"They have to be one JSON object of this schema: " + schemas["todo_write"],
		`tool t1.2 todo_write error todo_write: there is no field "m"`,
		`tool t1.3 todo_writes not_found there is no tool "todo_writes"; did you mean todo_write?`,
		`tool t1.4 read_file error read_file: "path" is missing`,
	})
	if len(h.ran()) > 0 {
		t.Errorf("ran %v", h.ran())
	}
	for _, e := range h.events {
		var r wire.Result
		if json.Unmarshal(e.Data, &r); e.Event == evToolResult && r.Tool != "todo_writes" && r.Error.Code != "invalid_input" {
			t.Errorf("result %s", e.Data)
		}
	}
	if calls := l.asked[1].Messages[1].Calls; calls[0].Wrote != `{"n":` || calls[0].Broken == "" {
		t.Errorf("the model's own words are lost: %+v", calls[0])
	}
}

// An answer that was cut goes on, a few times; its calls run if there are any.
func TestCutAnswers(t *testing.T) {
	cut := func(say string) func(*model.Request) (*model.Turn, error) {
		return says(model.Turn{Say: say, End: model.EndLength})
	}
	h := newHouse(t)
	end, err, l := h.improvise(improvised{cut("one, "), cut("two, "), says(model.Turn{Say: "three"})})
	h.ends(end, err, Completed, 0)
	if end.Run.Output != "one, two, three" || end.Turns != 3 {
		t.Errorf("output %q after %d turns", end.Run.Output, end.Turns)
	}
	same(t, "messages", l.said(), []string{"user go", "assistant one,", "user " + goOn, "assistant two,", "user " + goOn})

	h = newHouse(t)
	end, err, l = h.improvise(improvised{
		cut("thinks"),
		says(model.Turn{Say: "a", End: model.EndLength, Calls: []model.Call{{Tool: "todo_write", Input: json.RawMessage(`{"n":1}`)}}}),
		cut("b"), says(model.Turn{Say: "c"}),
	})
	h.ends(end, err, Completed, 0)
	if end.Run.Output != "bc" || len(h.ran()) != 1 {
		t.Errorf("output %q, ran %v", end.Run.Output, h.ran())
	}

	h = newHouse(t)
	end, err, l = h.improvise(improvised{cut("and ")})
	h.ends(end, err, Failed, fail.ExitLimit)
	if e := fail.As(err); e.Code != "output_length" || len(l.asked) != maxCuts+1 {
		t.Errorf("%v after %d requests", err, len(l.asked))
	}
	end, err, l = h.improvise(improvised{says(model.Turn{Say: "never"})})
	h.ends(end, err, Failed, fail.ExitLimit)
	if len(l.asked) > 0 {
		t.Error("it asks on")
	}

	h = newHouse(t) // one that has thought until the end, and said nothing
	end, err, l = h.improvise(improvised{cut(""), says(model.Turn{Say: "x"})})
	h.ends(end, err, Completed, 0)
	same(t, "messages", l.said(), []string{"user go", "user " + goOn})
}

// A refusal is told in the model's words; what it wanted to call besides is not
// called, and asked again it is asked the same.
func TestRefusal(t *testing.T) {
	h := newHouse(t)
	end, err, _ := h.improvise(improvised{says(model.Turn{
		Say: "I can't help with that.", End: model.EndRefusal,
		Calls:  []model.Call{{Tool: "todo_write", Input: json.RawMessage(`{}`)}},
		Native: &model.Native{Dialect: "d", Content: json.RawMessage(`{}`)},
	})})
	h.ends(end, err, Failed, 1)
	if e := fail.As(err); e.Code != "refused" || !strings.Contains(e.Msg, "I can't help with that.") || len(h.ran()) > 0 {
		t.Errorf("%+v, ran %v", e, h.ran())
	}
	if got := trail(h.events); got[2] != `model_call {"turn":1,"say":"I can't help with that.","end":"refusal"}` {
		t.Errorf("event %s", got[2])
	}
	end, err, l := h.improvise(improvised{says(model.Turn{Say: "Well then."})})
	h.ends(end, err, Completed, 0)
	same(t, "messages", l.said(), []string{"user go"})
	if end.Turns != 2 || l.asked[0].Turn != 1 {
		t.Errorf("%d turns, request %d", end.Turns, l.asked[0].Turn)
	}
}

func TestOverflow(t *testing.T) {
	h := newHouse(t)
	end, err, _ := h.improvise(improvised{func(*model.Request) (*model.Turn, error) {
		return nil, &model.Failure{Class: model.Overflow, Status: 400, Err: fail.Unavailable("model_failed", "the conversation is longer than p/m takes (status 400): prompt is too long: 9 tokens")}
	}})
	h.ends(end, err, Failed, fail.ExitLimit)
	e := fail.As(err)
	if e.Code != "context_overflow" || e.Hint != "kx agent context run" || strings.Count(e.Msg, "longer than") != 1 || !strings.HasSuffix(e.Msg, "prompt is too long: 9 tokens") {
		t.Errorf("%+v", e)
	}
	w, _ := wire.Marshal(e.Wire())
	got := trail(h.events)
	same(t, "the end", got[len(got)-3:len(got)-1], []string{`model_call {"turn":1,"error":` + string(w) + `}`, "error " + string(w)})
}

// What turns cost is added up over all runs of the session.
func TestCost(t *testing.T) {
	turn := func(say string, calls ...model.Call) func(*model.Request) (*model.Turn, error) {
		return says(model.Turn{Say: say, Calls: calls, By: "p/m", Usage: &model.Usage{Input: 100, CacheRead: 50, CacheWrite: 7, Output: 10, Reasoning: 4}})
	}
	n := 0
	call := func() model.Call {
		n++
		return model.Call{Tool: "todo_write", Input: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))}
	}
	price := func(by string, u *model.Usage) (float64, bool) { return float64(u.Output) / 100, by == "p/m" }
	limit := func(usd float64) func(*Options) { return func(o *Options) { o.Cost, o.MaxCost = price, usd } }

	h := newHouse(t)
	end, err, _ := h.improvise(improvised{turn("", call()), turn("", call()), turn("x")}, limit(0.15))
	h.ends(end, err, Failed, fail.ExitLimit)
	if e := fail.As(err); e.Code != "max_cost" || e.Msg != "the run has cost 0.2000 USD, of 0.15 that it may" || len(h.ran()) != 2 {
		t.Errorf("%v, ran %v", err, h.ran())
	}
	if want := (wire.Usage{Input: 200, CacheRead: 100, CacheWrite: 14, Output: 20, Reasoning: 8}); *end.Run.Usage != want || end.Run.CostUSD != 0.2 {
		t.Errorf("usage %+v, cost %g", end.Run.Usage, end.Run.CostUSD)
	}
	if got := trail(h.events)[1]; got != `model_call {"turn":1,"calls":[{"id":"t1.1","tool":"todo_write","input":{"n":1}}],"by":"p/m",`+
		`"usage":{"input":100,"cache_read":50,"cache_write":7,"output":10,"reasoning":4},"cost_usd":0.1}` {
		t.Errorf("event %s", got)
	}
	end, err, l := h.improvise(improvised{turn("x")}, limit(0.15))
	if h.ends(end, err, Failed, fail.ExitLimit); len(l.asked) > 0 {
		t.Error("it asks on")
	}
	end, err, _ = h.improvise(improvised{turn("x")}, limit(1))
	if h.ends(end, err, Completed, 0); end.Run.CostUSD < 0.29 || end.Run.CostUSD > 0.31 {
		t.Errorf("cost %g", end.Run.CostUSD)
	}

	for name, o := range map[string]func(*Options){
		"no prices": func(o *Options) { o.MaxCost = 1 },
		"no price": func(o *Options) {
			o.MaxCost, o.Cost = 1, func(string, *model.Usage) (float64, bool) { return 0, false }
		},
	} {
		h = newHouse(t)
		end, err, _ = h.improvise(improvised{turn("x", call())}, o)
		h.ends(end, err, Failed, fail.ExitLimit)
		if fail.As(err).Code != "no_price" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a provider wrote goes back to it word for word, also in a later process; not
// where calls in it got other names.
func TestNative(t *testing.T) {
	words := ` { "b" : 1, "a":"` + strings.Repeat("x", 40<<10) + `", "blob": "q", "bytes": 3 } `
	turn := func(id string) func(*model.Request) (*model.Turn, error) {
		return says(model.Turn{
			Calls:  []model.Call{{ID: id, Tool: "write_file", Input: json.RawMessage(`{"path":"a"}`)}},
			Native: &model.Native{Dialect: "d", Model: "m", Content: json.RawMessage(words)},
		})
	}
	h := newHouse(t)
	end, err, _ := h.improvise(improvised{turn("a")})
	h.ends(end, err, Parked, fail.ExitPending)
	h.allow()
	end, err, _ = h.improvise(improvised{turn("a")})
	h.ends(end, err, Parked, fail.ExitPending)
	h.allow()
	end, err, l := h.improvise(improvised{says(model.Turn{Say: "x"})})
	h.ends(end, err, Completed, 0)
	m := l.asked[0].Messages
	if n := m[1].Native; n == nil || string(n.Content) != words || n.Dialect != "d" || n.Model != "m" {
		t.Errorf("native %+v", n)
	}
	if m[3].Native != nil || m[3].Calls[0].ID == "a" {
		t.Errorf("native of a renamed call: %+v", m[3])
	}
}

// wellFormed says what is wrong with a conversation: every call is answered once, at
// once and in order, and nothing else is.
func wellFormed(messages []model.Message) error {
	if len(messages) == 0 || messages[0].Role != "user" {
		return errors.New("it does not begin with a user")
	}
	var open []model.Call
	seen := map[string]bool{}
	for i, m := range messages {
		if m.Role != "tool" && len(open) > 0 {
			return fmt.Errorf("message %d comes before the result of %s", i, open[0].ID)
		}
		switch m.Role {
		case "tool":
			if len(open) == 0 || open[0].ID != m.CallID || m.Status == "" || m.Content == "" {
				return fmt.Errorf("message %d answers %q", i, m.CallID)
			}
			open = open[1:]
		case "assistant":
			for _, c := range m.Calls {
				if seen[c.ID] {
					return fmt.Errorf("two calls are %s", c.ID)
				}
				seen[c.ID] = true
			}
			open = m.Calls
		}
	}
	if len(open) > 0 || messages[len(messages)-1].Role == "assistant" {
		return errors.New("it ends in the middle")
	}
	return nil
}

// TestCutAnywhere cuts the log of a run behind every event and in the middle of each,
// and resumes: whatever is left, the next request is well-formed, and the run comes to
// its end.
func TestCutAnywhere(t *testing.T) {
	h := newHouse(t)
	long := strings.Repeat("x", 40<<10) // in a blob
	script := `{"say":"a","calls":[{"tool":"read_file","input":{"path":"r"}},{"tool":"write_file","input":{"path":"w1"}},{"tool":"write_file","input":{"path":"w2"}}]}
{"say":"` + long + `","end":"length"}
{"calls":[{"tool":"bash","input":{"command":"run badly"}},{"tool":"nothing"},{"tool":"bash","input":{}},{"tool":"read_file","input":{"path":"secret/x"}}]}
{"fail":{"status":503}}
{"calls":[{"tool":"todo_write","input":{"n":1}}]}
{"say":"Done."}`
	for range 5 {
		if _, err := h.play(bg, script); err == nil {
			break
		}
		h.allow()
	}
	log := filepath.Join(h.dir, "state/sessions", sessionID, "events.jsonl")
	whole, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	if len(lines) < 30 {
		t.Fatalf("only %d events", len(lines))
	}
	for n := range len(lines) - 2 { // the last one says that it is over
		for _, half := range []bool{false, true} {
			text := strings.Join(lines[:n], "")
			if half {
				text += lines[n][:len(lines[n])/2]
			}
			if err := os.WriteFile(log, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			l := &listener{}
			var end *Outcome
			for range 5 {
				if end, err = h.play(bg, script, listen(l)); err == nil || end != nil && end.Run.State == Completed {
					break
				}
				h.allow()
			}
			if end == nil || end.Run.State != Completed {
				t.Fatalf("cut behind event %d (%v): %+v, %v", n, half, end, err)
			}
			for i, r := range l.asked {
				if err := wellFormed(r.Messages); err != nil {
					t.Fatalf("cut behind event %d (%v), request %d: %v\n%s", n, half, i, err, strings.Join(l.said(), "\n"))
				}
			}
		}
	}
}

// A log in which lines are missing or changed is folded into a conversation that can
// be sent, too.
func TestFoldsWhatIsMissing(t *testing.T) {
	events := []string{
		`turn_start {"turn":1,"prompt":"go"}`, `model_call {"turn":1,"calls":[{"id":"a","tool":"x","input":{}},{"id":"b","tool":"x","input":{}}]}`,
		`tool_result {"id":"b","tool":"x","status":"ok","output":{"text":"t"}}`, `turn_end {"turn":1}`,
		`model_call {"turn":2,"calls":[{"id":"c","tool":"x","input":{}}]}`, `model_call {"turn":3,"calls":[{"id":"d","tool":"x","input":{}}]}`, `turn_end {"turn":3}`,
	}
	s := newConversation()
	for _, e := range events {
		event, data, _ := strings.Cut(e, " ")
		if err := s.apply(event, json.RawMessage(data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := wellFormed(s.messages); err != nil {
		t.Errorf("%v: %+v", err, s.messages)
	}
}

// A log that can't be read to its end is not gone on with.
func TestDamagedLog(t *testing.T) {
	h := newHouse(t)
	end, err := h.play(bg, `{"calls":[{"tool":"todo_write","input":{"n":1}}]}`+"\n"+`{"calls":[{"tool":"write_file","input":{"path":"a"}}]}`)
	h.ends(end, err, Parked, fail.ExitPending)
	log := filepath.Join(h.dir, "state/sessions", sessionID, "events.jsonl")
	whole, _ := os.ReadFile(log)
	lines := strings.SplitAfter(string(whole), "\n")
	for n, hint := range map[int]string{1: "kx agent show run", 6: "kx agent fork run --at 1"} {
		damaged := append(append(append([]string{}, lines[:n]...), "\x00\x00\n"), lines[n+1:]...)
		if err := os.WriteFile(log, []byte(strings.Join(damaged, "")), 0o600); err != nil {
			t.Fatal(err)
		}
		end, err := h.play(bg, "{}")
		e := fail.As(err)
		if end != nil || e == nil || e.Exit != 1 || e.Hint != hint || !strings.Contains(e.Msg, fmt.Sprintf("events.jsonl:%d", n+1)) {
			t.Errorf("line %d: %+v, %+v", n, end, e)
		}
	}
	if ran := h.ran(); len(ran) != 1 {
		t.Errorf("ran %v", ran)
	}
}
