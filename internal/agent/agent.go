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
//	turn_start   {turn, prompt?, attached?, images?, context?, window?}
//	                                                a turn begins; the prompt and what is attached
//	                                                to it come with the first. Where a process died
//	                                                amid an answer, the next one begins it again
//	text         {text, more?}                      what the model says; more: the next one goes on with it
//	model_call   {turn, say?, calls?, stop?, end?, by?, usage?, cost_usd?, native?}
//	                                                the whole turn: nothing of it was acted on before.
//	             {turn, error, retry_in_ms?}        or why there is none. calls are {id, tool, input}
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
// broke or refused, an expectation did not hold, a limit was reached, the record
// can't be written) or parked: its turn waits for people, or a signal interrupted
// it. A run that is parked or failed can be resumed; the limits are those that it was
// given, so a run that has reached one fails again.
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

	"github.com/kxtools/kx/internal/agent/prompt"
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
	Session string
	Log     Log
	Past    iter.Seq2[wire.Event, error] // the events so far
	Gate    *gate.Gate                   // its Journal and Parked are set by Run
	Model   model.Model
	Sees    func(tool string) bool // what the session's scope shows, nil for everything
	Emit    func(wire.Event) error // told of every event, one at a time

	// Prompt is the task of a session that has not begun.
	Prompt func() (*prompt.Task, error)
	// System says, afresh for every turn, what a model is told before all else; nil
	// for nothing.
	System func([]model.Tool) (*prompt.System, error)
	Window int // of the model, in tokens; 0 if it is not known

	MaxTurns int     // 0 for no limit
	MaxCost  float64 // USD, 0 for no limit
	// Cost is what a turn cost in USD, by whoever answered; false where no price is
	// known. nil if nobody knows any.
	Cost func(by string, u *model.Usage) (usd float64, known bool)
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
		return nil, past.damaged(o.Session, err)
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
		Calls: maps.Clone(past.counts), Output: past.output, Usage: past.tokens(), CostUSD: past.cost,
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

