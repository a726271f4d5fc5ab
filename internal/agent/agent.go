// Package agent is the loop: it asks a model for a turn, takes the calls of the
// turn through the gate, gives the results back, until the model is done. What
// happens is written to the session before and after each step, so that a run
// which parks or dies goes on in a later process exactly where it stopped, and no
// call ever runs twice.
package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/pkg/wire"
)

// The states in which a run ends.
const (
	Completed = "completed"
	Parked    = "parked"
	Failed    = "failed"
)

// Log is the session's log, written by one run at a time.
type Log interface {
	Append(event string, data any) (wire.Event, error)
	Sync() error
}

// Options say what runs.
type Options struct {
	Session  string
	Log      Log
	Past     iter.Seq2[wire.Event, error] // the events so far
	Gate     *gate.Gate                   // its Journal is set by Run
	Model    model.Model
	Sees     func(tool string) bool // what the session's scope shows
	Prompt   string                 // of a new session
	MaxTurns int                    // 0 for no limit
	Emit     func(wire.Event) error // told of every event
}

// runner is one run.
type runner struct {
	Options
	state *state

	mu      sync.Mutex
	pending []string
	broken  error // the session could not be written
}

// Run runs the session until it is done, needs a person, or can't go on. The
// error is what the run ended with; the record says how it stands.
func Run(ctx context.Context, o Options) (*wire.Run, error) {
	past, err := fold(o.Past)
	if err != nil {
		return nil, err
	}
	r := &runner{Options: o, state: past}
	o.Gate.Journal = journal{r}
	state, err := r.run(ctx)
	if r.broken != nil {
		err = r.broken
	}
	run := &wire.Run{Type: "run", V: wire.Version, Session: o.Session, State: state, Calls: r.state.counts, Output: r.state.output, Exit: fail.Exit(err)}
	if err != nil && state != Parked {
		r.append(evError, fail.As(err).Wire())
	}
	if state == Completed || state == Failed {
		r.append(evDone, doneEvent{State: state, Exit: run.Exit, Output: run.Output})
	}
	if err := r.Log.Sync(); err != nil {
		return run, err
	}
	return run, err
}

// run is the loop.
func (r *runner) run(ctx context.Context) (string, error) {
	if !r.state.started {
		if err := r.write(evTurnStart, turnStart{Turn: 1, Prompt: r.Prompt}); err != nil {
			return Failed, err
		}
	}
	for {
		if !r.state.closed {
			pending, err := r.calls(ctx)
			switch {
			case ctx.Err() != nil:
				return Parked, ctx.Err()
			case err != nil:
				return Failed, err
			case len(pending) > 0:
				return r.park(pending)
			}
			if err := r.write(evTurnEnd, turnStart{Turn: r.state.turns}); err != nil {
				return Failed, err
			}
		}
		switch {
		case r.state.stop && r.state.turns > 0 && r.state.denied:
			return Completed, fail.Denied("denied", "a call of the last turn was denied").WithHint("kx agent show %s", r.Session)
		case r.state.stop && r.state.turns > 0:
			return Completed, nil
		case r.MaxTurns > 0 && r.state.turns >= r.MaxTurns:
			return Failed, fail.Limit("max_turns", "the run has had its %d turns", r.MaxTurns)
		}
		if err := r.ask(ctx); err != nil {
			if ctx.Err() != nil {
				return Parked, ctx.Err()
			}
			return Failed, err
		}
	}
}

// ask gets the next turn of the model. It is on disk before any of it is acted
// on.
func (r *runner) ask(ctx context.Context) error {
	if r.state.turns > 0 {
		if err := r.write(evTurnStart, turnStart{Turn: r.state.turns + 1}); err != nil {
			return err
		}
	}
	n := r.state.asked
	t, err := r.Model.Turn(ctx, &model.Request{Turn: n, Messages: r.state.messages, Tools: surface(r.Gate.Tools, r.Sees)})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return errors.Join(err, r.write(evModelCall, modelCall{Turn: n + 1, Error: fail.As(err).Wire()}))
	}
	calls, err := named(t.Calls, n+1)
	if err != nil {
		return err
	}
	if t.Say != "" {
		if err := r.write(evText, textEvent{t.Say}); err != nil {
			return err
		}
	}
	if err := r.write(evModelCall, modelCall{Turn: n + 1, Say: t.Say, Calls: calls, Stop: t.Stop}); err != nil {
		return err
	}
	return r.Log.Sync()
}

