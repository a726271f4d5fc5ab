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
	"strings"
	"sync"

	"github.com/kxtools/kx/internal/agent/prompt"
	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate"
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

	Scripted bool    // the model is a file of turns: if it repeats itself, somebody wants it to
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
			if r.state.habit.Circles() > 1 {
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
