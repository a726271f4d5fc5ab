package policy

import (
	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/policy/pattern"
	"github.com/kxtools/kx/pkg/policy/point"
	"github.com/kxtools/kx/pkg/policy/shell"
	"github.com/kxtools/kx/pkg/wire"
)

// decideLeaf decides the points of one leaf of a bash call. A wrapper and a
// neutral command need no allow of their own.
func (s *Set) decideLeaf(leaf *shell.Leaf, env *Env, fields map[string]string) ([]point.Point, []verdict) {
	pts := env.Bash(leaf, fields)
	vs := make([]verdict, len(pts))
	for i := range pts {
		pts[i].Host = i > 0 && vs[0].rule != nil && vs[0].rule.Sandbox != ""
		vs[i] = s.decidePoint(&pts[i], env)
		if pts[i].Bash && pts[i].Effect == catalogue.Write && pts[i].Away && vs[i].decision == wire.Allow && !vs[i].rule.path.Absolute {
			vs[i].decision, vs[i].reason = wire.Ask, "it writes outside the workspace"
		}
	}
	run := &vs[0]
	if leaf.Kind != shell.Command && run.decision != wire.Deny && !run.mandatory {
		*run = verdict{decision: wire.Allow, reason: "needs no rule"}
	}
	if run.decision == wire.Deny {
		return pts, vs
	}
	switch {
	case leaf.Unknown != "":
		run.decision, run.reason = wire.Ask, leaf.Unknown
		run.mandatory = s.commandDeny || s.pathRules
	case leaf.Opaque != "" && s.commandDeny:
		run.decision, run.reason, run.mandatory = wire.Ask, leaf.Opaque+", and a deny rule may be meant for it", true
	}
	if r := s.mayRun(leaf); r != nil && !run.mandatory {
		run.decision, run.mandatory = wire.Ask, true
		run.reason = "it may run what its arguments say, which the rule at " + r.Source() + " denies"
	}
	for _, w := range leaf.Operands {
		if v, p, ok := s.decideOperand(w, leaf, env, fields); ok {
			pts, vs = append(pts, p), append(vs, v)
		}
	}
	return pts, vs
}

// mayRun returns the deny that meets the arguments of a program of which nothing is
// known: it may be a wrapper.
func (s *Set) mayRun(leaf *shell.Leaf) *rule {
	if !s.commandDeny || !leaf.Unlisted || leaf.Far {
		return nil
	}
	var space [8]*bucket
	for _, b := range s.buckets(space[:0], "bash") {
		for i, w := range leaf.Words {
			if i == 0 || !w.Literal {
				continue
			}
			for _, r := range b.byProgram[baseName(w.Text)] {
				if r.Decision == wire.Deny && r.command.Meets(leaf.Words[i:]) != pattern.No {
					return r
				}
			}
		}
	}
	return nil
}

// decideOperand looks at an argument of a program that is not known. It may be
// a file that is read or written, so what denies or asks for either counts, and
// nothing else does.
func (s *Set) decideOperand(w shell.Word, leaf *shell.Leaf, env *Env, fields map[string]string) (verdict, point.Point, bool) {
	if !s.pathRules || w.Text == "" {
		return verdict{}, point.Point{}, false
	}
	worst, at := verdict{decision: wire.Allow}, point.Point{}
	var space [2]point.Point
	for _, p := range env.Files(space[:0], point.Point{Tool: "bash", Effect: catalogue.Read, Leaf: leaf, Fields: fields, Bash: true, Resource: w.Text, Several: w.Tree}, w) {
		if !s.mayGuard(&p, env) {
			continue
		}
		for _, effect := range [...]string{catalogue.Read, catalogue.Write} {
			p.Effect = effect
			v := s.decidePoint(&p, env)
			byPath := v.rule != nil && v.rule.Path != "" && v.decision != wire.Allow
			if !byPath && !v.mandatory {
				continue
			}
			if effect == catalogue.Write && v.decision == wire.Deny {
				// It may only be read.
				v.decision, v.mandatory = wire.Ask, true
				v.reason = "the program may write to it, which a rule denies"
			}
			if v.decision.Worse(worst.decision) {
				worst, at = v, p
			}
		}
	}
	return worst, at, worst.decision != wire.Allow
}

// mayGuard reports whether a path rule that denies or asks may speak for the
// point. Most arguments are no paths, and are done with here.
func (s *Set) mayGuard(p *point.Point, env *Env) bool {
	if p.Where == nil || p.Several {
		return true
	}
	for _, r := range s.guarding {
		if r.path.Matches(p.Where, env.Roots(), r.Decision) != pattern.No {
			return true
		}
	}
	return false
}

func baseName(s string) string {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == '/' {
			return s[i+1:]
		}
	}
	return s
}

// equivalent is the tool as which a bash point of that effect counts, too.
func equivalent(effect string) string {
	switch effect {
	case catalogue.Read:
		return "read_file"
	case catalogue.Write:
		return "write_file"
	case catalogue.Net:
		return "web_fetch"
	}
	return ""
}
