package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/kxtools/kx/internal/agent/habit"
	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/wire"
)

// calls takes the calls of the open turn that have no result yet through the gate.
// What is without a result afterwards waits for a person.
func (r *runner) calls(ctx context.Context) error {
	var todo []wire.Call
	ahead := r.state.habit.Copy()
	for _, c := range r.state.missing() {
		res := r.settled(c, ahead)
		if res == nil {
			todo = append(todo, wire.Call{ID: c.ID, Tool: c.Tool, Input: c.Input})
		} else if err := r.finish(res); err != nil {
			return err
		}
	}
	if len(todo) == 0 {
		return nil
	}
	batch, err := r.Gate.Begin()
	if err != nil {
		return err
	}
	next := func() (gate.Item, bool) {
		if len(todo) == 0 {
			return gate.Item{}, false
		}
		c := todo[0]
		todo = todo[1:]
		return gate.Item{Call: c}, true
	}
	begin := func() (*gate.Batch, error) { return batch, nil }
	return r.Gate.Stream(ctx, next, begin, func(gate.Answer) error { return nil })
}

// settled returns the result of a call that is not to run, nil for one that is.
func (r *runner) settled(c *callState, ahead *habit.Habit) *wire.Result {
	if c.started { // an earlier process was about to run it, or has
		return unknown(c)
	}
	why := ""
	if !r.Scripted {
		why = ahead.Loop(&c.Call)
	}
	switch {
	case why != "" && c.approval == "":
		return inCircles(c, why)
	case c.Broken != "" && r.sees(c.Tool):
		return broken(c, r.Gate.Tools.Get(c.Tool).Schema)
	}
	return nil
}

func (r *runner) sees(name string) bool {
	return r.Gate.Tools.Get(name) != nil && (r.Sees == nil || r.Sees(name))
}

// codeLoop is the code of a call that was not run because it repeats others, and of
// the run that goes on with it.
const codeLoop = "loop"

// inCircles answers a call that repeats others instead of running it.
func inCircles(c *callState, why string) *wire.Result {
	e := fail.Limit(codeLoop, "%s was not run: %s; do something else, or say what keeps you from going on: if this goes on, the run ends", c.Tool, why)
	return answer(c, wire.StatusLimit, e)
}

// answer is the result of a call that did not go through the gate.
func answer(c *callState, status wire.Status, e *fail.Error) *wire.Result {
	return &wire.Result{
		Type: "result", V: wire.Version, ID: c.ID, Tool: c.Tool, Status: status, Output: wire.Output{"text": e.Msg}, Error: e.Wire(),
	}
}

// unknown is the result of a call of which nobody knows what became.
func unknown(c *callState) *wire.Result {
	return answer(c, wire.StatusUnknown, fail.Failed("unknown", "nobody knows whether this call ran: kx ended while it was under way; look before you call it again"))
}

// broken is the result of a call whose arguments are not what the tool can be asked
// with; the model gets to see what they have to be.
func broken(c *callState, schema json.RawMessage) *wire.Result {
	res := answer(c, wire.StatusError, tool.Invalid(c.Tool, "the arguments can't be read, so nothing was run: %s", c.Broken))
	res.Output["text"] = fmt.Sprintf("%s\nThey have to be one JSON object of this schema:\n%s", res.Output.Text(), schema)
	return res
}

// finish writes the result of a call.
func (r *runner) finish(res *wire.Result) error {
	return r.note(res.ID, res.Tool, evToolResult, res)
}

// note writes an event of a call, and returns when it is on disk unless the call only
// looks: what the next barrier has not taken along when the power goes can be asked
// again, and the audit has the decision. A call that a person was asked about waits.
func (r *runner) note(id, tool, event string, data any) error {
	r.mu.Lock()
	c := r.state.call(id)
	light := looks(tool) && c != nil && c.approval == ""
	r.mu.Unlock()
	if err := r.write(event, data); err != nil || light {
		return err
	}
	return r.Log.Sync()
}

// looks reports whether a tool reads files and does nothing else. Of one that is not
// known anything may come.
func looks(tool string) bool {
	e, known := catalogue.Lookup(tool)
	return known && e.Plan && len(e.Effects) == 1 && e.Effects[0] == catalogue.Read
}

// waits writes, once in a run, that a call waits for a person.
func (r *runner) waits(call, tool, approval string) error {
	r.mu.Lock()
	told := r.asked[approval]
	r.asked[approval] = true
	r.mu.Unlock()
	if told {
		return nil
	}
	if err := r.write(evApproval, approvalEvent{ID: approval, CallID: call, Tool: tool, State: wire.ApprovalPending}); err != nil {
		return err
	}
	return r.Log.Sync()
}

// journal is the gate's view of the run.
type journal struct{ r *runner }

// Started writes the intent.
func (j journal) Started(id, tool string, input json.RawMessage) error {
	return j.r.note(id, tool, evToolCall, toolCall{id, tool, input})
}

// Ended writes the result, or the request if the call waits for a person. A call
// that was interrupted while it ran has a result like any other; one that had not
// begun is still to be done.
func (j journal) Ended(res *wire.Result) error {
	switch {
	case res.Status == wire.StatusPending:
		return j.r.waits(res.ID, res.Tool, res.ApprovalID)
	case j.r.unbegun(res):
		return nil
	}
	return j.r.finish(res)
}

func (r *runner) unbegun(res *wire.Result) bool {
	if res.Error == nil || res.Error.Exit != fail.ExitInterrupted {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.state.call(res.ID)
	return c != nil && !c.started
}
