// Package model is what a model is to the agent loop: something that reads the
// messages so far and answers with a turn. It knows nothing of policy, tools or
// sessions. Two models live here: a script of turns in a file, and any program
// that speaks JSON lines.
package model

import (
	"context"
	"encoding/json"

	"github.com/kxtools/kx/pkg/wire"
)

// Message is one message of a conversation.
type Message struct {
	Role    string      `json:"role"` // user, assistant or tool
	Content string      `json:"content"`
	Calls   []Call      `json:"calls,omitempty"`   // of an assistant
	CallID  string      `json:"call_id,omitempty"` // of a tool
	Tool    string      `json:"tool,omitempty"`    // of a tool
	Status  wire.Status `json:"status,omitempty"`  // of a tool
}

// Call is a tool call that a model wants. One without an id gets one.
type Call struct {
	ID    string          `json:"id,omitempty"`
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
}

// Tool is a tool as a model knows it.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// Request asks for a turn.
type Request struct {
	Type     string    `json:"type"` // model_request
	V        int       `json:"v"`
	Turn     int       `json:"turn"` // 0 for the first; a turn that the provider failed counts
	Messages []Message `json:"messages"`
	Tools    []Tool    `json:"tools"`
}

// Turn is what a model answers: words, calls, or both. One without calls ends
// the run; Stop ends it after the calls.
type Turn struct {
	Say   string `json:"say,omitempty"`
	Calls []Call `json:"calls,omitempty"`
	Stop  bool   `json:"stop,omitempty"`
}

// CodeExpect is the code of a turn whose expectation does not hold. It is no fault
// of a provider: asked again, it says so again.
const CodeExpect = "expect"

// Model answers requests, one at a time.
type Model interface {
	Turn(ctx context.Context, r *Request) (*Turn, error)
	Close() error
}
