package agent

import (
	"iter"

	"github.com/kxtools/kx/internal/agent/prompt"
	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/internal/model/tokens"
	"github.com/kxtools/kx/pkg/wire"
)

// Part is one thing that the next request of a session has in it.
type Part struct {
	Source   string `json:"source"`
	Kind     string `json:"kind"`
	Messages int    `json:"messages,omitempty"`
	Bytes    int    `json:"bytes"`
	Tokens   int    `json:"tokens"`
	Lost     string `json:"lost,omitempty"`
}

// The kinds of parts, beside those of prompt.
const (
	kindPrompt  = "prompt"
	kindAnswers = "answers"
	kindResults = "results"
)

// Context is what the next request of a session has in it: what the model was told
// for its last turn, and the conversation.
type Context struct {
	Type    string `json:"type"`
	V       int    `json:"v"`
	Session string `json:"session"`
	Turn    int    `json:"turn"`   // the last that began
	Tokens  int    `json:"tokens"` // estimated
	// Reported is how many tokens the provider counted in its last request.
	Reported int64 `json:"reported,omitempty"`
	// Factor is what a plain estimate is multiplied by, so that it fits what the
	// provider counted so far.
	Factor float64 `json:"factor,omitempty"`
	Window int     `json:"window,omitempty"` // of the model
	Parts  []Part  `json:"sources"`
}

// learn is how much the newest count of a provider says of its next one. Each of them
// is exact, but what it is compared with is not the same twice.
const learn = 0.5

// Measure tells what a session's next request has in it.
func Measure(session string, events iter.Seq2[wire.Event, error]) (*Context, error) {
	m := &measure{s: newConversation(), c: Context{Type: "context", V: wire.Version, Session: session}, at: map[string]int{}}
	for e, err := range events {
		if err == nil {
			err = m.event(e)
		}
		if err != nil {
			return nil, m.s.damaged(session, err)
		}
	}
	c := &m.c
	c.Parts = append(m.told(), m.talk...)
	sum := 0
	for i := range c.Parts {
		p := &c.Parts[i]
		if c.Factor > 0 {
			p.Tokens = int(float64(p.Tokens)*c.Factor + 0.5)
		}
		sum += p.Tokens
	}
	c.Tokens = sum
	return c, nil
}

type measure struct {
	s        *conversation
	c        Context
	every    []prompt.Source // what is told afresh with each turn, as of the last one
	attached []prompt.Source
	talk     []Part
	at       map[string]int // where a part stands in talk
	counted  int            // messages
}

func (m *measure) event(e wire.Event) error {
	if e.Event == evModelCall {
		if err := read(e.Data, m.calibrate); err != nil {
			return err
		}
	}
	if err := m.s.apply(e.Event, e.Data); err != nil {
		return err
	}
	if e.Event == evTurnStart {
		if err := read(e.Data, m.begin); err != nil {
			return err
		}
	}
	for ; m.counted < len(m.s.messages); m.counted++ {
		m.message(&m.s.messages[m.counted])
	}
	return nil
}

func (m *measure) begin(d *turnStart) {
	m.c.Turn, m.c.Window, m.every = d.Turn, d.Window, nil
	for _, s := range d.Context {
		if s.Kind == prompt.KindAttached {
			m.attached = append(m.attached, s)
		} else {
			m.every = append(m.every, s)
		}
	}
	if m.counted < len(m.s.messages) { // what is attached to it is counted by itself
		m.add(kindPrompt, kindPrompt, d.Prompt)
		m.counted++
	}
}

func (m *measure) message(msg *model.Message) {
	switch msg.Role {
	case "user":
		m.add("kx", kindPrompt, msg.Content)
	case "tool":
		m.add(msg.Tool, kindResults, msg.Content)
	case "assistant":
		if msg.Native != nil {
			m.add("model", kindAnswers, string(msg.Native.Content))
			return
		}
		text := msg.Content
		for _, c := range msg.Calls {
			text += c.Tool + string(c.Input)
		}
		m.add("model", kindAnswers, text)
	}
}

func (m *measure) add(source, kind, text string) {
	key := kind + " " + source
	i, ok := m.at[key]
	if !ok {
		i = len(m.talk)
		m.at[key] = i
		m.talk = append(m.talk, Part{Source: source, Kind: kind})
	}
	p := &m.talk[i]
	p.Messages++
	p.Bytes += len(text)
	p.Tokens += tokens.Of(text)
}

// told are the sources that are no part of the conversation.
func (m *measure) told() []Part {
	list := []Part{}
	for _, s := range append(m.every, m.attached...) {
		list = append(list, Part{Source: s.Source, Kind: s.Kind, Bytes: s.Bytes, Tokens: s.Tokens, Lost: s.Lost})
	}
	return list
}

// calibrate compares what a provider counted with what would have been estimated.
func (m *measure) calibrate(d *modelCall) {
	if d.Usage == nil {
		return
	}
	reported := d.Usage.Input + d.Usage.CacheRead + d.Usage.CacheWrite
	estimate := 0
	for _, p := range append(m.told(), m.talk...) {
		estimate += p.Tokens
	}
	if reported <= 0 || estimate == 0 {
		return
	}
	m.c.Reported = reported
	ratio := float64(reported) / float64(estimate)
	if m.c.Factor == 0 {
		m.c.Factor = ratio
	}
	m.c.Factor += learn * (ratio - m.c.Factor)
}
