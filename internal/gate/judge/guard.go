package judge

import (
	"encoding/json"
	"io"
	"os"
	"syscall"

	"github.com/kxtools/kx/internal/gate/guard"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/wire"
)

// maxCalls is how deep calls through kx itself are followed into each other.
const maxCalls = 4

// explain decides a call without looking at the credential scope.
func (j *Judge) explain(name string, input json.RawMessage, m string, loaded bool, depth int) *wire.Decision {
	d := j.Rules.Set.Explain(policy.Call{Tool: name, Input: input, Loaded: loaded}, m, j.env)
	entry, ok := catalogue.Lookup(name)
	if !ok {
		return d
	}
	entry = entry.For(input)
	f := j.guard.Check(&entry, input, j.env)
	for _, a := range f.Asks {
		j.raise(d, a)
	}
	hit := f.Hit
	for _, c := range f.Calls {
		inner := unknownCall(c)
		if c.Input != nil && depth > 0 {
			inner = j.explain(c.Tool, c.Input, m, loaded, depth-1)
			if !j.Scope.Sees(c.Tool) || !j.Scope.Uses(c.Tool) {
				inner.BaseDecision, inner.Reason = wire.Deny, ReasonCredential
			}
		}
		if hit == nil {
			hit = inner.Guard
		}
		join(d, c, inner)
	}
	if len(f.Asks)+len(f.Calls) > 0 {
		policy.ApplyMode(d, m, entry.Plan)
	}
	if hit != nil {
		d.Guard, d.Reason = hit, hit.Reason
		d.Decision, d.ApprovalRequired = wire.Deny, false
	}
	return d
}

// raise makes an ask of a leaf that a rule allows without naming its command.
func (j *Judge) raise(d *wire.Decision, a guard.Ask) {
	if a.Leaf >= len(d.Leaves) || len(d.Leaves[a.Leaf].Points) == 0 {
		return
	}
	p := &d.Leaves[a.Leaf].Points[0]
	if p.Decision != wire.Allow || p.Rule == nil || p.Rule.When["command"] != "" {
		return
	}
	p.Decision, p.Reason = wire.Ask, a.Reason
	if d.BaseDecision == wire.Allow {
		d.BaseDecision, d.Reason = wire.Ask, a.Reason
	}
}

// unknownCall is the decision of a call that can't be told.
func unknownCall(c guard.Call) *wire.Decision {
	return &wire.Decision{Tool: c.Tool, BaseDecision: wire.Ask, Reason: "which tool kx calls can't be told"}
}

// join adds what was decided of a call inside a command to the decision of the
// command, as one more point; the worst counts.
func join(d *wire.Decision, c guard.Call, inner *wire.Decision) {
	what := "kx call"
	if inner.Tool != "" {
		what += " " + inner.Tool
	}
	p := wire.Point{Effect: catalogue.Exec, Resource: what, Decision: inner.BaseDecision, Reason: inner.Reason, Rule: inner.Rule}
	if inner.Guard != nil {
		p.Decision = wire.Deny
	}
	if c.Leaf < len(d.Leaves) {
		l := &d.Leaves[c.Leaf]
		l.Points = append(l.Points, p)
	}
	if inner.BaseDecision.Worse(d.BaseDecision) {
		d.BaseDecision, d.Reason, d.Rule = inner.BaseDecision, inner.Reason, inner.Rule
	}
	d.Mandatory = (d.Mandatory || inner.Mandatory) && d.BaseDecision == wire.Ask
}

// Also adds to a decision what was decided of a call that is made along with it;
// the worst counts.
func Also(d, inner *wire.Decision) {
	join(d, guard.Call{Leaf: len(d.Leaves), Tool: inner.Tool}, inner)
	entry, _ := catalogue.Lookup(d.Tool)
	policy.ApplyMode(d, d.EffectiveMode, entry.Plan)
	hit := d.Guard
	if hit == nil {
		hit = inner.Guard
	}
	if hit != nil {
		d.Guard, d.Reason = hit, hit.Reason
	}
	if hit != nil || inner.Decision == wire.Deny {
		d.Decision, d.ApprovalRequired = wire.Deny, false
	}
}

// head returns the beginning of a regular file.
func head(path string) ([]byte, error) {
	// A pipe would wait for somebody to open its other end.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		return nil, os.ErrInvalid
	}
	return io.ReadAll(io.LimitReader(f, guard.MaxHead))
}
