package policy

import (
	"encoding/json"
	"fmt"

	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/policy/mode"
	"github.com/kxtools/kx/pkg/policy/point"
	"github.com/kxtools/kx/pkg/policy/shell"
	"github.com/kxtools/kx/pkg/wire"
)

// Reasons that programs may compare.
const (
	ReasonUnknownTool = "unknown_tool"
	ReasonOutside     = "outside_workspace"
)

// HooksDryRun is the hook_policy of an explanation.
const HooksDryRun = "not_executed_in_dry_run"

// maxLosers is how many losing rules an explanation names.
const maxLosers = 20

// Explain decides a call and says why. It runs nothing and asks nobody.
func (s *Set) Explain(call Call, m string, env *Env) *wire.Decision {
	d := &wire.Decision{
		Type: "decision", V: wire.Version, Tool: call.Tool, Loaded: call.Loaded, EffectiveMode: m,
		HookPolicy: HooksDryRun, LosingRules: []wire.Rule{},
	}
	entry, ok := catalogue.Lookup(call.Tool)
	if !ok {
		d.Decision, d.BaseDecision, d.Scope, d.Reason = wire.Deny, wire.Deny, Builtin.String(), ReasonUnknownTool
		return d
	}
	entry = entry.For(call.Input)
	e := explanation{set: s, env: env, d: d}
	switch {
	case len(call.Input) == 0:
		for _, effect := range effectsOf(&entry) {
			p := point.Point{Tool: entry.Name, Effect: effect}
			v := verdict{rule: s.plain(entry.Name, effectIndex(effect))}
			if v.rule != nil {
				v.decision, v.reason = v.rule.Decision, v.rule.Reason
			} else {
				v.decision, v.reason = s.fallback(&p)
			}
			e.add(&p, &v)
		}
	case entry.Name == "bash":
		e.bash(call.Input)
	default:
		pts := env.Points(&entry, call.Input)
		for i := range pts {
			v := s.decidePoint(&pts[i], env)
			e.add(&pts[i], &v)
			d.Points = append(d.Points, e.point(&pts[i], &v))
		}
	}
	e.finish(m, &entry)
	return d
}

// effectsOf returns the effects of an entry; a tool without any has one point
// all the same.
func effectsOf(e *catalogue.Entry) []string {
	if len(e.Effects) == 0 {
		return []string{""}
	}
	return e.Effects
}

// explanation gathers the verdicts of the points.
type explanation struct {
	set       *Set
	env       *Env
	d         *wire.Decision
	worst     *verdict
	mandatory bool
	losers    []loser
}

func (e *explanation) add(p *point.Point, v *verdict) {
	e.mandatory = e.mandatory || v.mandatory && v.decision == wire.Ask
	if e.worst == nil || v.decision.Worse(e.worst.decision) || v.decision == e.worst.decision && v.mandatory && !e.worst.mandatory {
		e.worst = v
	}
	for _, r := range v.losers {
		if len(e.losers) == maxLosers {
			break
		}
		seen := false
		for _, have := range e.losers {
			seen = seen || have.rule == r.rule
		}
		if !seen {
			e.losers = append(e.losers, r)
		}
	}
}

func (e *explanation) point(p *point.Point, v *verdict) wire.Point {
	w := wire.Point{Effect: p.Effect, Resource: p.Resource, Decision: v.decision, Reason: v.reason}
	if v.rule != nil {
		w.Rule = v.rule.Wire()
	}
	return w
}

