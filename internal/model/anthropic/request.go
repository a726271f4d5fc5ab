package anthropic

import (
	"encoding/json"

	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/internal/model/provider"
	"github.com/kxtools/kx/pkg/wire"
)

// defaultOutput is the longest answer if nobody says: the API wants a number, and all
// models that are sold take this one.
const defaultOutput = 32_000

type request struct {
	Model     string    `json:"model"`
	MaxTokens int       `json:"max_tokens"`
	Stream    bool      `json:"stream"`
	Thinking  *thinking `json:"thinking,omitempty"`
	Output    *output   `json:"output_config,omitempty"`
	Tools     []tool    `json:"tools,omitempty"`
	System    []block   `json:"system,omitempty"`
	Messages  []message `json:"messages"`
}

type thinking struct {
	Type   string `json:"type"`
	Budget int    `json:"budget_tokens"`
}

type output struct {
	Effort string `json:"effort"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
	Cache       *cache          `json:"cache_control,omitempty"`
}

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// block is a part of a message; Raw is one that goes back as it came.
type block struct {
	Raw json.RawMessage `json:"-"`

	Type    string          `json:"type"`
	Text    string          `json:"text,omitempty"`
	Source  *source         `json:"source,omitempty"`
	ID      string          `json:"id,omitempty"`
	Name    string          `json:"name,omitempty"`
	Input   json.RawMessage `json:"input,omitempty"`
	For     string          `json:"tool_use_id,omitempty"`
	Content string          `json:"content,omitempty"`
	IsError bool            `json:"is_error,omitempty"`
	Cache   *cache          `json:"cache_control,omitempty"`
}

// MarshalJSON writes the block, or what it was.
func (b block) MarshalJSON() ([]byte, error) {
	if b.Raw != nil {
		return b.Raw, nil
	}
	type plain block
	return wire.Marshal(plain(b))
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"` // base64, as JSON has it
}

type cache struct {
	Type string `json:"type"`
}

// body writes a request.
func (c *Client) body(r *model.Request) ([]byte, error) {
	q := request{Model: c.line.Model, MaxTokens: c.line.MaxOutput, Stream: true, Messages: c.messages(r.Messages)}
	if q.MaxTokens == 0 {
		q.MaxTokens = defaultOutput
	}
	if n := c.line.Thinking; n > 0 {
		q.Thinking = &thinking{"enabled", n}
		if q.MaxTokens <= n { // thinking counts
			q.MaxTokens += n
		}
	}
	if c.line.Effort != "" {
		q.Output = &output{c.line.Effort}
	}
	for _, t := range r.Tools {
		q.Tools = append(q.Tools, tool{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema})
	}
	if r.System != "" {
		q.System = []block{{Type: "text", Text: r.System}}
	}
	q.mark()
	return wire.Marshal(q)
}

// mark says up to where the provider should remember the request: all tools, which stay;
// the system text, which may change from turn to turn; the end of this request, for the
// next turn; and the end of the one before it, because the provider looks back over no
// more than 20 blocks for what it remembers. Those are the four that it takes.
func (q *request) mark() {
	here := &cache{"ephemeral"}
	if n := len(q.Tools); n > 0 {
		q.Tools[n-1].Cache = here
	}
	if n := len(q.System); n > 0 {
		q.System[n-1].Cache = here
	}
	left := 2
	for i := len(q.Messages) - 1; i >= 0 && left > 0; i-- {
		if m := q.Messages[i]; m.Role == "user" {
			m.Content[len(m.Content)-1].Cache = here
			left--
		}
	}
}

// messages writes the conversation. Neighbours with one role become one: the API would
// do so, compatible servers refuse them.
func (c *Client) messages(in []model.Message) []message {
	out := []message{}
	for _, m := range provider.Arrange(in) {
		role, content := "user", []block(nil)
		switch m.Role {
		case "assistant":
			role, content = "assistant", c.assistant(m)
		case "tool":
			content = []block{{Type: "tool_result", For: m.CallID, Content: m.Content, IsError: m.Status != wire.StatusOK}}
		default:
			for _, image := range m.Images {
				content = append(content, block{Type: "image", Source: &source{"base64", image.MediaType, image.Data}})
			}
			if m.Content != "" {
				content = append(content, block{Type: "text", Text: m.Content})
			}
		}
		switch n := len(out); {
		case len(content) == 0:
		case n > 0 && out[n-1].Role == role:
			out[n-1].Content = append(out[n-1].Content, content...)
		default:
			out = append(out, message{role, content})
		}
	}
	return out
}

// assistant writes what the model said: in its own words where it is the same model.
func (c *Client) assistant(m model.Message) []block {
	if c.line.Speaks(Dialect, m.Native) {
		if blocks := replay(m); blocks != nil {
			return blocks
		}
	}
	var blocks []block
	if m.Content != "" {
		blocks = append(blocks, block{Type: "text", Text: m.Content})
	}
	for _, call := range m.Calls {
		blocks = append(blocks, block{Type: "tool_use", ID: call.ID, Name: call.Tool, Input: call.Input})
	}
	return blocks
}

// replay gives a message back word for word, but for ids that the API would not take. If
// its calls are not those of the conversation, there is nothing to give back.
func replay(m model.Message) []block {
	var parts []provider.Object
	if json.Unmarshal(m.Native.Content, &parts) != nil {
		return nil
	}
	var blocks []block
	calls := m.Calls
	for _, p := range parts {
		if p.Text("type") == "tool_use" {
			if len(calls) == 0 || calls[0].Tool != p.Text("name") {
				return nil
			}
			if calls[0].ID != p.Text("id") {
				p["id"] = provider.String(calls[0].ID)
			}
			calls = calls[1:]
		}
		raw, err := wire.Marshal(p)
		if err != nil {
			return nil
		}
		blocks = append(blocks, block{Raw: raw})
	}
	if len(calls) > 0 {
		return nil
	}
	return blocks
}
