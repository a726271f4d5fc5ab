package agent

import (
	"encoding/json"

	"github.com/kxtools/kx/internal/agent/prompt"
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
		Turn     int             `json:"turn"`
		Prompt   string          `json:"prompt,omitempty"`
		Attached string          `json:"attached,omitempty"`
		Images   []model.Image   `json:"images,omitempty"`
		Context  []prompt.Source `json:"context,omitempty"`
		Window   int             `json:"window,omitempty"`
	}
	textEvent struct {
		Text string `json:"text"`
		More bool   `json:"more,omitempty"`
	}
	modelCall struct {
		Turn       int          `json:"turn"`
		Say        string       `json:"say,omitempty"`
		Calls      []model.Call `json:"calls,omitempty"`
		Stop       bool         `json:"stop,omitempty"`
		End        model.End    `json:"end,omitempty"`
		By         string       `json:"by,omitempty"`
		Usage      *model.Usage `json:"usage,omitempty"`
		CostUSD    float64      `json:"cost_usd,omitempty"`
		DurationMS int64        `json:"duration_ms,omitempty"`
		Native     *native      `json:"native,omitempty"`
		Error      *wire.Error  `json:"error,omitempty"`
		RetryInMS  *int64       `json:"retry_in_ms,omitempty"` // 0 for at once, of somebody else
	}
	// native is a model.Native whose content is kept as text: it goes back to its
	// provider word for word, and what is long lies in one blob.
	native struct {
		Dialect string `json:"dialect"`
		Model   string `json:"model"`
		Content string `json:"content"`
	}
	toolCall struct {
		ID    string          `json:"id"`
		Tool  string          `json:"tool"`
		Input json.RawMessage `json:"input"`
	}
	// callRef is what a fold needs of a toolCall, whose input may be long.
	callRef struct {
		ID string `json:"id"`
	}
	// resultRef is what a fold needs of a result: the decision is most of it.
	resultRef struct {
		ID     string      `json:"id"`
		Tool   string      `json:"tool"`
		Status wire.Status `json:"status"`
		Output struct {
			Text any `json:"text"`
		} `json:"output"`
		Error *wire.Error `json:"error"`
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

func (d *resultRef) whole() *wire.Result {
	return &wire.Result{ID: d.ID, Tool: d.Tool, Status: d.Status, Output: wire.Output{"text": d.Output.Text}, Error: d.Error}
}

// keep returns n for the log.
func keep(n *model.Native) *native {
	if n == nil {
		return nil
	}
	return &native{n.Dialect, n.Model, string(n.Content)}
}

// native returns what the provider wrote, nil if that can't be JSON.
func (d *modelCall) native() *model.Native {
	n := d.Native
	if n == nil || !json.Valid([]byte(n.Content)) {
		return nil
	}
	return &model.Native{Dialect: n.Dialect, Model: n.Model, Content: json.RawMessage(n.Content)}
}