// bash explains a bash call leaf by leaf.
func (e *explanation) bash(input []byte) {
	var in map[string]any
	unknown := func(why string) {
		p := point.Point{Tool: "bash", Effect: catalogue.Exec, Unknown: why, Leaf: &shell.Leaf{Unknown: why}}
		v := e.set.decidePoint(&p, e.env)
		if v.decision != wire.Deny {
			v = verdict{decision: wire.Ask, reason: why, mandatory: e.set.commandDeny || e.set.pathRules}
		}
		e.add(&p, &v)
		e.d.Points = append(e.d.Points, e.point(&p, &v))
	}
	if json.Unmarshal(input, &in) != nil {
		unknown("the input is not a JSON object")
		return
	}
	command, ok := in["command"].(string)
	if !ok {
		unknown("there is no command")
		return
	}
	env := *e.env
	if cwd, ok := in["cwd"].(string); ok && cwd != "" {
		where, err := env.Locate(env.Cwd, cwd)
		if err != nil || !env.Inside(where) {
			unknown("it starts outside the workspace")
			return
		}
		env.Cwd = where.Resolved
	}
	script := shell.Analyze(command)
	if script.Unknown == "" && len(script.Leaves) == 0 {
		script.Unknown = "there is no command in it"
	}
	if script.Unknown != "" {
		// What is understood of it can still be denied.
		unknown(script.Unknown)
	}
	fields := point.StringFields(in)
	for i := range script.Leaves {
		leaf := &script.Leaves[i]
		w := wire.Leaf{Argv: leaf.Argv(), Via: leaf.Via, Runs: runs(leaf, &env)}
		pts, vs := e.set.decideLeaf(leaf, &env, fields)
		for j := range pts {
			e.add(&pts[j], &vs[j])
			w.Points = append(w.Points, e.point(&pts[j], &vs[j]))
		}
		e.d.Leaves = append(e.d.Leaves, w)
	}
}

// finish applies the mode and fills the rest of the decision.
func (e *explanation) finish(m string, entry *catalogue.Entry) {
	d, v := e.d, e.worst
	d.BaseDecision, d.Reason = v.decision, v.reason
	d.Mandatory = e.mandatory && v.decision == wire.Ask
	d.Scope = Builtin.String()
	if v.rule != nil {
		d.Rule, d.Scope = v.rule.Wire(), v.rule.Scope.String()
		if d.Reason == "" {
			d.Reason = RuleReason(d.Rule)
		}
	}
	for _, r := range e.losers {
		d.LosingRules = append(d.LosingRules, *r.wire())
	}
	ApplyMode(d, m, entry.Plan)
}

// RuleReason is the reason of a decision where nothing but its rule gave one.
func RuleReason(r *wire.Rule) string { return fmt.Sprintf("%s by %s", r.Decision, r.Source) }

// ApplyMode sets what the mode makes of the base decision. The gate calls it
// again when it has raised the base decision itself.
func ApplyMode(d *wire.Decision, m string, plan bool) {
	d.EffectiveMode = m
	d.Decision, d.ModeEffect = mode.Apply(m, d.Tool, plan, d.BaseDecision, d.Mandatory)
	d.ModeApplied = d.ModeEffect != ""
	d.ApprovalRequired = d.Decision == wire.Ask
}

// plain returns the rule that decides a tool without looking at its input. It
// takes as long with 100,000 rules as with one, and allocates nothing.
func (s *Set) plain(tool string, effect int) *rule {
	var space [32]*bucket
	bs := s.buckets(space[:0], tool)
	mcp := catalogue.IsMCP(tool)
	for _, b := range bs {
		if b.final[0] != nil {
			return b.final[0]
		}
		if b.final[effect] != nil {
			return b.final[effect]
		}
	}
	for scope := Session; scope >= Builtin; scope-- {
		for e := effect; ; e = 0 {
			for _, b := range bs {
				if r := b.best[scope][e]; r != nil && !(mcp && scope == Builtin && b == s.star) && !r.misses(tool) {
					return r
				}
			}
			if e == 0 {
				break
			}
		}
	}
	return nil
}

// Decide returns what happens to a call of the tool in a mode when only rules
// without conditions count: the cell of the matrix.
func (s *Set) Decide(tool, m string) wire.Verdict {
	entry, ok := catalogue.Lookup(tool)
	if !ok {
		return wire.Deny
	}
	base := wire.Allow
	if len(entry.Effects) == 0 {
		base = s.cell(tool, 0)
	}
	for _, effect := range entry.Effects {
		if v := s.cell(tool, effectIndex(effect)); v.Worse(base) {
			base = v
		}
	}
	v, _ := mode.Apply(m, tool, entry.Plan, base, false)
	return v
}

func (s *Set) cell(tool string, effect int) wire.Verdict {
	if r := s.plain(tool, effect); r != nil {
		return r.Decision
	}
	return wire.Ask
}
