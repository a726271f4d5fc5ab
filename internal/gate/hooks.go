package gate

import (
	"context"
	"fmt"
	"slices"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/proc"
	"github.com/kxtools/kx/internal/gate/hook"
	"github.com/kxtools/kx/internal/gate/judge"
	"github.com/kxtools/kx/internal/gate/sandbox"
	"github.com/kxtools/kx/internal/record/config"
	"github.com/kxtools/kx/pkg/policy/mode"
	"github.com/kxtools/kx/pkg/wire"
)

// What a decision says of hooks.
const (
	hooksNone      = "none_configured"
	hooksUnmatched = "none_matched"
	hooksRun       = "executed"
)

// hooks lets the hooks have their say on what was decided: those of pre_tool_use on
// what is not denied, then those of permission_request on what a person would be
// asked, and those of permission_denied hear of a deny.
func (r *run) hooks(ctx context.Context) error {
	list := r.judge.Hooks()
	if len(list) == 0 {
		return nil
	}
	d := r.decision
	d.HookPolicy, r.by = hooksUnmatched, ""
	if d.Decision != wire.Deny {
		outcomes := []hook.Outcome{r.runHooks(ctx, list, config.PreToolUse, nil)}
		for i, c := range r.besides() {
			outcomes = append(outcomes, r.runHooksOn(ctx, list, config.PreToolUse, c, fmt.Sprintf("%s+%d", r.call.ID, i+1), nil))
		}
		for _, o := range outcomes {
			switch {
			case o.Verdict == wire.Deny && d.Decision != wire.Deny:
				r.deniedBy(o)
			case o.Verdict == wire.Ask && d.Decision != wire.Deny:
				judge.Raise(d, o.Reason)
			}
		}
	}
	if d.Decision == wire.Ask {
		switch o := r.runHooks(ctx, list, config.PermissionRequest, nil); {
		case o.Verdict == wire.Deny:
			r.deniedBy(o)
		case o.Verdict == wire.Allow && len(r.besides()) > 0: // it was told of the call alone
		case o.Verdict == wire.Allow && d.Mandatory:
			d.ModeApplied, d.ModeEffect = true, mode.KeptMandatory
		case o.Verdict == wire.Allow:
			d.Decision, d.ApprovalRequired, d.Reason, r.by = wire.Allow, false, o.Reason, o.By
		}
	}
	if d.Decision == wire.Deny {
		r.runHooks(ctx, list, config.PermissionDenied, nil)
	}
	return ctx.Err()
}

func (r *run) deniedBy(o hook.Outcome) {
	d := r.decision
	d.Decision, d.ApprovalRequired, d.Reason, r.by = wire.Deny, false, o.Reason, o.By
}

// besides are the calls that another program's call makes besides itself, with
// canonical paths.
func (r *run) besides() []wire.Call {
	if r.foreign == nil {
		return nil
	}
	list := slices.Clone(r.foreign.With)
	for i, c := range list {
		if input, err := r.judge.Canonical(c.Tool, c.Input); err == nil {
			list[i].Input = input
		}
	}
	return list
}

// runHooks runs the hooks of one event. res is how the call ended, nil before that.
func (r *run) runHooks(ctx context.Context, list []config.Hook, event string, res *wire.Result) hook.Outcome {
	return r.runHooksOn(ctx, list, event, wire.Call{Tool: r.call.Tool, Input: r.input}, r.call.ID, res)
}

// runHooksOn runs them for a call that is this one or a part of it.
func (r *run) runHooksOn(ctx context.Context, list []config.Hook, event string, on wire.Call, id string, res *wire.Result) hook.Outcome {
	d := r.decision
	c := &hook.Call{
		Tool: on.Tool, Input: on.Input, Workspace: r.judge.Workspace, Cwd: r.judge.Cwd,
		Decision: d.Decision, BaseDecision: d.BaseDecision, Mode: d.EffectiveMode, Mandatory: d.Mandatory, Reason: d.Reason,
		ID: id, Session: r.gate.Session, Caller: r.gate.Caller,
	}
	if res != nil {
		c.Status, c.Output = res.Status, res.Output
	}
	o := (&hook.Runner{Hooks: list, Command: r.command, Post: r.gate.Post, Secrets: r.secrets}).Run(ctx, event, c)
	if len(o.Runs) == 0 {
		return o
	}
	if err := r.keepRules(o.Rules); err != nil {
		o = lost(o, event, err)
	}
	if res == nil {
		d.HooksEvaluated, d.HookPolicy, d.Hooks = true, hooksRun, append(d.Hooks, o.Runs...)
	}
	return o
}

// lost is what comes of hooks whose rules can't be kept, which is no less than what
// comes of one that fails: the rule may have been a deny.
func lost(o hook.Outcome, event string, err error) hook.Outcome {
	from := o.Rules[0].Hook
	for i := range o.Runs {
		if o.Runs[i].Name == from && o.Runs[i].Error == "" {
			o.Runs[i].Error = err.Error()
		}
	}
	switch why := "the rules that hook " + from + " gave can't be kept: " + err.Error(); {
	case event == config.PreToolUse && o.Verdict != wire.Deny:
		o.Verdict, o.Reason, o.By = wire.Deny, why, from
	case event == config.PermissionRequest && o.Verdict == wire.Allow:
		o.Verdict, o.Reason, o.By = wire.Ask, why, from
	}
	return o
}

// keepRules gives the session the rules that hooks made. They count from the next
// batch on.
func (r *run) keepRules(rules []hook.Rule) error {
	if len(rules) == 0 {
		return nil
	}
	return r.gate.KeepRules(rules)
}

// command runs a hook behind the walls of a command, in the workspace.
func (r *run) command(ctx context.Context, line string, input []byte) ([]byte, error) {
	if r.gate.Enter != nil {
		if r.gate.enter.Do(func() { r.gate.enterErr = r.gate.Enter() }); r.gate.enterErr != nil {
			return nil, r.gate.enterErr
		}
	}
	s := proc.Spec{Argv: []string{"/bin/sh", "-c", line}, Dir: r.judge.Workspace, Env: r.gate.HookEnv(), Stdin: input, OutCap: hook.MaxAnswer}
	if sb := r.gate.Sandbox; sb != nil {
		cell, err := sb.Confine(r.judge.Place(r.gate.Session), sandbox.Default.Under(r.judge.Config.Limits.MaxSandbox), s.Argv, s.Dir)
		if err != nil {
			return nil, err
		}
		defer cell.Leave()
		s.Jail, s.Env = cell.Plan, proc.With(s.Env, cell.Env)
	}
	res, err := proc.Run(ctx, s)
	return hook.Answer(res, err)
}

// after tells the hooks of post_tool_use how a call ended.
func (r *run) after(ctx context.Context, res *wire.Result) []wire.HookRun {
	list := r.judge.Hooks()
	if len(list) == 0 {
		return nil
	}
	return r.runHooks(context.WithoutCancel(ctx), list, config.PostToolUse, res).Runs
}

// hookDenied is the failure of a call that a hook denies.
func (r *run) hookDenied() error {
	return fail.Denied("denied_by_hook", "%s is denied by %s", r.call.Tool, r.decision.Reason).WithHint("kx audit show %s", r.call.ID)
}
