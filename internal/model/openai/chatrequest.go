package openai

import (
	"encoding/json"
	"strings"

	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/internal/model/provider"
	"github.com/kxtools/kx/pkg/wire"
)

type chatRequest struct {
	Model         string `json:"model"`
	Stream        bool   `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	MaxTokens           int        `json:"max_tokens,omitempty"`
	MaxCompletionTokens int        `json:"max_completion_tokens,omitempty"`
	Effort              string     `json:"reasoning_effort,omitempty"`
	Tools               []chatTool `json:"tools,omitempty"`
	Messages            []any      `json:"messages"`
}

type chatTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// chatMessage is a message. Content is a text, or a list of parts, which only those
// servers understand that know images.
type chatMessage struct {
	Role    string     `json:"role"`
	Content any        `json:"content,omitempty"`
	Calls   []chatCall `json:"tool_calls,omitempty"`
	For     string     `json:"tool_call_id,omitempty"`
}

type chatPart struct {
	Type  string     `json:"type"`
	Text  string     `json:"text,omitempty"`
	Image *chatImage `json:"image_url,omitempty"`
}

type chatImage struct {
	URL string `json:"url"`
}

type chatCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// body writes a request.
func (c *Chat) body(r *model.Request) ([]byte, error) {
	q := chatRequest{Model: c.line.Model, Stream: true, Effort: c.line.Effort, Messages: c.messages(r)}
	q.StreamOptions.IncludeUsage = true
	if n := c.line.MaxOutput; own(c.line.Host) {
		q.MaxCompletionTokens = n // OpenAI's own refuses the old name, others don't know the new one
	} else {
		q.MaxTokens = n
	}
	for _, t := range r.Tools {
		one := chatTool{Type: "function"}
		one.Function.Name, one.Function.Description, one.Function.Parameters = t.Name, t.Description, t.InputSchema
		q.Tools = append(q.Tools, one)
	}
	return wire.Marshal(q)
}

// own reports whether the host is OpenAI's.
func own(host string) bool { return host == "api.openai.com" || strings.HasSuffix(host, ".openai.com") }

// messages writes the conversation. Neighbours of a user become one: the templates of
// many models want the roles to alternate.
func (c *Chat) messages(r *model.Request) []any {
	out := []any{}
	if r.System != "" {
		out = append(out, chatMessage{Role: "system", Content: r.System})
	}
	var said []model.Message // by the user, not yet written
	flush := func() {
		if len(said) > 0 {
			out = append(out, chatMessage{Role: "user", Content: userContent(said)})
			said = nil
		}
	}
	for _, m := range provider.Arrange(r.Messages) {
		if m.Role != "assistant" && m.Role != "tool" {
			said = append(said, m)
			continue
		}
		flush()
		switch {
		case m.Role == "tool":
			out = append(out, chatMessage{Role: "tool", Content: result(m), For: m.CallID})
		case c.line.Speaks(ChatDialect, m.Native):
			if raw := replayChat(m); raw != nil {
				out = append(out, raw)
				continue
			}
			fallthrough
		default:
			out = append(out, assistantChat(m)...)
		}
	}
	flush()
	return out
}

// userContent is a text, unless there are images.
func userContent(said []model.Message) any {
	var texts []string
	var parts []chatPart
	images := false
	for _, m := range said {
		for _, i := range m.Images {
			images = true
			parts = append(parts, chatPart{Type: "image_url", Image: &chatImage{dataURL(i)}})
		}
		if m.Content != "" {
			texts = append(texts, m.Content)
			parts = append(parts, chatPart{Type: "text", Text: m.Content})
		}
	}
	if images {
		return parts
	}
	return strings.Join(texts, "\n\n")
}

// assistantChat writes what a model said, in no words but ours.
func assistantChat(m model.Message) []any {
	one := chatMessage{Role: "assistant"}
	if m.Content != "" {
		one.Content = m.Content
	}
	for _, call := range m.Calls {
		one.Calls = append(one.Calls, chatCall{call.ID, "function", chatFunction{call.Tool, string(call.Input)}})
	}
	if one.Content == nil && one.Calls == nil {
		return nil
	}
	return []any{one}
}

// replayChat gives a message back word for word, but for its ids, which are those of the
// conversation. If its calls are not, there is nothing to give back.
func replayChat(m model.Message) json.RawMessage {
	var one provider.Object
	if json.Unmarshal(m.Native.Content, &one) != nil || one == nil {
		return nil
	}
	var calls []provider.Object
	if raw, ok := one["tool_calls"]; ok && json.Unmarshal(raw, &calls) != nil {
		return nil
	}
	if len(calls) != len(m.Calls) {
		return nil
	}
	for i, call := range calls {
		call["id"] = provider.String(m.Calls[i].ID)
	}
	var err error
	if len(calls) > 0 {
		if one["tool_calls"], err = wire.Marshal(calls); err != nil {
			return nil
		}
	}
	raw, err := wire.Marshal(one)
	if err != nil {
		return nil
	}
	return raw
}
