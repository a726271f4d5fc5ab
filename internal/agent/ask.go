package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kxtools/kx/internal/agent/prompt"
	"github.com/kxtools/kx/internal/agent/speech"
	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/pkg/wire"
)

// ask gets the next turn of the model. It is on disk before any of it is acted
// on.
func (r *runner) ask(ctx context.Context) error {
	n := r.state.turns + 1
	tools := surface(r.Gate.Tools, r.Sees)
	system, err := r.begin(n, tools)
	if err != nil {
		return err
	}
	said := speech.New(func(text string, more bool) error { return r.write(evText, textEvent{Text: text, More: more}) }, r.Gate.Secrets)
	start := r.Gate.Now()
	t, err := r.Model.Turn(ctx, &model.Request{
		Type: "model_request", V: wire.Version,
		Turn: r.state.asked, System: system, Messages: r.state.messages, Tools: tools,
		Said: said.Said,
		Retry: func(f *model.Failure) error {
			wait := f.Wait.Milliseconds()
			failed := modelCall{Turn: n, Error: f.Err.Wire(), RetryInMS: &wait}
			return errors.Join(said.Broke(), r.write(evModelCall, failed))
		},
	})
	if ctx.Err() != nil {
		return errors.Join(ctx.Err(), said.Broke())
	}
	call := modelCall{Turn: n, DurationMS: r.Gate.Now().Sub(start).Milliseconds()}
	if err == nil {
		err = r.take(&call, t)
	}
	if err != nil {
		err = r.explain(err)
		return errors.Join(err, said.Broke(), r.write(evModelCall, modelCall{Turn: n, Error: fail.As(err).Wire(), DurationMS: call.DurationMS}))
	}
	if err := errors.Join(said.End(t.Say), r.write(evModelCall, call), r.Log.Sync()); err != nil {
		return err
	}
	return r.judge(&call)
}

// begin writes that turn n begins, unless an earlier process did and nothing was said
// since, and returns what the model is told before all else.
func (r *runner) begin(n int, tools []model.Tool) (string, error) {
	start := turnStart{Turn: n, Window: r.Window}
	system := &prompt.System{}
	if r.System != nil {
		var err error
		if system, err = r.System(tools); err != nil {
			return "", err
		}
	}
	again := r.state.begun >= n
	if again && !r.state.half {
		return system.Text, nil
	}
	start.Context = system.Sources
	if n == 1 && !again && r.Prompt != nil {
		task, err := r.Prompt()
		if err != nil {
			return "", err
		}
		start.Prompt, start.Attached, start.Images = task.Prompt, task.Attached, task.Images
		start.Context = append(start.Context, task.Sources...)
	}
	return system.Text, r.write(evTurnStart, start)
}

// take puts what the model answered into the event.
func (r *runner) take(call *modelCall, t *model.Turn) error {
	calls, renamed, err := named(t.Calls, call.Turn, r.state.used)
	if err != nil {
		return err
	}
	call.Say, call.Calls, call.Stop, call.End, call.By, call.Usage = t.Say, calls, t.Stop, t.End, t.By, t.Usage
	if !renamed { // else the provider's own words name calls that are not there
		call.Native = keep(t.Native)
	}
	if t.End == model.EndRefusal {
		call.Calls, call.Native = nil, nil // what it wants besides is not done
	}
	if r.Cost != nil && t.Usage != nil {
		call.CostUSD, _ = r.Cost(t.By, t.Usage)
	}
	return nil
}

// judge says why a turn that was given ends the run.
func (r *runner) judge(call *modelCall) error {
	if call.End == model.EndRefusal {
		said := call.Say
		if said == "" {
			said = "it does not say why"
		}
		return fail.Failed("refused", "the model refuses: %s", short(said)).WithHint("kx agent show %s", r.Session)
	}
	if r.MaxCost > 0 && call.By != "" && !r.priced(call) {
		return fail.Limit("no_price", "--max-cost can't be kept: what %s took has no price", call.By).WithHint("kx config show")
	}
	return nil
}

func (r *runner) priced(call *modelCall) bool {
	if r.Cost == nil || call.Usage == nil {
		return false
	}
	_, known := r.Cost(call.By, call.Usage)
	return known
}

// explain words the failure of a provider for somebody who has this session.
func (r *runner) explain(err error) error {
	var f *model.Failure
	if errors.As(err, &f) && f.Class == model.Overflow {
		return fail.Limit("context_overflow", "%s", f.Err.Msg).
			WithHint("kx agent context %s", r.Session).Because(err)
	}
	return err
}

// short keeps what fits into a message.
func short(s string) string {
	const most = 300
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// named gives every call an id that no other call of the session has: approvals and
// the record know calls by it. One that a model gives is kept if it is free; two
// equal ones in a turn are a mistake of the model.
func named(calls []model.Call, turn int, used map[string]bool) (list []model.Call, renamed bool, err error) {
	own := map[string]bool{}
	for _, c := range calls {
		if c.ID != "" && own[c.ID] {
			return nil, false, fail.Failed("model_broken", "two calls of turn %d have the id %q", turn, c.ID)
		}
		own[c.ID] = true
	}
	calls = slices.Clone(calls)
	for i := range calls {
		id := calls[i].ID
		if id != "" && !used[id] {
			continue
		}
		for id = fmt.Sprintf("t%d.%d", turn, i+1); used[id] || own[id]; {
			id += "+"
		}
		calls[i].ID, own[id], renamed = id, true, true
	}
	return calls, renamed, nil
}

// surface lists the tools that the session sees.
func surface(reg *tool.Registry, sees func(string) bool) []model.Tool {
	list := []model.Tool{}
	for _, name := range reg.Names() {
		if t := reg.Get(name); t.Off == "" && (sees == nil || sees(name)) {
			list = append(list, model.Tool{Name: name, Description: t.Description, InputSchema: t.Schema})
		}
	}
	return list
}
