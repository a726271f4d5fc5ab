package openai

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/openai/openai-go/v3/option"
	sdk "github.com/openai/openai-go/v3/responses"

	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/internal/model/provider"
	"github.com/kxtools/kx/pkg/wire"
)

// ResponsesDialect is the name of Responses in messages that are given back word for
// word.
const ResponsesDialect = "openai-responses"

// encrypted asks for reasoning that can be given back: the provider keeps nothing.
const encrypted = "reasoning.encrypted_content"

// Responses is one model on one account, by way of Responses.
type Responses struct {
	line *provider.Line
	api  sdk.ResponseService
	// dull is set once the model has refused to be asked for its reasoning:
	// those that don't reason do.
	dull atomic.Bool
}

// NewResponses returns the client. Nothing is sent, and nothing can fail, before the
// first turn.
func NewResponses(o Options) *Responses {
	line := provider.NewLine(o, base)
	return &Responses{line: line, api: sdk.NewResponseService(options(line)...)}
}

// Turn asks for a turn.
func (c *Responses) Turn(ctx context.Context, r *model.Request) (*model.Turn, error) {
	t, err := c.ask(ctx, r)
	var f *model.Failure
	if errors.As(err, &f) && f.Status == http.StatusBadRequest && strings.Contains(strings.ToLower(f.Error()), "encrypted content is not supported") && !c.dull.Swap(true) {
		return c.ask(ctx, r)
	}
	return t, err
}

func (c *Responses) ask(ctx context.Context, r *model.Request) (*model.Turn, error) {
	body, err := c.body(r)
	if err != nil {
		return nil, err
	}
	return c.line.Ask(ctx, r, func(ctx context.Context, res **http.Response) error {
		_, err := c.api.New(ctx, sdk.ResponseNewParams{}, option.WithRequestBody("application/json", body), option.WithResponseBodyInto(res))
		return err
	}, c.read)
}

// Close ends what stays open between turns.
func (c *Responses) Close() error {
	c.line.Stop()
	return nil
}

type request struct {
	Model        string     `json:"model"`
	Stream       bool       `json:"stream"`
	Store        bool       `json:"store"`
	Include      []string   `json:"include,omitempty"`
	MaxOutput    int        `json:"max_output_tokens,omitempty"`
	Reasoning    *reasoning `json:"reasoning,omitempty"`
	Tools        []tool     `json:"tools,omitempty"`
	Instructions string     `json:"instructions,omitempty"`
	Input        []any      `json:"input"`
}

type reasoning struct {
	Effort string `json:"effort"`
}

// tool is a function. Strict would refuse the schemas of most tools.
type tool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

type item struct {
	Type      string `json:"type"`
	Role      string `json:"role,omitempty"`
	Content   []part `json:"content,omitempty"`
	CallID    string `json:"call_id,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	Output    string `json:"output,omitempty"`
}

type part struct {
	Type  string `json:"type"`
	Text  string `json:"text,omitempty"`
	Image string `json:"image_url,omitempty"`
}

// body writes a request. Nothing is stored at the provider: the session is here.
func (c *Responses) body(r *model.Request) ([]byte, error) {
	q := request{Model: c.line.Model, Stream: true, MaxOutput: c.line.MaxOutput, Instructions: r.System, Input: []any{}}
	if !c.dull.Load() {
		q.Include = []string{encrypted}
	}
	if c.line.Effort != "" {
		q.Reasoning = &reasoning{c.line.Effort}
	}
	for _, t := range r.Tools {
		q.Tools = append(q.Tools, tool{Type: "function", Name: t.Name, Description: t.Description, Parameters: t.InputSchema})
	}
	for _, m := range provider.Arrange(r.Messages) {
		switch m.Role {
		case "assistant":
			q.Input = append(q.Input, c.assistant(m)...)
		case "tool":
			q.Input = append(q.Input, item{Type: "function_call_output", CallID: m.CallID, Output: result(m)})
		default:
			one := item{Type: "message", Role: "user"}
			for _, i := range m.Images {
				one.Content = append(one.Content, part{Type: "input_image", Image: dataURL(i)})
			}
			if m.Content != "" {
				one.Content = append(one.Content, part{Type: "input_text", Text: m.Content})
			}
			q.Input = append(q.Input, one)
		}
	}
	return wire.Marshal(q)
}

// assistant writes what the model said: in its own words where it is the same model.
func (c *Responses) assistant(m model.Message) []any {
	if c.line.Speaks(ResponsesDialect, m.Native) {
		if items := replay(m); items != nil {
			return items
		}
	}
	var items []any
	if m.Content != "" {
		items = append(items, item{Type: "message", Role: "assistant", Content: []part{{Type: "output_text", Text: m.Content}}})
	}
	for _, call := range m.Calls {
		items = append(items, item{Type: "function_call", CallID: call.ID, Name: call.Tool, Arguments: string(call.Input)})
	}
	return items
}

// replay gives a message back word for word, but for the ids of its calls, which are
// those of the conversation. If its calls are not, there is nothing to give back. An item
// of reasoning that was not encrypted is one that the provider would look for and not
// find; without it the others lose their ids, by which they refer to it.
func replay(m model.Message) []any {
	var items []provider.Object
	if json.Unmarshal(m.Native.Content, &items) != nil {
		return nil
	}
	calls, bare := m.Calls, false
	var out []any
	for _, it := range items {
		switch it.Text("type") {
		case "reasoning":
			if it.Text("encrypted_content") == "" {
				bare = true
				continue
			}
		case "function_call":
			if len(calls) == 0 || calls[0].Tool != it.Text("name") {
				return nil
			}
			it["call_id"] = provider.String(calls[0].ID)
			it["arguments"] = provider.String(string(calls[0].Input))
			calls = calls[1:]
		}
		out = append(out, it)
	}
	if len(calls) > 0 {
		return nil
	}
	for _, it := range out {
		if bare {
			delete(it.(provider.Object), "id")
		}
	}
	return out
}
