package agent

import (
	"encoding/json"

	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/pkg/wire"
)

// The names of the events of a run.
const (
	evTurnStart  = "turn_start"
	evText       = "text"
	evModelCall  = "model_call"
	evToolCall   = "tool_call"
	evToolResult = "tool_result" // its data is a wire.Result
	evApproval   = "approval"
	evTurnEnd    = "turn_end"
	evParked     = "parked"
	evError      = "error" // its data is a wire.Error
	evDone       = "done"
)

// The data of the events, as the package comment describes it.
type (
	turnStart struct {
		Turn   int    `json:"turn"`
		Prompt string `json:"prompt,omitempty"`
	}
	textEvent struct {
		Text string `json:"text"`
	}
	modelCall struct {
		Turn      int          `json:"turn"`
		Say       string       `json:"say,omitempty"`
		Calls     []model.Call `json:"calls,omitempty"`
		Stop      bool         `json:"stop,omitempty"`
		Error     *wire.Error  `json:"error,omitempty"`
		RetryInMS int64        `json:"retry_in_ms,omitempty"`
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
	turnEnd struct {
		Turn int `json:"turn"`
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