// damaged is why a session can't go on whose log can't be read to its end: what is
// behind the damage may have happened or not.
func (s *conversation) damaged(session string, err error) error {
	e := fail.Failed("damaged_session", "session %s can't go on: %v", session, fail.As(err).Msg).Because(err)
	if s.over == 0 {
		return e.WithHint("kx agent show %s", session)
	}
	return e.WithHint("kx agent fork %s --at %d", session, s.over)
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
			if r.state.habit.circle > 1 {
				return Failed, fail.Limit(codeLoop, "the model repeats its calls, and did so after it was told").WithHint("kx agent show %s", r.Session)
			}
		}
		switch {
		case r.state.turns > 0 && r.state.stop && r.state.denied:
			return Completed, fail.Denied("denied", "a call of the last turn was denied").WithHint("kx agent show %s", r.Session)
		case r.state.turns > 0 && r.state.stop:
			return Completed, nil
		}
		if err := r.limits(); err != nil {
			return Failed, err
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

// maxCuts is how often in a row a model may go on with an answer that was cut: it
// is four times its longest then.
const maxCuts = 3

// limits says which limit keeps the model from being asked again, nil for none.
func (r *runner) limits() error {
	s := r.state
	hint := "kx agent show " + r.Session
	switch {
	case r.MaxTurns > 0 && s.turns >= r.MaxTurns:
		return fail.Limit("max_turns", "the run has had its %d turns", r.MaxTurns).WithHint("%s", hint)
	case r.MaxCost > 0 && s.cost >= r.MaxCost:
		return fail.Limit("max_cost", "the run has cost %.4f USD, of %g that it may", s.cost, r.MaxCost).WithHint("%s", hint)
	case s.cuts > maxCuts:
		return fail.Limit("output_length", "the answer was cut %d times in a row and has no end", s.cuts).WithHint("%s", hint)
	}
	return nil
}

// ask gets the next turn of the model. It is on disk before any of it is acted
// on.
func (r *runner) ask(ctx context.Context) error {
	n := r.state.turns + 1
	tools := surface(r.Gate.Tools, r.Sees)
	system, err := r.begin(n, tools)
	if err != nil {
		return err
	}
	said := &speech{write: func(e textEvent) error { return r.write(evText, e) }}
	start := r.Gate.Now()
	t, err := r.Model.Turn(ctx, &model.Request{
		Type: "model_request", V: wire.Version,
		Turn: r.state.asked, System: system, Messages: r.state.messages, Tools: tools,
		Said: said.said,
		Retry: func(f *model.Failure) error {
			wait := f.Wait.Milliseconds()
			failed := modelCall{Turn: n, Error: f.Err.Wire(), RetryInMS: &wait}
			return errors.Join(said.broke(), r.write(evModelCall, failed))
		},
	})
	if ctx.Err() != nil {
		return errors.Join(ctx.Err(), said.broke())
	}
	call := modelCall{Turn: n, DurationMS: r.Gate.Now().Sub(start).Milliseconds()}
	if err == nil {
		err = r.take(&call, t)
	}
	if err != nil {
		err = r.explain(err)
		return errors.Join(err, said.broke(), r.write(evModelCall, modelCall{Turn: n, Error: fail.As(err).Wire(), DurationMS: call.DurationMS}))
	}
	if err := errors.Join(said.end(t.Say), r.write(evModelCall, call), r.Log.Sync()); err != nil {
		return err
	}
	return r.judge(&call)
}

// begin writes that turn n begins, unless an earlier process did and nothing was said
// since, and returns what the model is told before all else.
func (r *runner) begin(n int, tools []model.Tool) (string, error) {
	start := turnStart{Turn: n, Window: r.Window}
	system := &prompt.System{}
	if r.System != nil {
		var err error
		if system, err = r.System(tools); err != nil {
			return "", err
		}
	}
	again := r.state.begun >= n
	if again && !r.state.half {
		return system.Text, nil
	}
	start.Context = system.Sources
	if n == 1 && !again && r.Prompt != nil {
		task, err := r.Prompt()
		if err != nil {
			return "", err
		}
		start.Prompt, start.Attached, start.Images = task.Prompt, task.Attached, task.Images
		start.Context = append(start.Context, task.Sources...)
	}
	return system.Text, r.write(evTurnStart, start)
}

// take puts what the model answered into the event.
func (r *runner) take(call *modelCall, t *model.Turn) error {
	calls, renamed, err := named(t.Calls, call.Turn, r.state.used)
	if err != nil {
		return err
	}
	call.Say, call.Calls, call.Stop, call.End, call.By, call.Usage = t.Say, calls, t.Stop, t.End, t.By, t.Usage
	if !renamed { // else the provider's own words name calls that are not there
		call.Native = keep(t.Native)
	}
	if t.End == model.EndRefusal {
		call.Calls, call.Native = nil, nil // what it wants besides is not done
	}
	if r.Cost != nil && t.Usage != nil {
		call.CostUSD, _ = r.Cost(t.By, t.Usage)
	}
	return nil
}

// judge says why a turn that was given ends the run.
func (r *runner) judge(call *modelCall) error {
	if call.End == model.EndRefusal {
		said := call.Say
		if said == "" {
			said = "it does not say why"
		}
		return fail.Failed("refused", "the model refuses: %s", short(said)).WithHint("kx agent show %s", r.Session)
	}
	if r.MaxCost > 0 && call.By != "" && !r.priced(call) {
		return fail.Limit("no_price", "--max-cost can't be kept: what %s took has no price", call.By).WithHint("kx config show")
	}
	return nil
}

func (r *runner) priced(call *modelCall) bool {
	if r.Cost == nil || call.Usage == nil {
		return false
	}
	_, known := r.Cost(call.By, call.Usage)
	return known
}

// explain words the failure of a provider for somebody who has this session.
func (r *runner) explain(err error) error {
	var f *model.Failure
	if errors.As(err, &f) && f.Class == model.Overflow {
		return fail.Limit("context_overflow", "the conversation is longer than the model takes: %s", f.Err.Msg).
			WithHint("kx agent context %s", r.Session).Because(err)
	}
	return err
}

// short keeps what fits into a message.
func short(s string) string {
	const most = 300
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// named gives every call an id that no other call of the session has: approvals and
// the record know calls by it. One that a model gives is kept if it is free; two
// equal ones in a turn are a mistake of the model.
func named(calls []model.Call, turn int, used map[string]bool) (list []model.Call, renamed bool, err error) {
	own := map[string]bool{}
	for _, c := range calls {
		if c.ID != "" && own[c.ID] {
			return nil, false, fail.Failed("model_broken", "two calls of turn %d have the id %q", turn, c.ID)
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
		calls[i].ID, own[id], renamed = id, true, true
	}
	return calls, renamed, nil
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
	what, them := "one approval is", pending[0]
	if n := len(pending); n > 1 {
		what, them = fmt.Sprintf("%d approvals are", n), "ID"
	}
	return Parked, fail.Pending("parked: %s waiting (%s); answer with: kx approve allow %s", what, strings.Join(pending, ", "), them).
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
