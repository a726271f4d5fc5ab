package modeltest

import (
	"encoding/json"

	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/pkg/wire"
)

// Tools are two tools.
func Tools() []model.Tool {
	return []model.Tool{
		{Name: "read_file", Description: "Reads a file.", InputSchema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`)},
		{Name: "bash", Description: "Runs a command.", InputSchema: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`)},
	}
}

// Question is the first request of a run.
func Question() model.Request {
	return model.Request{Type: "model_request", V: wire.Version, System: "You are kx.", Tools: Tools(), Messages: []model.Message{{Role: "user", Content: "What is in a.txt & b.txt?"}}}
}

// Talk is a conversation with all that a request may have to write, and much that no API
// would take: ids that were used before or have odd letters, a call without a result, a
// result without a call, words of a user between a call and its result, texts that are
// empty.
func Talk() model.Request {
	r := Question()
	r.Messages = append(r.Messages,
		model.Message{Role: "user", Content: "Look at the picture.", Images: []model.Image{{MediaType: "image/png", Data: []byte("\x89PNG")}}},
		model.Message{Role: "assistant", Content: "I'll look.", Calls: []model.Call{
			{ID: "call_1", Tool: "read_file", Input: json.RawMessage(`{"path":"a.txt"}`)},
			{ID: "odd id/ü", Tool: "bash", Input: json.RawMessage(`{"command":"cat b.txt"}`)},
		}},
		model.Message{Role: "user", Content: "Hurry."},
		model.Message{Role: "tool", CallID: "odd id/ü", Tool: "bash", Status: wire.StatusDenied, Content: "a person said no"},
		model.Message{Role: "tool", CallID: "call_1", Tool: "read_file", Status: wire.StatusOK, Content: "1\n"},
		model.Message{Role: "assistant", Content: " \n"},
		model.Message{Role: "user", Content: ""},
		model.Message{Role: "tool", CallID: "gone", Tool: "bash", Status: wire.StatusOK, Content: "from before"},
		model.Message{Role: "assistant", Calls: []model.Call{{ID: "call_1", Tool: "bash", Input: json.RawMessage(`{}`), Broken: "they are no JSON", Wrote: "{"}, {Tool: "bash"}}},
		model.Message{Role: "tool", CallID: "call_1", Tool: "bash", Status: wire.StatusError, Content: "  "},
		model.Message{Role: "assistant", Content: "One is gone."},
		model.Message{Role: "user", Content: "Go on.\xff"},
	)
	return r
}
