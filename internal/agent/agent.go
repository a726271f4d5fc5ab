// Package agent is the loop: it asks a model for a turn, takes the calls of the
// turn through the gate, gives the results back, until the model is done. What
// happens is written to the session before and after each step, so that a run
// which parks or dies goes on in a later process exactly where it stopped, and no
// call ever runs twice. kxd agent runs it.
//
// # Events
//
// A run is the events of its session, in this order; each is one line of
// events.jsonl and of -o jsonl. Turns count from 1. This is the data of each:
//
//	turn_start   {turn, prompt?}                    a turn begins; the prompt comes with the first
//	text         {text}                             what the model says
//	model_call   {turn, say?, calls?, stop?}        the whole turn: nothing of it was acted on before.
//	             {turn, error}                      or why there is none. calls are {id, tool, input}
//	tool_call    {id, tool, input}                  a call is about to run: paths are absolute now
//	tool_result  a result document                  how a call ended, or why it did not run
//	approval     {id, call_id, tool, state}         a call waits for a person; state is pending
//	turn_end     {turn}                             every call of the turn has its result
//	parked       {pending}                          the run ends here for now: ids of requests
//	error        {code, exit, message, hint?}       the run has failed
//	done         {state, exit, output?}             the run is over: completed, failed or stopped
//
// Between model_call and turn_end the events of calls that run side by side mix. A
// call of a turn that died is in one of three states: without a tool_call it has
// not run and runs when the session is resumed; with both it has run; with a
// tool_call alone nobody knows, and it gets a result of status unknown.
//
// # Ends
//
// A run ends completed (the model stopped, or made no calls), failed (the model
// broke, an expectation did not hold, the limit of turns was reached, the record
// can't be written) or parked: its turn waits for people, or a signal interrupted
// it. A run that is parked or failed can be resumed; the limit of turns is the one
// it was given, so a run that has reached it fails again.
package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
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
	Gate     *gate.Gate                   // its Journal and Parked are set by Run
	Model    model.Model
	Sees     func(tool string) bool // what the session's scope shows, nil for everything
	Prompt   string                 // of a session that has not begun
	MaxTurns int                    // 0 for no limit
	Emit     func(wire.Event) error // told of every event, one at a time
}

// Outcome is how a session stands after a run.
type Outcome struct {
	Run     *wire.Run
	Turns   int      // that the model gave so far
	Pending []string // requests that the run waits for
}

// runner is one run.
type runner struct {
	Options
	asked map[string]bool // requests that this run has told of

	mu     sync.Mutex
	state  *conversation
	broken error // the session could not be written
}

// Run runs the session until it is done, needs a person, or can't go on. The
// error is what the run ended with. Without an outcome nothing has run.
func Run(ctx context.Context, o Options) (*Outcome, error) {
	past, err := fold(o.Past)
	if err != nil {
		return nil, err
	}
	r := &runner{Options: o, state: past, asked: map[string]bool{}}
	o.Gate.Journal = journal{r}
	o.Gate.Parked = func(a *wire.Approval) { r.waits(a.CallID, a.Tool, a.ID) }
	state, err := r.run(ctx)
	if r.broken != nil {
		state, err = Failed, r.broken
	}
	run := &wire.Run{
		Type: "run", V: wire.Version, Session: o.Session, State: state, Exit: fail.Exit(err),
		Calls: maps.Clone(past.counts), Output: past.output,
	}
	end := &Outcome{Run: run, Turns: past.turns, Pending: []string{}}
	switch state {
	case Parked:
		end.Pending = past.pending()
		if n := len(end.Pending); n > 0 {
			run.Calls[string(wire.StatusPending)] = n
		}
		return end, errors.Join(err, r.Log.Sync())
	case Failed:
		err = errors.Join(err, r.write(evError, fail.As(err).Wire()))
	}
	err = errors.Join(err, r.write(evDone, doneEvent{State: state, Exit: run.Exit, Output: run.Output}), r.Log.Sync())
	if exit := fail.Exit(err); exit != run.Exit {
		run.State, run.Exit = Failed, exit // its end could not be written
	}
	return end, err
}

