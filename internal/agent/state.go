package agent

import (
	"encoding/json"
	"iter"

	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/pkg/wire"
)

// The data of events, as they stand in events.jsonl. Together they are all that
// a run needs to go on: see fold.
type (
	turnStart struct {
		Turn   int    `json:"turn"`
		Prompt string `json:"prompt,omitempty"` // of the first turn
	}
	modelCall struct {
		Turn  int          `json:"turn"`
		Say   string       `json:"say,omitempty"`
		Calls []model.Call `json:"calls,omitempty"`
		Stop  bool         `json:"stop,omitempty"`
		Error *wire.Error  `json:"error,omitempty"` // the model failed; the turn is asked for again
	}
	textEvent struct {
		Text string `json:"text"`
	}
	toolCall struct {
		ID    string          `json:"id"`
		Tool  string          `json:"tool"`
		Input json.RawMessage `json:"input"`
	}
	approvalEvent struct {
		ID     string `json:"id"`
		CallID string `json:"call_id"`
		Tool   string `json:"tool"`
		State  string `json:"state"`
	}
	parkedEvent struct {
		Pending []string `json:"pending"`
	}
	doneEvent struct {
		State  string `json:"state"`
		Exit   int    `json:"exit"`
		Output string `json:"output,omitempty"`
	}
)

// The names of events.
const (
	evTurnStart  = "turn_start"
	evModelCall  = "model_call"
	evText       = "text"
	evToolCall   = "tool_call"
	evToolResult = "tool_result"
	evApproval   = "approval"
	evTurnEnd    = "turn_end"
	evParked     = "parked"
	evDone       = "done"
	evError      = "error"
)

// callState is how far a call of the last turn got.
type callState struct {
	model.Call
	started bool // it was about to run
	result  *wire.Result
}

// state is a conversation as it stands: the fold of the session's events.
type state struct {
	messages []model.Message
	asked    int  // how often the model was asked
	turns    int  // how many turns it gave
	started  bool // there is a prompt
	open     []*callState
	stop     bool // the last turn ends the run
	closed   bool // the last turn is over
	output   string
	denied   bool // the exit of the last turn that made calls is "denied"
	counts   map[string]int
}

// fold reads a session. A call that was started and has no result is left as it
// is: nobody knows what became of it.
func fold(events iter.Seq2[wire.Event, error]) (*state, error) {
	s := &state{counts: map[string]int{}, closed: true}
	for e, err := range events {
		if err != nil {
			return nil, err
		}
		if err := s.apply(e.Event, e.Data); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *state) apply(event string, data json.RawMessage) error {
	switch event {
	case evTurnStart:
		var d turnStart
		if err := json.Unmarshal(data, &d); err != nil {
			return err
		}
		if d.Prompt != "" {
			s.started = true
			s.messages = append(s.messages, model.Message{Role: "user", Content: d.Prompt})
		}
	case evModelCall:
		var d modelCall
		if err := json.Unmarshal(data, &d); err != nil {
			return err
		}
		s.turn(&d)
	case evToolCall:
		var d toolCall
		if err := json.Unmarshal(data, &d); err != nil {
			return err
		}
		if c := s.call(d.ID); c != nil {
			c.started = true
		}
	case evToolResult:
		var r wire.Result
		if err := json.Unmarshal(data, &r); err != nil {
			return err
		}
		s.result(&r)
	case evTurnEnd:
		s.close()
	}
	return nil
}

// turn takes in what the model answered.
func (s *state) turn(d *modelCall) {
	s.asked++
	if d.Error != nil {
		return
	}
	s.turns++
	s.messages = append(s.messages, model.Message{Role: "assistant", Content: d.Say, Calls: d.Calls})
	s.open, s.closed, s.stop = nil, false, d.Stop || len(d.Calls) == 0
	for _, c := range d.Calls {
		s.open = append(s.open, &callState{Call: c})
	}
	if d.Say != "" && len(d.Calls) == 0 {
		s.output = d.Say
	}
}

func (s *state) call(id string) *callState {
	for _, c := range s.open {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// result takes in how a call of the open turn ended.
func (s *state) result(r *wire.Result) {
	c := s.call(r.ID)
	if c == nil || c.result != nil {
		return
	}
	c.result = r
	s.counts[string(r.Status)]++
	if r.Tool == "emit_output" && r.Status == wire.StatusOK {
		s.output = r.Output.Text()
	}
}

// missing returns the calls of the open turn that have no result yet.
func (s *state) missing() []*callState {
	var list []*callState
	for _, c := range s.open {
		if c.result == nil {
			list = append(list, c)
		}
	}
	return list
}

// close ends the open turn: its results go to the model in the order of its
// calls.
func (s *state) close() {
	if s.closed {
		return
	}
	s.closed = true
	if len(s.open) > 0 {
		s.denied = false
	}
	for _, c := range s.open {
		if c.result == nil {
			continue
		}
		switch c.result.Status {
		case wire.StatusDenied:
			s.denied = true
		case wire.StatusOK:
			s.denied = false
		}
		s.messages = append(s.messages, model.Message{
			Role: "tool", CallID: c.ID, Tool: c.Tool, Status: c.result.Status, Content: c.result.Output.Text(),
		})
	}
	s.open = nil
}