// named gives every call an id of its own; those that a model gives are kept.
func named(calls []model.Call, turn int) ([]model.Call, error) {
	seen := map[string]bool{}
	out := make([]model.Call, len(calls))
	for i, c := range calls {
		if c.ID == "" {
			c.ID = fmt.Sprintf("t%d.%d", turn, i+1)
		}
		if seen[c.ID] {
			return nil, fail.Failed("model_broken", "two calls of a turn have the id %q", c.ID)
		}
		seen[c.ID] = true
		out[i] = c
	}
	return out, nil
}

// surface lists the tools that the session sees.
func surface(reg *tool.Registry, sees func(string) bool) []model.Tool {
	var list []model.Tool
	for _, name := range reg.Names() {
		if sees == nil || sees(name) {
			t := reg.Get(name)
			list = append(list, model.Tool{Name: name, Description: t.Description, InputSchema: t.Schema})
		}
	}
	return list
}

// calls takes the open calls of the turn through the gate and returns the
// requests that now wait for a person.
func (r *runner) calls(ctx context.Context) ([]string, error) {
	r.pending = nil
	var todo []wire.Call
	for _, c := range r.state.missing() {
		if c.started {
			// It was about to run when the run died. It may have run.
			if err := r.unknown(c); err != nil {
				return nil, err
			}
			continue
		}
		todo = append(todo, wire.Call{ID: c.ID, Tool: c.Tool, Input: c.Input})
	}
	if len(todo) == 0 {
		return nil, nil
	}
	batch, err := r.Gate.Begin()
	if err != nil {
		return nil, err
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
	if err := r.Gate.Stream(ctx, next, begin, func(gate.Answer) error { return nil }); err != nil {
		return nil, err
	}
	return r.pending, r.broken
}

func (r *runner) unknown(c *callState) error {
	text := "nobody knows whether this call ran: kx ended while it was under way; look before you call it again"
	return r.finish(&wire.Result{
		Type: "result", V: wire.Version, ID: c.ID, Tool: c.Tool, Status: wire.StatusUnknown, Output: wire.Output{"text": text},
		Error: fail.Failed("unknown", "%s", text).Wire(),
	})
}

// park ends the run until its requests are answered.
func (r *runner) park(pending []string) (string, error) {
	if err := r.write(evParked, parkedEvent{pending}); err != nil {
		return Failed, err
	}
	what := "one approval is"
	if n := len(pending); n > 1 {
		what = fmt.Sprintf("%d approvals are", n)
	}
	return Parked, fail.Pending("parked: %s waiting (%s)", what, join(pending)).
		WithHint("kx approve allow %s, then kx agent resume %s", pending[0], r.Session)
}

func join(ids []string) string {
	s := ""
	for i, id := range ids {
		if i > 0 {
			s += ", "
		}
		s += id
	}
	return s
}

// write appends an event and takes it into the state.
func (r *runner) write(event string, data any) error {
	raw, err := r.append(event, data)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.apply(event, raw)
}

// append writes an event and tells whoever listens.
func (r *runner) append(event string, data any) (json.RawMessage, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, err := r.Log.Append(event, data)
	if err != nil {
		r.broken = err
		return nil, err
	}
	if r.Emit == nil {
		return e.Data, nil
	}
	return e.Data, r.Emit(e)
}

// finish writes the result of a call.
func (r *runner) finish(res *wire.Result) error {
	if err := r.write(evToolResult, res); err != nil {
		return err
	}
	return r.Log.Sync()
}

// journal is the gate's view of the run.
type journal struct{ r *runner }

// Started writes the intent.
func (j journal) Started(id, tool string, input json.RawMessage) error {
	if err := j.r.write(evToolCall, toolCall{id, tool, input}); err != nil {
		return err
	}
	return j.r.Log.Sync()
}

// unbegun reports whether a call was interrupted while it waited to run.
func (r *runner) unbegun(res *wire.Result) bool {
	if res.Error == nil || res.Error.Exit != fail.ExitInterrupted {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.state.call(res.ID)
	return c != nil && !c.started
}

// Ended writes the result, or the request if the call waits for a person. What a
// call came to when the run was interrupted is written like any other result.
func (j journal) Ended(res *wire.Result) error {
	if res.Status != wire.StatusPending {
		if j.r.unbegun(res) {
			return nil // interrupted before it ran: it is still to be done
		}
		return j.r.finish(res)
	}
	j.r.mu.Lock()
	j.r.pending = append(j.r.pending, res.ApprovalID)
	j.r.mu.Unlock()
	return j.r.write(evApproval, approvalEvent{ID: res.ApprovalID, CallID: res.ID, Tool: res.Tool, State: wire.ApprovalPending})
}