// run is the loop.
func (r *runner) run(ctx context.Context) (string, error) {
	for {
		if !r.state.closed {
			if err := r.calls(ctx); err != nil && ctx.Err() == nil {
				return Failed, err
			}
			if ctx.Err() != nil || len(r.state.missing()) > 0 {
				return r.park(context.Cause(ctx))
			}
			if err := r.write(evTurnEnd, turnEnd{r.state.turns}); err != nil {
				return Failed, err
			}
		}
		switch {
		case r.state.turns > 0 && r.state.stop && r.state.denied:
			return Completed, fail.Denied("denied", "a call of the last turn was denied").WithHint("kx agent show %s", r.Session)
		case r.state.turns > 0 && r.state.stop:
			return Completed, nil
		case r.MaxTurns > 0 && r.state.turns >= r.MaxTurns:
			return Failed, fail.Limit("max_turns", "the run has had its %d turns", r.MaxTurns).WithHint("kx agent show %s", r.Session)
		}
		err := r.ask(ctx)
		switch {
		case ctx.Err() != nil:
			return r.park(context.Cause(ctx))
		case err != nil:
			return Failed, err
		}
	}
}

// ask gets the next turn of the model. It is on disk before any of it is acted
// on.
func (r *runner) ask(ctx context.Context) error {
	n := r.state.turns + 1
	if r.state.begun < n {
		start := turnStart{Turn: n}
		if n == 1 {
			start.Prompt = r.Prompt
		}
		if err := r.write(evTurnStart, start); err != nil {
			return err
		}
	}
	t, err := r.Model.Turn(ctx, &model.Request{
		Type: "model_request", V: wire.Version,
		Turn: r.state.asked, Messages: r.state.messages, Tools: surface(r.Gate.Tools, r.Sees),
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var calls []model.Call
	if err == nil {
		calls, err = named(t.Calls, n, r.state.used)
	}
	if err != nil {
		return errors.Join(err, r.write(evModelCall, modelCall{Turn: n, Error: fail.As(err).Wire()}))
	}
	if t.Say != "" {
		if err := r.write(evText, textEvent{t.Say}); err != nil {
			return err
		}
	}
	if err := r.write(evModelCall, modelCall{Turn: n, Say: t.Say, Calls: calls, Stop: t.Stop}); err != nil {
		return err
	}
	return r.Log.Sync()
}

// named gives every call an id that no other call of the session has: approvals and
// the record know calls by it. One that a model gives is kept if it is free; two
// equal ones in a turn are a mistake of the model.
func named(calls []model.Call, turn int, used map[string]bool) ([]model.Call, error) {
	own := map[string]bool{}
	for _, c := range calls {
		if c.ID != "" && own[c.ID] {
			return nil, fail.Failed("model_broken", "two calls of turn %d have the id %q", turn, c.ID)
		}
		own[c.ID] = true
	}
	calls = slices.Clone(calls)
	for i := range calls {
		id := calls[i].ID
		if id != "" && !used[id] {
			continue
		}
		for id = fmt.Sprintf("t%d.%d", turn, i+1); used[id] || own[id]; {
			id += "+"
		}
		calls[i].ID, own[id] = id, true
	}
	return calls, nil
}

// surface lists the tools that the session sees.
func surface(reg *tool.Registry, sees func(string) bool) []model.Tool {
	list := []model.Tool{}
	for _, name := range reg.Names() {
		if t := reg.Get(name); t.Off == "" && (sees == nil || sees(name)) {
			list = append(list, model.Tool{Name: name, Description: t.Description, InputSchema: t.Schema})
		}
	}
	return list
}

// park ends the run for now: until its requests are answered or, if cause says
// that it was interrupted, until somebody goes on with it.
func (r *runner) park(cause error) (string, error) {
	pending := r.state.pending()
	if cause == nil && len(pending) == 0 {
		return Failed, fmt.Errorf("call %s came to no end", r.state.missing()[0].ID)
	}
	if err := r.write(evParked, parkedEvent{pending}); err != nil {
		return Failed, err
	}
	if cause != nil {
		e := fail.As(cause)
		return Parked, fail.New(e.Code, e.Exit, "parked: %s", e.Msg).WithHint("kx agent resume %s", r.Session)
	}
	what, how := "one approval is", "kx approve "+pending[0]
	if n := len(pending); n > 1 {
		what, how = fmt.Sprintf("%d approvals are", n), "kx approve"
	}
	return Parked, fail.Pending("parked: %s waiting (%s); answer with: %s", what, strings.Join(pending, ", "), how).
		WithHint("kx agent resume %s", r.Session)
}

// write appends an event, takes it into the state, and tells whoever listens.
func (r *runner) write(event string, data any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, err := r.Log.Append(event, data)
	if err != nil {
		r.broken = err
		return err
	}
	if err := r.state.apply(event, json.RawMessage(e.Data)); err != nil {
		return err
	}
	if r.Emit == nil {
		return nil
	}
	return r.Emit(e)
}
