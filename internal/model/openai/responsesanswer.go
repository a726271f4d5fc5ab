package openai

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/internal/model/provider"
	"github.com/kxtools/kx/pkg/wire"
)

// event is what is read of an event; which fields there are depends on its type.
type event struct {
	Type     provider.Text   `json:"type"`
	Index    provider.Number `json:"output_index"`
	Delta    provider.Text   `json:"delta"`
	ItemID   provider.Text   `json:"item_id"`
	Item     provider.Object `json:"item"`
	Response struct {
		Output     []provider.Object `json:"output"`
		Incomplete struct {
			Reason provider.Text `json:"reason"`
		} `json:"incomplete_details"`
		Usage *responsesUsage `json:"usage"`
	} `json:"response"`
}

type responsesUsage struct {
	Input        provider.Number `json:"input_tokens"`
	Output       provider.Number `json:"output_tokens"`
	InputDetails struct {
		Cached provider.Number `json:"cached_tokens"`
		Write  provider.Number `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutputDetails struct {
		Reasoning provider.Number `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

func (u *responsesUsage) tokens() *model.Usage {
	if u == nil || *u == (responsesUsage{}) {
		return nil
	}
	t := &model.Usage{
		CacheRead: int64(u.InputDetails.Cached), CacheWrite: int64(u.InputDetails.Write),
		Output: int64(u.Output), Reasoning: int64(u.OutputDetails.Reasoning),
	}
	t.Input = max(int64(u.Input)-t.CacheRead-t.CacheWrite, 0)
	return t
}

// responsesEnds are the reasons to be incomplete. Of another one it is not known what
// was left out.
var responsesEnds = map[provider.Text]model.End{
	"max_output_tokens": model.EndLength, "max_tokens": model.EndLength,
	"content_filter": model.EndRefusal,
}

// responsesAnswer is an answer as far as it has come.
type responsesAnswer struct {
	e     *provider.Events
	say   provider.Say
	said  strings.Builder
	from  provider.Number         // the item whose text was said last
	args  map[provider.Text]int   // by item: bytes of arguments
	items map[int]provider.Object // that are done, by place
}

// read makes a turn of the events. Only response.completed, and response.incomplete,
// which is cut but whole, end an answer; both have all of it once more.
func (c *Responses) read(e *provider.Events, say provider.Say) (*model.Turn, error) {
	a := &responsesAnswer{e: e, say: say, args: map[provider.Text]int{}, items: map[int]provider.Object{}}
	for {
		ev, err := e.Next()
		if err != nil {
			return nil, err
		}
		if ev.Done {
			continue
		}
		var v event
		if err := json.Unmarshal(ev.Data, &v); err != nil {
			return nil, e.Broken("an event is no JSON: %s", ev.Data)
		}
		switch v.Type {
		case "response.completed", "response.incomplete":
			if err := e.Keep(len(ev.Data)); err != nil {
				return nil, err
			}
			return a.turn(c.line, v)
		case "response.failed", "error":
			return nil, e.Complaint(ev.Data)
		}
		if ev.Name == "error" || v.Type == "" || e.Single() {
			return nil, a.odd(ev.Data)
		}
		if err := a.take(v); err != nil {
			return nil, err
		}
	}
}

// odd is what comes in the place of an event: an error, or something else.
func (a *responsesAnswer) odd(data []byte) error {
	var v struct {
		Error  json.RawMessage `json:"error"`
		Object provider.Text   `json:"object"`
	}
	if json.Unmarshal(data, &v) == nil && v.Object != "error" && (len(v.Error) == 0 || string(v.Error) == "null") {
		return a.e.Broken("it is no stream of Responses: %s", data)
	}
	return a.e.Complaint(data)
}

// take takes in an event. What it does not know, it leaves.
func (a *responsesAnswer) take(v event) error {
	switch v.Type {
	case "response.output_text.delta", "response.refusal.delta":
		piece := string(v.Delta)
		if a.said.Len() > 0 && v.Index != a.from {
			piece = "\n\n" + piece
		}
		a.from = v.Index
		a.said.WriteString(piece)
		if err := a.e.Keep(len(piece)); err != nil {
			return err
		}
		return a.say(piece)
	case "response.function_call_arguments.delta":
		a.args[v.ItemID] += len(v.Delta)
		return a.e.Argument(a.args[v.ItemID])
	case "response.output_item.done":
		n := 0
		for _, raw := range v.Item {
			n += len(raw)
		}
		a.items[int(v.Index)] = v.Item
		return a.e.Keep(n)
	}
	return nil
}

// turn makes the turn of an answer that is whole. Some servers leave the output out of
// the last event: then it is what was done before.
func (a *responsesAnswer) turn(line *provider.Line, v event) (*model.Turn, error) {
	items := v.Response.Output
	if len(items) == 0 {
		for _, at := range slices.Sorted(maps.Keys(a.items)) {
			items = append(items, a.items[at])
		}
	}
	t := &model.Turn{Usage: v.Response.Usage.tokens()}
	if v.Type == "response.incomplete" {
		known := false
		if t.End, known = responsesEnds[v.Response.Incomplete.Reason]; !known {
			t.End, t.Word = model.EndLength, string(v.Response.Incomplete.Reason)
		}
	}
	var calls provider.Calls
	var texts []string
	answers := false // there is more than reasoning
	for _, it := range items {
		switch it.Text("type") {
		case "message":
			text, refused := said(it)
			if refused {
				t.End = model.EndRefusal
			}
			if strings.TrimSpace(text) != "" {
				texts = append(texts, text)
			}
			answers = true
		case "function_call":
			id := it.Text("call_id")
			if id == "" {
				id = it.Text("id")
			}
			if err := calls.Entire(a.e, id, it.Text("name"), provider.Arguments(it["arguments"])); err != nil {
				return nil, err
			}
			answers = true
		case "reasoning":
		default:
			answers = true
		}
	}
	if t.Say = strings.Join(texts, "\n\n"); t.Say == "" {
		t.Say = a.said.String()
	} else if a.said.Len() == 0 {
		if err := a.say(t.Say); err != nil {
			return nil, err
		}
	}
	if t.End == model.EndRefusal {
		return t, nil
	}
	var err error
	if t.Calls, err = calls.List(a.e, t.End == model.EndLength); err != nil {
		return nil, err
	}
	if answers {
		raw, err := wire.Marshal(items)
		if err != nil {
			return nil, err
		}
		t.Native = line.Native(ResponsesDialect, raw)
	}
	return t, nil
}

// said returns the text of a message, and whether the model declined.
func said(it provider.Object) (text string, refused bool) {
	var parts []provider.Object
	if json.Unmarshal(it["content"], &parts) != nil {
		return "", false
	}
	for _, p := range parts {
		switch p.Text("type") {
		case "output_text":
			text += p.Text("text")
		case "refusal":
			text, refused = text+p.Text("refusal"), true
		}
	}
	return text, refused
}
