// Package gate is the one place where a tool call becomes an act. It wraps tools
// from outside: it resolves the name, checks limits and scopes, decides, asks a
// person, writes down what was decided before anything runs, runs the tool, and
// writes down how it ended. No tool imports it, so no tool can bypass it.
//
// Whatever goes wrong on the way ends in a result that says so; nothing that
// fails runs the tool.
package gate

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/failpoint"
	"github.com/kxtools/kx/internal/base/jail"
	"github.com/kxtools/kx/internal/base/redact"
	"github.com/kxtools/kx/internal/gate/hook"
	"github.com/kxtools/kx/internal/gate/judge"
	"github.com/kxtools/kx/internal/gate/limit"
	"github.com/kxtools/kx/internal/gate/sandbox"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/wire"
)

// Journal is the session of the calls.
type Journal interface {
	// Started is called when a call is about to run, and returns once that is
	// on disk, if the call may change anything. Without an Ended after it, nobody
	// knows how the call ended.
	Started(id, tool string, input json.RawMessage) error
	// Ended is called with the result of every call, also of one that did not
	// run.
	Ended(r *wire.Result) error
}

// Gate runs calls. Its fields are set once.
type Gate struct {
	Tools     *tool.Registry
	Audit     *audit.Log
	Approvals *approval.Store
	Journal   Journal
	Now       func() time.Time
	NewID     func() string // ids for calls that bring none

	Session string
	Caller  string
	Home    string

	// Sandbox walls in the programs that tools start; nil for no walls.
	Sandbox *sandbox.Sandbox

	// Reload reads afresh what calls are judged by. It is called for every
	// batch.
	Reload func() (*judge.Judge, error)

	// Secrets returns what takes known secrets out of what calls give back. It is
	// called for every batch; nil, like nil from it, knows none.
	Secrets func() (*redact.Redactor, error)

	// Run says whether the calls are those of an agent's run: their requests
	// never expire, and each call is an action of its own.
	Run bool
	// Wait is how long a call may wait for a person, 0 to return at once.
	Wait time.Duration
	// Await returns when a request is no longer pending, or ctx ends.
	Await func(ctx context.Context, id string) error
	// Parked, if set, is told of a request that is now being waited for.
	Parked func(a *wire.Approval)
	// Ring, if set, is told of a request that is new.
	Ring func(ctx context.Context, a *wire.Approval)
	// Post sends a document to a server that is a hook, and HookEnv is the
	// environment of programs that are hooks.
	Post    func(ctx context.Context, url string, doc []byte) ([]byte, error)
	HookEnv func() []string
	// KeepRules gives the session the rules that hooks made.
	KeepRules func(rules []hook.Rule) error
	// Enter, if set, is called once, before the first tool that starts
	// programs: from then on this process is one below which an agent acts.
	Enter func() error

	enter    sync.Once
	enterErr error
}

// Batch is a set of calls that share limits: a turn of an agent, or a window of
// a stream. Rules and limits hold as they were when it began.
type Batch struct {
	gate    *Gate
	judge   *judge.Judge
	limit   *limit.Batch
	secrets *redact.Redactor
}

// Begin starts a batch.
func (g *Gate) Begin() (*Batch, error) {
	j, err := g.Reload()
	if err != nil {
		return nil, err
	}
	b := &Batch{gate: g, judge: j, limit: limit.NewBatch(j.Config.Limits)}
	if g.Secrets != nil {
		b.secrets, err = g.Secrets()
	}
	return b, err
}

// mostInput is the largest input whatever the configuration says: it is in memory
// several times.
const mostInput = 1 << 30

// MaxInput is the largest input that a call of the batch may have, in bytes.
func (b *Batch) MaxInput() int { return int(min(b.judge.Config.Limits.MaxInputBytes, mostInput)) }

// run is one call on its way through the gate.
type run struct {
	*Batch
	judge    *judge.Judge // of this call, see judge.Once
	call     wire.Call    // its input is as the caller wrote it, with defaults
	tool     *tool.Tool
	foreign  *Foreign // what another program makes of it, nil for our own
	decision *wire.Decision
	input    json.RawMessage   // with canonical paths, as the tool gets it
	action   json.RawMessage   // the input as it is hashed
	digests  map[string]string // of the files that it is about
	hash     string
	profile  sandbox.Profile // of the programs that it starts
	approval *wire.Approval
	by       string // the hook that decided, "" if none did
}

