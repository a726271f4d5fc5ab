// Package model is what a model is to the agent loop: something that reads the
// messages so far and answers with a turn. It knows nothing of policy, tools or
// sessions. Two models live here: a script of turns in a file, and any program
// that speaks JSON lines. Those of providers stand in the packages below.
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
	Images  []Image     `json:"images,omitempty"`  // of a user
	Calls   []Call      `json:"calls,omitempty"`   // of an assistant
	Native  *Native     `json:"native,omitempty"`  // of an assistant
	CallID  string      `json:"call_id,omitempty"` // of a tool
	Tool    string      `json:"tool,omitempty"`    // of a tool
	Status  wire.Status `json:"status,omitempty"`  // of a tool
}

// Image is a picture that a model looks at.
type Image struct {
	MediaType string `json:"media_type"` // image/png, image/jpeg, image/gif or image/webp
	Data      []byte `json:"data"`
}

// Native is an assistant's message as its provider wrote it, with what only this
// provider can read: thinking and its signatures, encrypted reasoning. Who speaks the
// same dialect of the same model gets it back word for word; others never see it.
type Native struct {
	Dialect string          `json:"dialect"`
	Model   string          `json:"model"`
	Content json.RawMessage `json:"content"`
}

// Call is a tool call that a model wants. One without an id gets one.
type Call struct {
	ID    string          `json:"id,omitempty"`
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`

	// Broken is why Input is {} and not what the model wrote, which stands in
	// Wrote: no JSON, or no object. Such a call is answered, not run.
	Broken string `json:"broken,omitempty"`
	Wrote  string `json:"wrote,omitempty"`
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
	System   string    `json:"system,omitempty"`
	Messages []Message `json:"messages"`
	Tools    []Tool    `json:"tools"`

	// Said is told what the model says, piece by piece as it comes; nil if nobody
	// listens. It returns an error to stop. The turn has the whole.
	Said func(piece string) error `json:"-"`
	// Retry is told of a failure after which the provider is asked again, before
	// that; its Wait is how long that takes. It returns an error to stop.
	Retry func(*Failure) error `json:"-"`
}

// Turn is what a model answers: words, calls, or both. One without calls ends
// the run; Stop ends it after the calls.
type Turn struct {
	Say   string `json:"say,omitempty"`
	Calls []Call `json:"calls,omitempty"`
	Stop  bool   `json:"stop,omitempty"`

	End    End     `json:"end,omitempty"`
	Usage  *Usage  `json:"usage,omitempty"` // nil where the provider doesn't tell
	Native *Native `json:"-"`
	Word   string  `json:"-"` // the provider's own for why it ended, where End does not say it
	By     string  `json:"-"` // provider/model that answered, "" for a script or a program
}

// End is why a provider's answer ended where it did.
type End string

// The ends of an answer. Whatever else a provider says is an end like any other.
const (
	EndNormal  End = ""
	EndLength  End = "length"  // the answer was cut at the longest that is allowed
	EndRefusal End = "refusal" // the model, or a filter before it, declined
)

// Usage is what an answer took, in tokens. What is 0 was not told.
type Usage struct {
	Input      int64 `json:"input,omitempty"` // without what the cache had
	CacheRead  int64 `json:"cache_read,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
	Output     int64 `json:"output,omitempty"` // with reasoning
	Reasoning  int64 `json:"reasoning,omitempty"`
}

// CodeExpect is the code of a turn whose expectation does not hold. It is no fault
// of a provider: asked again, it says so again.
const CodeExpect = "expect"

// Model answers requests, one at a time.
type Model interface {
	Turn(ctx context.Context, r *Request) (*Turn, error)
	Close() error
}
