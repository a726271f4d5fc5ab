// Package model is what a model is to the agent loop: something that reads the
// messages so far and answers with a turn. It knows nothing of policy, tools or
// sessions. Two models live here: a script of turns in a file, and any program
// that speaks JSON lines.
package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
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

// Call is a tool call that a model wants.
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
	Turn     int       `json:"turn"` // 0 for the first; a turn that failed counts
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

// Model answers requests, one at a time.
type Model interface {
	Turn(ctx context.Context, r *Request) (*Turn, error)
	Close() error
}

// line is a turn as it is written in a script, with what a script may add.
type line struct {
	Turn
	Expect  *expect `json:"expect,omitempty"`
	Fail    *fault  `json:"fail,omitempty"`
	DelayMS int     `json:"delay_ms,omitempty"`
}

// expect is what a result of the turn before must be.
type expect struct {
	Tool     string      `json:"tool"`
	Status   wire.Status `json:"status"`
	Contains string      `json:"contains"`
}

// fault is what goes wrong with a provider.
type fault struct {
	Status     int     `json:"status"`
	RetryAfter float64 `json:"retry_after"`
	Torn       bool    `json:"torn"`
}

// parseLine reads one turn. What it does not know is an error: a misspelt
// "expect" would never fail.
func parseLine(raw []byte) (*line, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	var l line
	if err := dec.Decode(&l); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something after the JSON")
	}
	for i, c := range l.Calls {
		if c.Tool == "" {
			return nil, fmt.Errorf("call %d names no tool", i+1)
		}
		in := bytes.TrimSpace(c.Input)
		if len(in) == 0 {
			l.Calls[i].Input = json.RawMessage("{}")
		} else if in[0] != '{' {
			return nil, fmt.Errorf("the input of call %d is not an object", i+1)
		}
	}
	return &l, nil
}

// Script is a model that plays turns from a file.
type Script struct{ lines []*line }

// ParseScript reads a script: one JSON object a line, empty lines are skipped.
func ParseScript(data []byte, name string) (*Script, error) {
	s := &Script{}
	for i, raw := range bytes.Split(data, []byte("\n")) {
		if len(bytes.TrimSpace(raw)) == 0 {
			continue
		}
		l, err := parseLine(raw)
		if err != nil {
			return nil, fail.Usage("%s:%d: %v", name, i+1, err).WithHint("man kx-json")
		}
		s.lines = append(s.lines, l)
	}
	if len(s.lines) == 0 {
		return nil, fail.Usage("%s has no turns", name)
	}
	return s, nil
}

// Turn plays the line of that number. Behind the last line the script is silent,
// which ends the run.
func (s *Script) Turn(ctx context.Context, r *Request) (*Turn, error) {
	if r.Turn >= len(s.lines) {
		return &Turn{Stop: true}, nil
	}
	l := s.lines[r.Turn]
	if l.DelayMS > 0 {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Duration(l.DelayMS) * time.Millisecond):
		}
	}
	if l.Fail != nil {
		return nil, l.Fail.err()
	}
	if l.Expect != nil {
		if why := l.Expect.check(r.Messages); why != "" {
			return nil, fail.Failed("expect", "turn %d of the script: %s", r.Turn+1, why)
		}
	}
	return &l.Turn, nil
}

// Close does nothing.
func (s *Script) Close() error { return nil }

func (f *fault) err() error {
	switch {
	case f.Torn:
		return fail.Failed("model_torn", "the model's answer ended in the middle")
	case f.Status == 429:
		return fail.Unavailable("model_rate_limited", "the model's provider has too many requests; it asks for %g s", f.RetryAfter)
	}
	return fail.Unavailable("model_failed", "the model's provider answered with status %d", f.Status)
}

// check looks for the result among those of the turn before, and says what it
// found instead.
func (e *expect) check(messages []Message) string {
	found := "no call of it"
	for i := len(messages) - 1; i >= 0 && messages[i].Role == "tool"; i-- {
		m := messages[i]
		if m.Tool != e.Tool {
			continue
		}
		if e.Status != "" && m.Status != e.Status {
			found = fmt.Sprintf("status %s: %s", m.Status, short(m.Content))
			continue
		}
		if !bytes.Contains([]byte(m.Content), []byte(e.Contains)) {
			found = fmt.Sprintf("%q", short(m.Content))
			continue
		}
		return ""
	}
	want := e.Tool
	if e.Status != "" {
		want += " " + string(e.Status)
	}
	if e.Contains != "" {
		want += fmt.Sprintf(" with %q", e.Contains)
	}
	return fmt.Sprintf("expected %s, found %s", want, found)
}

func short(s string) string {
	const most = 200
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