// Do takes one call through the gate.
func (b *Batch) Do(ctx context.Context, call wire.Call) *wire.Result {
	start := b.gate.Now()
	if call.ID == "" {
		call.ID = b.gate.NewID()
	}
	r := &run{Batch: b, call: call}
	res, err := r.do(ctx)
	if err != nil {
		res = failed(err)
	}
	r.label(res)
	r.hide(res)
	res.DurationMS = b.gate.Now().Sub(start).Milliseconds()
	failpoint.Hit("result.before")
	err = b.gate.Journal.Ended(res)
	failpoint.Hit("result.after")
	if err != nil {
		// The call has run and can't be taken back; that its record is
		// incomplete must be seen.
		notRecorded(res, "its session", err)
	}
	return res
}

// do returns the result of a call, or why there is none.
func (r *run) do(ctx context.Context) (*wire.Result, error) {
	if err := r.resolve(); err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, r.gate.Wait)
	defer cancel()
	for {
		if err := r.decide(); err != nil {
			return nil, err
		}
		if err := r.hooks(ctx); err != nil {
			return nil, err
		}
		if r.decision.Decision == wire.Deny {
			return nil, r.deny()
		}
		if err := r.ready(); err != nil {
			return nil, err
		}
		if err := r.claim(); err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		settle := r.ask
		switch {
		case r.tool != nil && r.tool.Ask != nil:
			settle = r.question // whoever answers it allows it, too
		case r.decision.Decision == wire.Allow:
			return r.act(ctx, r.decider())
		}
		res, again, err := settle(ctx, waiting)
		if !again {
			return res, err
		}
		// Somebody answered while the call waited: it is judged anew.
	}
}

// ready says why the tool can't be run here, whatever was decided.
func (r *run) ready() error {
	switch {
	case r.foreign != nil:
		return nil // who runs it is not kx
	case r.tool == nil:
		return fail.Unavailable("tool_missing", "the tool %s is not available here", r.call.Tool).WithHint("kx tool list --all")
	case r.tool.Off != "":
		return fail.Unavailable("tool_off", "the tool %s is switched off: %s", r.call.Tool, r.tool.Off).WithHint("kx config show")
	case r.tool.Spawns && r.gate.Enter != nil:
		// Before it waits for an answer, so that nothing is left to do then.
		r.gate.enter.Do(func() { r.gate.enterErr = r.gate.Enter() })
		return r.gate.enterErr
	}
	return nil
}

// resolve finds the tool and checks the input.
func (r *run) resolve() error {
	name := r.call.Tool
	_, known := catalogue.Lookup(name)
	if !known || !r.Batch.judge.Scope.Sees(name) {
		err := fail.NotFound("no_such_tool", "there is no tool %.80q", name).WithHint("kx tool list")
		if near := catalogue.Suggest(name); !known && near != "" && r.Batch.judge.Scope.Sees(near) {
			err = fail.NotFound("no_such_tool", "there is no tool %.80q; did you mean %s?", name, near).WithHint("kx tool show %s", near)
		}
		return err
	}
	if err := r.limit.Enter(name, len(r.call.Input)); err != nil {
		return err
	}
	if r.foreign != nil {
		return nil
	}
	if r.tool = r.gate.Tools.Get(name); r.tool == nil {
		return nil
	}
	var err error
	r.call.Input, err = r.tool.Check(r.call.Input)
	return err
}

// decide judges the call: its paths as they are written and as they lead, of
// which the latter are what the tool gets.
func (r *run) decide() error {
	r.judge = r.Batch.judge.Once()
	m, err := r.judge.Narrow(r.call.Mode)
	if err != nil {
		return err
	}
	r.input, r.action = r.call.Input, r.call.Input
	here := r.tool != nil || r.foreign != nil
	if here {
		if r.input, err = r.judge.Canonical(r.call.Tool, r.call.Input); err != nil {
			return err
		}
		if r.action, err = judge.Action(r.call.Tool, r.input); err != nil {
			return err
		}
	}
	d := r.judge.Explain(r.call.Tool, r.call.Input, m, here)
	d.ID, d.HookPolicy = r.call.ID, hooksNone
	r.decision = d
	switch {
	case r.foreign != nil:
		r.foreign.judge(r.judge, d, r.input)
	case r.call.Tool == "bash":
		if err := r.confine(); err != nil {
			return err
		}
	}
	if d.Decision == wire.Ask || r.call.ApprovalID != "" {
		r.digests = r.judge.Digests(r.call.Tool, r.input)
	}
	a := r.request()
	r.hash, err = approval.ActionHash(&a)
	return err
}

