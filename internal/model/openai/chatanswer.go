package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/internal/model/provider"
	"github.com/kxtools/kx/pkg/wire"
)

// chunk is a piece of an answer. Message stands where a server does not stream.
type chunk struct {
	Error   json.RawMessage `json:"error"`
	Choices []struct {
		Index   provider.Number `json:"index"`
		Delta   provider.Object `json:"delta"`
		Message provider.Object `json:"message"`
		Reason  provider.Text   `json:"finish_reason"`
	} `json:"choices"`
	Usage *chatUsage `json:"usage"`
}

type chatUsage struct {
	Prompt        provider.Number `json:"prompt_tokens"`
	Completion    provider.Number `json:"completion_tokens"`
	Total         provider.Number `json:"total_tokens"`
	Hit           provider.Number `json:"prompt_cache_hit_tokens"` // DeepSeek
	PromptDetails struct {
		Cached provider.Number `json:"cached_tokens"`
		Write  provider.Number `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning provider.Number `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// tokens counts as kx does. The total shows where a server leaves reasoning out of what
// it calls completion.
func (u *chatUsage) tokens() *model.Usage {
	t := model.Usage{
		CacheRead: int64(max(u.PromptDetails.Cached, u.Hit)), CacheWrite: int64(u.PromptDetails.Write),
		Output: int64(max(u.Completion, u.Total-u.Prompt)), Reasoning: int64(u.CompletionDetails.Reasoning),
	}
	t.Input = max(int64(u.Prompt)-t.CacheRead-t.CacheWrite, 0)
	if t == (model.Usage{}) {
		return nil
	}
	return &t
}

// chatEnds are the reasons to finish.
var chatEnds = map[string]model.End{
	"": model.EndNormal, "stop": model.EndNormal, "tool_calls": model.EndNormal, "eos": model.EndNormal,
	"length": model.EndLength, "max_tokens": model.EndLength, "model_length": model.EndLength,
	"content_filter": model.EndRefusal, "refusal": model.EndRefusal, "safety": model.EndRefusal,
}

// thoughts are the fields of a message in which servers stream reasoning.
var thoughts = []string{"reasoning_content", "reasoning"}

// chatAnswer is an answer as far as it has come.
type chatAnswer struct {
	e        *provider.Events
	say      provider.Say
	text     strings.Builder
	refusal  strings.Builder
	calls    provider.Calls
	extra    []provider.Object           // of each call: what is none of the usual fields
	thoughts map[string]*strings.Builder // by field
	details  []provider.Object           // of reasoning, as OpenRouter has it
	content  json.RawMessage             // extra_content of the message
	reason   string
	usage    *model.Usage
}

// read makes a turn of the events. An answer has ended when there was a reason for it;
// what comes until [DONE], or the end of the stream, still counts.
func (c *Chat) read(e *provider.Events, say provider.Say) (*model.Turn, error) {
	a := &chatAnswer{e: e, say: say, thoughts: map[string]*strings.Builder{}}
	for {
		ev, err := e.Next()
		switch {
		case err != nil && a.reason != "" && provider.Ended(err), ev.Done && a.reason != "":
			return a.turn(c.line)
		case err != nil:
			return nil, err
		case ev.Done:
			if len(a.text.String()) == 0 && len(a.extra) == 0 {
				return nil, e.Broken("it ends before it began")
			}
			return a.turn(c.line)
		}
		var v chunk
		if err := json.Unmarshal(ev.Data, &v); err != nil {
			return nil, e.Broken("an event is no JSON: %s", ev.Data)
		}
		if ev.Name == "error" || len(v.Error) > 0 && string(v.Error) != "null" {
			return nil, e.Complaint(ev.Data)
		}
		if e.Single() && len(v.Choices) == 0 {
			return nil, e.Complaint(ev.Data)
		}
		if err := a.take(&v); err != nil {
			return nil, err
		}
	}
}

func (a *chatAnswer) take(v *chunk) error {
	if v.Usage != nil {
		if u := v.Usage.tokens(); u != nil {
			a.usage = u
		}
	}
	for _, choice := range v.Choices {
		if choice.Index > 0 {
			continue // one was asked for
		}
		if choice.Delta == nil {
			choice.Delta = choice.Message
		}
		if err := a.delta(choice.Delta); err != nil {
			return err
		}
		if choice.Reason != "" {
			a.reason = strings.ToLower(string(choice.Reason))
			a.e.Rest()
		}
	}
	return nil
}

func (a *chatAnswer) delta(d provider.Object) error {
	for _, f := range []struct {
		to   *strings.Builder
		text string
	}{{&a.text, content(d["content"])}, {&a.refusal, d.Text("refusal")}} {
		f.to.WriteString(f.text)
		if err := a.e.Keep(len(f.text)); err != nil {
			return err
		}
		if err := a.say(f.text); err != nil {
			return err
		}
	}
	for _, name := range thoughts {
		if piece := d.Text(name); piece != "" {
			if a.thoughts[name] == nil {
				a.thoughts[name] = &strings.Builder{}
			}
			a.thoughts[name].WriteString(piece)
			if err := a.e.Keep(len(piece)); err != nil {
				return err
			}
		}
	}
	if raw := d["extra_content"]; len(raw) > 0 {
		a.content = raw
	}
	if err := a.detail(d["reasoning_details"]); err != nil {
		return err
	}
	return a.call(d["tool_calls"])
}

// content returns a text, or the texts of a list of parts.
func content(raw json.RawMessage) string {
	var t provider.Text
	if len(raw) == 0 {
		return ""
	}
	if raw[0] != '[' {
		t.UnmarshalJSON(raw)
		return string(t)
	}
	var parts []provider.Object
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	var text strings.Builder
	for _, p := range parts {
		text.WriteString(p.Text("text"))
	}
	return text.String()
}

// call takes in pieces of calls.
func (a *chatAnswer) call(raw json.RawMessage) error {
	if len(raw) == 0 || raw[0] != '[' {
		return nil
	}
	var list []provider.Object
	if json.Unmarshal(raw, &list) != nil {
		return a.e.Broken("its calls are no objects: %s", raw)
	}
	for i, one := range list {
		var f provider.Object
		if raw := one["function"]; len(raw) > 0 {
			f.UnmarshalJSON(raw)
		}
		n, err := a.calls.Add(a.e, provider.Fragment{
			ID: one.Text("id"), Index: one.Number("index"), Name: f.Text("name"), Args: provider.Arguments(f["arguments"]), Pos: i, Of: len(list),
		})
		if err != nil {
			return err
		}
		for len(a.extra) <= n {
			a.extra = append(a.extra, provider.Object{})
		}
		for name, raw := range one {
			if !slices.Contains([]string{"id", "index", "type", "function"}, name) && string(raw) != "null" {
				a.extra[n][name] = raw
				if err := a.e.Keep(len(raw)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// detail takes in pieces of reasoning: those of one index are one.
func (a *chatAnswer) detail(raw json.RawMessage) error {
	var list []provider.Object
	if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &list) != nil {
		return nil
	}
	if err := a.e.Keep(len(raw)); err != nil {
		return err
	}
	for _, d := range list {
		last := len(a.details) - 1
		if last < 0 || d.Number("index") < 0 || a.details[last].Number("index") != d.Number("index") || a.details[last].Text("type") != d.Text("type") {
			a.details = append(a.details, d)
			continue
		}
		for name, raw := range d {
			switch name {
			case "text", "summary", "data":
				raw = provider.String(a.details[last].Text(name) + d.Text(name))
			}
			if string(raw) != "null" {
				a.details[last][name] = raw
			}
		}
	}
	return nil
}

// turn makes the turn of an answer that is whole.
func (a *chatAnswer) turn(line *provider.Line) (*model.Turn, error) {
	t := &model.Turn{Say: a.text.String(), End: chatEnds[a.reason], Usage: a.usage}
	if _, known := chatEnds[a.reason]; !known {
		t.Word = a.reason
	}
	if a.reason == "error" {
		return nil, a.e.Broken("it ends with an error that has no name")
	}
	if a.refusal.Len() > 0 {
		t.Say, t.End = t.Say+a.refusal.String(), model.EndRefusal
	}
	if t.End == model.EndRefusal {
		return t, nil
	}
	var err error
	if t.Calls, err = a.calls.List(a.e, t.End == model.EndLength); err != nil {
		return nil, err
	}
	if t.Word != "" && t.Say == "" && len(t.Calls) == 0 {
		return nil, a.e.Broken("it ends with %q and says nothing", t.Word)
	}
	raw, err := a.native(t)
	if raw != nil {
		t.Native = line.Native(ChatDialect, raw)
	}
	return t, err
}

// native returns the message as it goes back, or nil if there is nothing in it that only
// its server knows. Reasoning goes back with calls, where DeepSeek, Kimi and GLM want it,
// and not without, where DeepSeek refuses it.
func (a *chatAnswer) native(t *model.Turn) (json.RawMessage, error) {
	m := provider.Object{}
	if len(t.Calls) > 0 {
		for name, text := range a.thoughts {
			m[name] = provider.String(text.String())
		}
	}
	if len(a.content) > 0 {
		m["extra_content"] = a.content
	}
	var err error
	if len(a.details) > 0 {
		if m["reasoning_details"], err = wire.Marshal(a.details); err != nil {
			return nil, err
		}
	}
	if len(m) == 0 && !slices.ContainsFunc(a.extra, func(o provider.Object) bool { return len(o) > 0 }) {
		return nil, nil
	}
	m["role"] = provider.String("assistant")
	if strings.TrimSpace(t.Say) != "" {
		m["content"] = provider.String(t.Say)
	}
	for i, call := range t.Calls {
		one := a.extra[i]
		one["id"], one["type"] = provider.String(call.ID), provider.String("function")
		if one["function"], err = wire.Marshal(chatFunction{call.Tool, string(call.Input)}); err != nil {
			return nil, err
		}
	}
	if len(t.Calls) > 0 {
		if m["tool_calls"], err = wire.Marshal(a.extra); err != nil {
			return nil, err
		}
	}
	return wire.Marshal(m)
}
