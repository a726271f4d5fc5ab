// Package probe asks a model one small thing and says how far it got: to the server,
// past the key, to an answer, to words that stream, to a call of a tool. kxd model runs
// it for kx model test, through the same router as a run.
package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/pkg/wire"
)

// patience is how long the model has to answer a few words: a local one may have to be
// loaded first.
const patience = time.Minute

// The stages of a test, in order, and the states of each.
const (
	DNS       = "dns"
	TCP       = "tcp"
	TLS       = "tls"
	Key       = "key"
	Model     = "model"
	Streaming = "streaming"
	ToolCalls = "tool_calls"

	ok      = "ok"
	failed  = "failed"
	skipped = "skipped"
)

var stages = []string{DNS, TCP, TLS, Key, Model, Streaming, ToolCalls}

// toolName is the tool that the model is to call.
const toolName = "report"

// request is small, and shows all that an agent needs.
func request() *model.Request {
	return &model.Request{
		Type: "model_request", V: wire.Version,
		System:   "You are being tested. Do exactly what you are told, in as few words as you can.",
		Messages: []model.Message{{Role: "user", Content: `Say "ready", then call the tool report with the word "ready".`}},
		Tools: []model.Tool{{Name: toolName, Description: "Reports a word.", InputSchema: json.RawMessage(
			`{"type":"object","additionalProperties":false,"required":["word"],"properties":{"word":{"type":"string"}}}`)}},
	}
}

// errOnce ends a request that would be repeated.
var errOnce = errors.New("asked once")

// Run tests the model behind m, which needs a key or not. The error is why it can't be
// worked with; the stages of doc say what was seen.
func Run(ctx context.Context, m model.Model, needsKey bool, now func() time.Time, doc *wire.ModelTest) (*model.Turn, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	began := now()
	w := &watch{now: now, began: began}
	q := request()
	pieces := 0
	q.Said = func(string) error {
		if pieces++; pieces == 1 {
			doc.LatencyMS = now().Sub(began).Milliseconds()
		}
		return nil
	}
	var f *model.Failure
	q.Retry = func(told *model.Failure) error { f = told; return errOnce }
	t, err := m.Turn(w.in(ctx), q)
	doc.DurationMS = now().Sub(began).Milliseconds()
	if errors.Is(err, errOnce) {
		err = f
	}
	if ctx.Err() != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		err = fail.Timeout("the model gave no whole answer within %s", patience)
	}
	errors.As(err, &f)

	way, where := w.steps()
	steps := append(way, wire.ModelStep{Stage: Key, State: ok}, wire.ModelStep{Stage: Model, State: ok})
	if !needsKey {
		steps[len(steps)-2].Detail = "none needed"
	}
	switch {
	case err == nil:
		doc.Usage = usage(t.Usage)
		steps = append(steps, said(pieces, t))
		call, why := called(t)
		steps = append(steps, call)
		if why != nil {
			err = why
		}
	case f != nil && (f.Class == model.Auth || f.Class == model.Quota):
		where = Key
	case f != nil && f.Class == model.Torn, pieces > 0:
		where = Streaming
	case where == "":
		where = Model
	}
	doc.Stages = whole(steps, where, err)
	doc.OK = err == nil
	if err != nil {
		doc.Error = fail.As(err).Wire()
	}
	return t, err
}

// Keyless is the test of a model that was not asked, for no account of it has a key:
// why says that of the first, err of all.
func Keyless(doc *wire.ModelTest, why string, err error) {
	doc.Stages = whole(nil, Key, fail.Unavailable("no_key", "%s", why))
	doc.Error = fail.As(err).Wire()
}

// whole brings the stages in their order, up to the one that failed; those behind it
// were not seen.
func whole(seen []wire.ModelStep, where string, err error) []wire.ModelStep {
	by := map[string]wire.ModelStep{}
	for _, s := range seen {
		by[s.Stage] = s
	}
	var list []wire.ModelStep
	over := false
	for _, stage := range stages {
		s, there := by[stage]
		switch {
		case over || !there && stage != where:
			s = wire.ModelStep{Stage: stage, State: skipped}
		case stage == where:
			s = wire.ModelStep{Stage: stage, State: failed, Detail: fail.As(err).Msg, DurationMS: s.DurationMS}
			over = true
		}
		list = append(list, s)
	}
	return list
}

// said says whether the words came as they were written.
func said(pieces int, t *model.Turn) wire.ModelStep {
	s := wire.ModelStep{Stage: Streaming, State: ok, Detail: fmt.Sprintf("%d pieces", pieces)}
	switch {
	case pieces == 0 && t.Say == "":
		s.State, s.Detail = skipped, "it said nothing"
	case pieces == 0:
		s.Detail = "the answer came as a whole"
	case pieces == 1:
		s.Detail = "one piece"
	}
	return s
}

// called says whether the tool was called, and why an agent can't work with that.
func called(t *model.Turn) (wire.ModelStep, error) {
	s := wire.ModelStep{Stage: ToolCalls, State: ok}
	var err *fail.Error
	switch {
	case t.End == model.EndRefusal:
		err = fail.Failed("refused", "the model refuses a harmless request")
	case len(t.Calls) == 0:
		err = fail.Failed("no_tool_calls", "the model answers, but calls no tool, and an agent works by tools")
	case t.Calls[0].Tool != toolName:
		err = fail.Failed("no_tool_calls", "the model calls %q, which it was not offered", t.Calls[0].Tool)
	case t.Calls[0].Broken != "":
		err = fail.Failed("no_tool_calls", "the model calls its tool with what can't be read: %s", t.Calls[0].Broken)
	}
	if err == nil {
		return s, nil
	}
	s.State, s.Detail = failed, err.Msg
	return s, err
}

func usage(u *model.Usage) *wire.Usage {
	if u == nil {
		return nil
	}
	return &wire.Usage{Input: u.Input, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Output: u.Output, Reasoning: u.Reasoning}
}
