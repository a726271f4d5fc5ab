package agent

import (
	"encoding/json"
	"iter"

	"github.com/kxtools/kx/internal/agent/habit"
	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/pkg/wire"
)

// callState is how far a call of the open turn got.
type callState struct {
	model.Call
	approval string // the request that was made for it
	started  bool   // it was about to run
	result   *wire.Result
}

// conversation is a session as it stands: the fold of the session's events. It is
// made of nothing else, so a later process has the same one.
type conversation struct {
	messages []model.Message
	asked    int  // turns that the model was asked for and does not give again
	turns    int  // turns that it gave
	begun    int  // the last turn that was begun
	half     bool // something was said of its answer, which did not come
	over     int  // the last turn that is over
	open     []*callState
	used     map[string]bool // ids of calls
	closed   bool            // the last turn is over
	stop     bool            // the last turn ends the run
	denied   bool            // a call of the last turn with calls was denied, and none after it succeeded
	output   string
	said     string // what was said of an answer that is still going on
	cuts     int    // answers in a row that were cut
	emitted  bool   // the output was handed in by emit_output
	counts   map[string]int
	usage    model.Usage
	cost     float64 // USD
	habit    habit.Habit
}

func newConversation() *conversation {
	return &conversation{messages: []model.Message{}, used: map[string]bool{}, counts: map[string]int{}, closed: true}
}

// fold reads a session as far as it can be read. A call that was started and has no
// result is left as it is: nobody knows what became of it.
func fold(events iter.Seq2[wire.Event, error]) (*conversation, error) {
	s := newConversation()
	for e, err := range events {
		if err != nil {
			return s, err
		}
		if err := s.apply(e.Event, e.Data); err != nil {
			return s, err
		}
	}
	return s, nil
}

// apply takes in one event.
func (s *conversation) apply(event string, data json.RawMessage) error {
	s.half = event == evText
	switch event {
	case evTurnStart:
		return read(data, s.begin)
	case evModelCall:
		return read(data, s.turn)
	case evApproval:
		return read(data, func(d *approvalEvent) {
			if c := s.call(d.CallID); c != nil {
				c.approval = d.ID
			}
		})
	case evToolCall:
		return read(data, func(d *callRef) {
			if c := s.call(d.ID); c != nil {
				c.started = true
			}
		})
	case evToolResult:
		return read(data, func(d *resultRef) { s.result(d.whole()) })
	case evTurnEnd:
		s.close()
	}
	return nil
}

func read[T any](data json.RawMessage, take func(*T)) error {
	var d T
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	take(&d)
	return nil
}

func (s *conversation) begin(d *turnStart) {
	s.begun = d.Turn
	if d.Prompt == "" && d.Attached == "" && len(d.Images) == 0 {
		return
	}
	content := d.Prompt
	if d.Attached != "" && content != "" {
		content += "\n\n"
	}
	s.messages = append(s.messages, model.Message{Role: "user", Content: content + d.Attached, Images: d.Images})
}

// goOn is what a model is told whose answer was cut.
const goOn = "Your answer was cut because it reached the longest that is allowed. Go on exactly where it ended, without repeating anything."

// turn takes in what the model answered. A turn that its provider failed is not
// given again; one whose expectation did not hold is.
func (s *conversation) turn(d *modelCall) {
	if d.Error != nil {
		if d.Error.Code != model.CodeExpect {
			s.asked++
		}
		return
	}
	s.close() // it is, but in a session that somebody has changed
	s.asked++
	s.turns++
	s.spend(d)
	if d.End == model.EndRefusal {
		s.over = s.turns // asked again, it is asked the same
		return
	}
	if d.Say != "" || len(d.Calls) > 0 || d.Native != nil {
		s.messages = append(s.messages, model.Message{Role: "assistant", Content: d.Say, Calls: d.Calls, Native: d.native()})
	}
	s.closed, s.stop = false, d.Stop || len(d.Calls) == 0
	for _, c := range d.Calls {
		s.open = append(s.open, &callState{Call: c})
		s.used[c.ID] = true
	}
	if len(d.Calls) > 0 {
		s.said, s.cuts = "", 0
		return
	}
	s.said += d.Say
	if d.End == model.EndLength && !d.Stop {
		s.stop = false
		s.cuts++
		s.messages = append(s.messages, model.Message{Role: "user", Content: goOn})
		return
	}
	if s.said != "" && !s.emitted {
		s.output = s.said
	}
	s.said, s.cuts = "", 0
}

// spend counts what a turn took.
func (s *conversation) spend(d *modelCall) {
	s.cost += d.CostUSD
	if u := d.Usage; u != nil {
		s.usage.Input += u.Input
		s.usage.CacheRead += u.CacheRead
		s.usage.CacheWrite += u.CacheWrite
		s.usage.Output += u.Output
		s.usage.Reasoning += u.Reasoning
	}
}

// tokens is what all turns took, nil if no provider told.
func (s *conversation) tokens() *wire.Usage {
	if s.usage == (model.Usage{}) {
		return nil
	}
	u := wire.Usage(s.usage)
	return &u
}

// call returns a call of the open turn, or nil.
func (s *conversation) call(id string) *callState {
	for _, c := range s.open {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// result takes in how a call of the open turn ended.
func (s *conversation) result(r *wire.Result) {
	c := s.call(r.ID)
	if c == nil || c.result != nil {
		return
	}
	c.result = r
	s.counts[string(r.Status)]++
	if r.Tool == "emit_output" && r.Status == wire.StatusOK {
		s.output, s.emitted = r.Output.Text(), true
	}
}

// missing returns the calls of the open turn that have no result yet.
func (s *conversation) missing() []*callState {
	var list []*callState
	for _, c := range s.open {
		if c.result == nil {
			list = append(list, c)
		}
	}
	return list
}

// pending returns the requests that the open turn waits for, in the order of its
// calls.
func (s *conversation) pending() []string {
	ids := []string{}
	for _, c := range s.missing() {
		if c.approval != "" && !c.started {
			ids = append(ids, c.approval)
		}
	}
	return ids
}

// close ends the open turn: its results go to the model in the order of its calls,
// one for each of them.
func (s *conversation) close() {
	if s.closed {
		return
	}
	s.closed, s.over = true, s.turns
	if len(s.open) > 0 {
		s.denied = false
	}
	for _, c := range s.open {
		if c.result == nil {
			c.result = unknown(c)
		}
		switch c.result.Status {
		case wire.StatusDenied:
			s.denied = true
		case wire.StatusOK:
			s.denied = false
		}
		s.messages = append(s.messages, model.Message{
			Role: "tool", CallID: c.ID, Tool: c.Tool, Status: c.result.Status, Content: content(c.result),
		})
	}
	ended := make([]habit.Ended, 0, len(s.open))
	for _, c := range s.open {
		e := c.result.Error
		ended = append(ended, habit.Ended{
			Call: &c.Call, Status: c.result.Status, Text: content(c.result), Skipped: e != nil && e.Code == codeLoop,
		})
	}
	s.habit.Turn(ended)
	s.open = nil
}

// content is what the model gets to see of a result.
func content(r *wire.Result) string {
	if text := r.Output.Text(); text != "" || r.Error == nil {
		return text
	}
	return r.Error.Message
}
