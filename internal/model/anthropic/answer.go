package anthropic

import (
	"encoding/json"
	"strings"

	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/internal/model/provider"
	"github.com/kxtools/kx/pkg/wire"
)

// event is what is read of an event; which fields there are depends on its type.
type event struct {
	Type    provider.Text `json:"type"`
	Message struct {
		Usage usage `json:"usage"`
	} `json:"message"`
	Index *provider.Number `json:"index"`
	Block provider.Object  `json:"content_block"`
	Delta provider.Object  `json:"delta"`
	Usage usage            `json:"usage"`
}

type usage struct {
	Input      *provider.Number `json:"input_tokens"`
	CacheRead  *provider.Number `json:"cache_read_input_tokens"`
	CacheWrite *provider.Number `json:"cache_creation_input_tokens"`
	Output     *provider.Number `json:"output_tokens"`
	Details    struct {
		Thinking *provider.Number `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// answer is an answer as far as it has come.
type answer struct {
	e      *provider.Events
	say    provider.Say
	parts  []*part
	spoken bool
	usage  *model.Usage
	stop   string
}

// part is a block of the answer: what it began with, and what has come since.
type part struct {
	provider.Object
	index int
	grown map[string]*strings.Builder // by field
	cites []json.RawMessage
}

// ends are the reasons to stop.
var ends = map[string]model.End{
	"": model.EndNormal, "end_turn": model.EndNormal, "tool_use": model.EndNormal, "stop_sequence": model.EndNormal, "pause_turn": model.EndNormal,
	"max_tokens":                    model.EndLength,
	"model_context_window_exceeded": model.EndLength,
	"refusal":                       model.EndRefusal,
}

// grows says which field of a block a piece belongs to, and where in the piece it
// stands.
var grows = map[string]struct{ field, from string }{
	"text_delta":       {"text", "text"},
	"input_json_delta": {"input", "partial_json"},
	"thinking_delta":   {"thinking", "thinking"},
	"signature_delta":  {"signature", "signature"},
}

// read makes a turn of the events. Only message_stop ends an answer.
func (c *Client) read(e *provider.Events, say provider.Say) (*model.Turn, error) {
	a := &answer{e: e, say: say}
	for {
		ev, err := e.Next()
		if err != nil {
			return nil, err
		}
		var v event
		if err := json.Unmarshal(ev.Data, &v); err != nil && !ev.Done {
			return nil, e.Broken("an event is no JSON: %s", ev.Data)
		}
		switch {
		case v.Type == "message_stop":
			return a.turn(c.line)
		case v.Type == "error" || ev.Name == "error" || e.Single():
			return nil, a.complaint(ev.Data)
		}
		if err := a.take(v); err != nil {
			return nil, err
		}
	}
}

// complaint is an error in the place of an event, or of the whole stream.
func (a *answer) complaint(data []byte) error {
	var v struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(data, &v) == nil && len(v.Error) == 0 && a.e.Single() {
		return a.e.Broken("it is no stream: %s", data)
	}
	return a.e.Complaint(data)
}

// take takes in an event. What it does not know, it leaves.
func (a *answer) take(v event) error {
	switch v.Type {
	case "message_start":
		a.count(v.Message.Usage)
	case "content_block_start":
		return a.begin(v)
	case "content_block_delta":
		return a.grow(v)
	case "message_delta":
		if s := v.Delta.Text("stop_reason"); s != "" {
			a.stop = s
		}
		a.count(v.Usage)
	}
	return nil
}

// begin begins a block. The space between texts is ours: the model writes them as
// paragraphs.
func (a *answer) begin(v event) error {
	if v.Block == nil {
		v.Block = provider.Object{}
	}
	p := &part{Object: v.Block, index: len(a.parts), grown: map[string]*strings.Builder{}}
	if v.Index != nil {
		p.index = int(*v.Index)
	}
	a.parts = append(a.parts, p)
	n := 0
	for _, raw := range v.Block {
		n += len(raw)
	}
	if err := a.e.Keep(n); err != nil {
		return err
	}
	return a.speak(p, p.Text("text"))
}

// grow adds a piece to its block: the last with its index, or the last of all.
func (a *answer) grow(v event) error {
	kind := v.Delta.Text("type")
	to, known := grows[kind]
	if !known && kind != "citations_delta" || len(a.parts) == 0 {
		return nil
	}
	p := a.parts[len(a.parts)-1]
	for _, other := range a.parts {
		if v.Index != nil && other.index == int(*v.Index) {
			p = other
		}
	}
	if kind == "citations_delta" {
		p.cites = append(p.cites, v.Delta["citation"])
		return a.e.Keep(len(v.Delta["citation"]))
	}
	piece := v.Delta.Text(to.from)
	b := p.grown[to.field]
	if b == nil {
		b = &strings.Builder{}
		p.grown[to.field] = b
	}
	b.WriteString(piece)
	if err := a.e.Keep(len(piece)); err != nil {
		return err
	}
	if to.field == "input" {
		return a.e.Argument(b.Len())
	}
	if to.field == "text" {
		return a.speak(p, piece)
	}
	return nil
}

// speak shows a piece of a text.
func (a *answer) speak(p *part, piece string) error {
	if piece == "" || p.Text("type") != "text" {
		return nil
	}
	if a.spoken && p.whole("text") == piece {
		piece = "\n\n" + piece
	}
	a.spoken = true
	return a.say(piece)
}

// whole returns a field with all that was added to it.
func (p *part) whole(field string) string {
	if b := p.grown[field]; b != nil {
		return p.Text(field) + b.String()
	}
	return p.Text(field)
}

func (a *answer) count(u usage) {
	if a.usage == nil {
		a.usage = &model.Usage{}
	}
	for _, f := range []struct {
		to   *int64
		from *provider.Number
	}{
		{&a.usage.Input, u.Input}, {&a.usage.CacheRead, u.CacheRead}, {&a.usage.CacheWrite, u.CacheWrite},
		{&a.usage.Output, u.Output}, {&a.usage.Reasoning, u.Details.Thinking},
	} {
		if f.from != nil && *f.from > 0 { // a later event has the whole again
			*f.to = int64(*f.from)
		}
	}
}

// turn makes the turn of an answer that is whole.
func (a *answer) turn(line *provider.Line) (*model.Turn, error) {
	t := &model.Turn{End: ends[a.stop]}
	if _, known := ends[a.stop]; !known {
		t.Word = a.stop
	}
	if a.usage != nil && *a.usage != (model.Usage{}) {
		t.Usage = a.usage
	}
	var calls provider.Calls
	var native []provider.Object
	var texts []string
	answers := false // there is more than thinking
	for _, p := range a.parts {
		switch p.Text("type") {
		case "text":
			text := p.whole("text")
			if strings.TrimSpace(text) == "" {
				continue // the API does not take it back
			}
			texts = append(texts, text)
			answers = true
		case "tool_use":
			if err := calls.Entire(a.e, p.Text("id"), p.Text("name"), p.arguments()); err != nil {
				return nil, err
			}
			answers = true
		case "thinking":
			if p.whole("signature") == "" {
				continue // it was cut; it would not be taken back
			}
		case "redacted_thinking":
		default:
			answers = true
		}
		native = append(native, p.object())
	}
	var err error
	if t.Calls, err = calls.List(a.e, t.End == model.EndLength); err != nil {
		return nil, err
	}
	t.Say = strings.Join(texts, "\n\n")
	switch {
	case t.End == model.EndRefusal:
		t.Calls = nil
		return t, nil
	case t.Word != "" && !answers:
		return nil, a.e.Broken("it ends with %q and says nothing", t.Word)
	case answers:
		raw, err := wire.Marshal(native)
		if err != nil {
			return nil, err
		}
		t.Native = line.Native(Dialect, raw)
	}
	return t, nil
}

// arguments returns those of a call: what was streamed, or what it began with. Every
// call begins with an empty object, which says nothing yet.
func (p *part) arguments() string {
	if b := p.grown["input"]; b != nil && b.Len() > 0 {
		return b.String()
	}
	if began := provider.Arguments(p.Object["input"]); began != "{}" {
		return began
	}
	return ""
}

// object returns the block as it goes back. Arguments that are no object can't.
func (p *part) object() provider.Object {
	o := p.Object
	for field := range p.grown {
		if field != "input" {
			o[field] = provider.String(p.whole(field))
		}
	}
	if _, ok := o["input"]; ok || p.grown["input"] != nil {
		o["input"], _ = provider.Input([]byte(p.arguments()))
	}
	if len(p.cites) > 0 {
		o["citations"], _ = wire.Marshal(p.cites)
	}
	return o
}
