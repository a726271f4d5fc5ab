// Package hook runs the programs and servers that the user wants to be told of calls,
// and reads what they say of them.
//
// A hook narrows: it can deny a call, or have a person asked. Only a hook of
// permission_request can allow one, and only one that would be asked about. Whatever
// a hook does that is not understood is a failure, and a failure never allows: a
// pre_tool_use hook that fails denies, a permission_request hook that fails leaves
// the question to a person. The gate calls Run; how a program and a server are
// reached is handed in.
package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/base/redact"
	"github.com/kxtools/kx/internal/record/config"
	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/wire"
)

// ContractVersion is that of the documents. An answer of a later one is not
// understood.
const ContractVersion = 1

// MaxAnswer is the longest answer of a hook: it says a word and a reason.
const MaxAnswer = 1 << 20

// Call is what a hook is told of a call.
type Call struct {
	Tool         string          `json:"tool"`
	Input        json.RawMessage `json:"input"`
	Workspace    string          `json:"workspace"`
	Cwd          string          `json:"cwd"`
	Decision     wire.Verdict    `json:"decision"`
	BaseDecision wire.Verdict    `json:"base_decision"`
	Mode         string          `json:"mode"`
	Mandatory    bool            `json:"mandatory"`
	Reason       string          `json:"reason"`
	Status       wire.Status     `json:"status,omitempty"` // of a call that has run
	Output       wire.Output     `json:"output,omitempty"`

	ID, Session, Caller string `json:"-"`
}

// document is the input of a hook.
type document struct {
	ContractVersion int    `json:"contract_version"`
	InvocationKey   string `json:"invocation_key"` // the same for the same event of the same call
	Event           string `json:"event"`
	Subject         string `json:"subject"`
	SessionID       string `json:"session_id"`
	AgentID         string `json:"agent_id"`
	Payload         *Call  `json:"payload"`
}

// Runner runs hooks.
type Runner struct {
	Hooks []config.Hook
	// Command runs a line of sh with input, and Post sends input to an address;
	// both return the answer, at most MaxAnswer bytes.
	Command func(ctx context.Context, line string, input []byte) ([]byte, error)
	Post    func(ctx context.Context, url string, input []byte) ([]byte, error)
	Secrets *redact.Redactor // what no hook is told
}

// Outcome is what the hooks of an event say together.
type Outcome struct {
	Verdict wire.Verdict // "" if nothing was said
	Reason  string
	By      string // the hook that said it
	Rules   []Rule
	Runs    []wire.HookRun
}

// Rule is a rule for the session that a hook gave.
type Rule struct {
	Hook string
	wire.Rule
}

// Run runs the hooks of an event that fit the call, one after the other, up to the
// first that denies.
func (r *Runner) Run(ctx context.Context, event string, c *Call) Outcome {
	var o Outcome
	for i := range r.Hooks {
		h := &r.Hooks[i]
		if h.Event != event || !fits(h, c) {
			continue
		}
		a, run := r.one(ctx, h, c)
		o.Runs = append(o.Runs, run)
		o.take(event, h, a, run.Error)
		if o.Verdict == wire.Deny {
			break
		}
	}
	return o
}

// take adds what one hook says. A deny outweighs a question, and that an allow.
func (o *Outcome) take(event string, h *config.Hook, a *answer, failure string) {
	verdict, why := wire.Verdict(""), ""
	switch {
	case failure == "":
		verdict, why = a.verdict, a.reason
		for _, r := range a.rules {
			o.Rules = append(o.Rules, Rule{h.Name, r})
		}
	case event == config.PreToolUse:
		verdict, why = wire.Deny, "it failed: "+failure
	case event == config.PermissionRequest:
		verdict, why = wire.Ask, "it failed: "+failure
	}
	switch {
	case event != config.PreToolUse && event != config.PermissionRequest: // it comes too late for a say
		return
	case verdict == wire.Allow && event == config.PreToolUse: // and here too early for an allow
		return
	case verdict == "" || o.Verdict != "" && !verdict.Worse(o.Verdict):
		return
	}
	if o.Verdict, o.By, o.Reason = verdict, h.Name, fmt.Sprintf("hook %q", h.Name); why != "" {
		o.Reason += ": " + why
	}
}

// one runs a hook.
func (r *Runner) one(ctx context.Context, h *config.Hook, c *Call) (*answer, wire.HookRun) {
	run := wire.HookRun{Name: h.Name, Event: h.Event, Source: h.Source}
	start := time.Now()
	a, err := r.ask(ctx, h, c)
	run.DurationMS = time.Since(start).Milliseconds()
	if err != nil {
		run.Error = err.Error()
		return nil, run
	}
	run.Decision, run.Reason = a.verdict, a.reason
	return a, run
}

func (r *Runner) ask(ctx context.Context, h *config.Hook, c *Call) (*answer, error) {
	input, err := wire.Marshal(document{
		ContractVersion, c.ID + "/" + h.Event + "/" + h.Name, h.Event, c.Tool, c.Session, c.Caller, c,
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	ask, target := r.Command, h.Command
	if h.URL != "" {
		ask, target = r.Post, h.URL
	}
	raw, err := ask(ctx, target, append(r.Secrets.JSON(input), '\n'))
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("it took longer than %s", h.Timeout)
	case err != nil:
		return nil, err
	case len(raw) > MaxAnswer:
		return nil, fmt.Errorf("its answer has more than %d bytes", MaxAnswer)
	}
	return parse(raw)
}

// fits reports whether a hook is for a call. A path is compared as it leads, seen
// from the workspace or from the root.
func fits(h *config.Hook, c *Call) bool {
	if !match(h.Tool, c.Tool) {
		return false
	}
	if len(h.Input) == 0 {
		return true
	}
	var in map[string]any
	if json.Unmarshal(c.Input, &in) != nil {
		return false
	}
	entry, _ := catalogue.Lookup(c.Tool)
	for field, want := range h.Input {
		have, ok := in[field].(string)
		if !ok {
			return false
		}
		relative := have
		if field == entry.Path && paths.Inside(c.Workspace, have) {
			relative = strings.TrimPrefix(strings.TrimPrefix(have, c.Workspace), "/")
		}
		if !match(want, have) && !match(want, relative) {
			return false
		}
	}
	return true
}

func match(pattern, s string) bool {
	if p, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(s, p)
	}
	return pattern == s
}