// confine picks the walls of a command. Only a rule of the user's takes them away,
// one for each program of the line; where there are none, a person is asked.
func (r *run) confine() error {
	c := r.judge.Config
	if r.profile = sandbox.Default.Under(c.Limits.MaxSandbox); OnHost(r.decision) {
		r.profile = sandbox.Host
		if !c.IsSet("limits.max_sandbox") {
			return nil
		}
		return r.limit.Profile("bash", r.profile.Name)
	}
	if !r.walled() && !c.Experimental.UnsandboxedBash {
		judge.Raise(r.decision, judge.NoSandbox)
	}
	return nil
}

// walled reports whether there are full walls on this machine.
func (r *run) walled() bool {
	return r.gate.Sandbox != nil && r.gate.Sandbox.Walls().Kind == jail.Full
}

// OnHost reports whether the rules that decide every program of a command line
// let it run without walls.
func OnHost(d *wire.Decision) bool {
	programs := 0
	for _, leaf := range d.Leaves {
		for _, p := range leaf.Points {
			if p.Effect != catalogue.Exec {
				continue
			}
			if p.Rule == nil || p.Rule.Sandbox != sandbox.Host.Name {
				return false
			}
			programs++
		}
	}
	return programs > 0
}

// decider says what settled the call, if nobody was asked.
func (r *run) decider() wire.Decider {
	if r.by != "" {
		return wire.Decider{Kind: "hook", Via: r.by}
	}
	return decidedBy(r.decision)
}

// decidedBy says what settled a call that nobody was asked about.
func decidedBy(d *wire.Decision) wire.Decider {
	switch {
	case d.Guard != nil:
		return wire.Decider{Kind: "guard"}
	case d.Reason == judge.ReasonCredential:
		return wire.Decider{Kind: "scope"}
	case d.ModeEffect != "" && d.Decision != d.BaseDecision:
		return wire.Decider{Kind: "mode"}
	}
	return wire.Decider{Kind: "rule"}
}

// deny records that a call was refused.
func (r *run) deny() error {
	by := r.decider()
	if err := r.record(by, false); err != nil {
		return err
	}
	if by.Kind == "hook" {
		return r.hookDenied()
	}
	if g := r.decision.Guard; g != nil {
		return fail.Denied("guarded", "%s is denied, whatever the rules say: %s", r.call.Tool, g.Reason).WithHint("kx audit show %s", r.call.ID)
	}
	why := r.decision.Reason
	if by.Kind == "mode" {
		why = "mode " + r.decision.EffectiveMode + " does not allow it"
	}
	return fail.Denied("denied", "%s is denied: %s", r.call.Tool, why).WithHint("kx audit show %s", r.call.ID)
}

// record writes the decision into the audit.
func (r *run) record(by wire.Decider, barrier bool) error {
	blob, err := r.gate.Audit.Blob(r.call.Input)
	if err != nil {
		return err
	}
	line := audit.Decision{
		Type: audit.TypeDecision, V: wire.Version, CallID: r.call.ID, Session: r.gate.Session, Caller: r.gate.Caller,
		Workspace: r.judge.Workspace, Cwd: r.judge.Cwd, Decision: *r.decision, Input: view(r.call.Input), InputBlob: blob,
		ActionHash: r.hash, DecidedBy: by, PolicyDigest: r.judge.Rules.Digest,
	}
	if r.approval != nil {
		line.ApprovalID = r.approval.ID
	}
	failpoint.Hit("record.before")
	_, err = r.gate.Audit.Append(line, barrier)
	failpoint.Hit("record.after")
	return err
}

// maxView is how much of an input stands in an audit line; the blob has it all.
const maxView = 32 << 10

func view(input json.RawMessage) json.RawMessage {
	if len(input) <= maxView {
		return input
	}
	v, _ := wire.Marshal(map[string]any{"bytes": len(input), "note": "the input is in its blob"})
	return v
}
