package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/pkg/wire"
)

const (
	// maxDelay bounds delay_ms: longer is a slip of the pen.
	maxDelay = time.Hour
	// maxCallID bounds the ids that a model gives to its calls. They stand in
	// every record of a call; providers need about 40 bytes.
	maxCallID = 128
)

// line is a turn as it is written: what a script holds and a program prints.
type line struct {
	Turn
	Expect  *expect `json:"expect"`
	Fail    *fault  `json:"fail"`
	DelayMS int64   `json:"delay_ms"`
}

// expect is what a result of the turn before must be.
type expect struct {
	Tool     string      `json:"tool"`
	Status   wire.Status `json:"status"`
	Contains string      `json:"contains"`
}

// fault is what goes wrong with a provider instead of a turn.
type fault struct {
	Status     int     `json:"status"`
	RetryAfter float64 `json:"retry_after"` // seconds
	Torn       bool    `json:"torn"`
}

// parseLine reads one turn. What it does not know is an error: a misspelt
// "expect" would never fail.
func parseLine(raw []byte) (*line, error) {
	raw = bytes.TrimSpace(raw)
	switch {
	case !utf8.Valid(raw):
		return nil, errors.New("it is not valid UTF-8")
	case len(raw) == 0 || raw[0] != '{':
		return nil, errors.New("it is not a JSON object")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	var l line
	if err := dec.Decode(&l); err != nil {
		return nil, plain(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something after the JSON object")
	}
	return &l, l.check()
}

// plain words an error of the decoder for people.
func plain(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		return fmt.Errorf("%s can't be a %s", wrong.Field, wrong.Value)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the JSON ends in the middle")
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

func (l *line) check() error {
	for i, c := range l.Calls {
		if c.Tool == "" {
			return fmt.Errorf("call %d names no tool", i+1)
		}
		if len(c.ID) > maxCallID {
			return fmt.Errorf("the id of call %d has more than %d bytes", i+1, maxCallID)
		}
		if len(c.Input) == 0 {
			l.Calls[i].Input = json.RawMessage("{}")
		} else if c.Input[0] != '{' {
			return fmt.Errorf("the input of call %d is not an object", i+1)
		}
	}
	if most := maxDelay.Milliseconds(); l.DelayMS < 0 || l.DelayMS > most {
		return fmt.Errorf("delay_ms is %d: expected 0 to %d", l.DelayMS, most)
	}
	if l.Expect != nil && l.Expect.Tool == "" {
		return errors.New("expect names no tool")
	}
	if f := l.Fail; f != nil {
		switch {
		case !f.Torn && (f.Status < 400 || f.Status > 599):
			return errors.New("fail needs a status from 400 to 599, or torn")
		case l.Say != "" || len(l.Calls) > 0 || l.Stop:
			return errors.New("a turn that fails can't say, call or stop")
		}
	}
	return nil
}

// play does what the line says, in answer to r.
func (l *line) play(ctx context.Context, r *Request) (*Turn, error) {
	if l.DelayMS > 0 {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Duration(l.DelayMS) * time.Millisecond):
		}
	}
	if l.Expect != nil {
		if why := l.Expect.check(r.Messages); why != "" {
			return nil, fail.Failed(CodeExpect, "turn %d of the model: %s", r.Turn+1, why)
		}
	}
	if l.Fail != nil {
		return nil, l.Fail.err()
	}
	t := l.Turn
	return &t, nil
}

func (f *fault) err() error {
	switch {
	case f.Torn:
		return &Failure{Class: Torn, Err: fail.Failed("model_torn", "the model's answer ended in the middle")}
	case f.Status == 429:
		return &Failure{
			Class: RateLimited, Status: f.Status, Wait: time.Duration(f.RetryAfter * float64(time.Second)),
			Err: fail.Unavailable("model_rate_limited", "the model's provider has too many requests; it asks to wait %g s", f.RetryAfter),
		}
	case f.Status == 401 || f.Status == 403:
		return &Failure{Class: Auth, Status: f.Status, Err: fail.Unavailable("model_auth", "the model's provider refuses the key with status %d", f.Status)}
	case f.Status >= 500:
		return &Failure{Class: Overloaded, Status: f.Status, Err: fail.Unavailable("model_failed", "the model's provider answered with status %d", f.Status)}
	}
	return &Failure{Class: Refused, Status: f.Status, Err: fail.Unavailable("model_failed", "the model's provider answered with status %d", f.Status)}
}

// check looks for the result among those of the turn before, and says what it
// found instead.
func (e *expect) check(messages []Message) string {
	found := "no call of it"
	for i := len(messages) - 1; i >= 0 && messages[i].Role == "tool"; i-- {
		m := messages[i]
		switch {
		case m.Tool != e.Tool:
		case e.Status != "" && m.Status != e.Status:
			found = fmt.Sprintf("%s: %s", m.Status, short(m.Content))
		case !strings.Contains(m.Content, e.Contains):
			found = fmt.Sprintf("%q", short(m.Content))
		default:
			return ""
		}
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

// short keeps what fits into a message.
func short(s string) string {
	const most = 200
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
