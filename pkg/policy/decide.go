package policy

import (
	"fmt"

	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/policy/pattern"
	"github.com/kxtools/kx/pkg/policy/point"
	"github.com/kxtools/kx/pkg/policy/shell"
	"github.com/kxtools/kx/pkg/wire"
)

// candidate is a rule that speaks for a point.
type candidate struct {
	*rule
	oneForm bool // its path matches as written or as resolved, not both
	missed  bool // so it is, and an allow, which needs both
}

// verdict is what was decided of a point.
type verdict struct {
	decision  wire.Verdict
	mandatory bool
	rule      *rule
	reason    string
	losers    []loser
}

// collect appends the rules that speak for a point. A deny that can't be proven
// not to match is reported apart.
func (s *Set) collect(to []candidate, p *point.Point, env *Env) (found []candidate, unproven *rule) {
	var space [8]*bucket
	own := s.buckets(space[:0], p.Tool)
	to, unproven = collectFrom(to, own, p, env, p.Bash)
	if other := equivalent(p.Effect); p.Bash && other != "" {
		seen := len(to)
		var u *rule
		to, u = collectFrom(to, s.buckets(nil, other), p, env, false)
		if unproven == nil {
			unproven = u
		}
		to = dedupe(to, seen)
	}
	return to, unproven
}

// dedupe drops the candidates from the index on that are there already: a
// prefix such as * fits both bash and its equivalent.
func dedupe(list []candidate, from int) []candidate {
	out := list[:from]
	for _, c := range list[from:] {
		seen := false
		for _, have := range out[:from] {
			seen = seen || have.rule == c.rule
		}
		if !seen {
			out = append(out, c)
		}
	}
	return out
}

// collectFrom goes through buckets. narrow is set for the read, write and net
// points of bash under its own name: there a rule has to say that it means them.
func collectFrom(to []candidate, buckets []*bucket, p *point.Point, env *Env, narrow bool) ([]candidate, *rule) {
	e := effectIndex(p.Effect)
	var unproven *rule
	test := func(list []*rule) {
		for _, r := range list {
			switch r.matches(p, env, narrow) {
			case pattern.Fully:
				to = append(to, candidate{rule: r})
			case pattern.OneForm:
				to = append(to, candidate{rule: r, oneForm: true, missed: r.Decision == wire.Allow})
			case pattern.Maybe:
				if r.Decision == wire.Deny {
					unproven = r
				} else {
					to = append(to, candidate{rule: r})
				}
			}
		}
	}
	plain := func(r *rule) {
		if r != nil && r.speaksPlainly(p, narrow) {
			to = append(to, candidate{rule: r})
		}
	}
	for _, b := range buckets {
		for scope := range b.best {
			plain(b.best[scope][0])
			if e != 0 {
				plain(b.best[scope][e])
			}
		}
		plain(b.final[0])
		if e != 0 {
			plain(b.final[e])
		}
		for _, r := range b.dynamic {
			if r.Effect == "" || r.Effect == p.Effect {
				plain(r)
			}
		}
		test(b.when)
		if len(b.byProgram) == 0 {
			continue
		}
		if p.Leaf == nil {
			continue
		}
		if words := p.Leaf.Becomes(); len(words) > 0 && words[0].Literal {
			test(b.byProgram[baseName(words[0].Text)])
		} else {
			for _, list := range b.byProgram { // a computed name may be any
				test(list)
			}
		}
	}
	return to, unproven
}

// speaksPlainly reports whether a rule without conditions speaks for a point.
func (r *rule) speaksPlainly(p *point.Point, narrow bool) bool {
	if narrow && r.Effect == "" {
		return false
	}
	if r.name == "*" && (r.Scope == Builtin && (p.Bash || catalogue.IsMCP(p.Tool) || outside(p)) || r.misses(p.Tool)) {
		return false
	}
	return !(r.Decision == wire.Allow && outside(p))
}

// misses reports whether a rule for every tool is not meant for this one: nobody who
// wrote it knew what another client's tool does.
func (r *rule) misses(tool string) bool {
	return r.Decision == wire.Allow && r.name == "*" && catalogue.IsForeign(tool)
}

// outside reports whether a file tool reaches outside the workspace: only a
// rule that names an absolute path may allow that.
func outside(p *point.Point) bool { return p.Away && !p.Bash }

// matches compares the effect and all conditions of a rule with a point.
func (r *rule) matches(p *point.Point, env *Env, narrow bool) pattern.Match {
	if r.Effect != "" && r.Effect != p.Effect && !(r.Path != "" && p.Strings != nil && r.Decision != wire.Allow) {
		return pattern.No
	}
	if narrow && r.Effect == "" && r.Path == "" && r.URL == "" {
		return pattern.No
	}
	if r.Decision == wire.Allow && outside(p) && !r.path.Absolute {
		return pattern.No
	}
	least := pattern.Fully
	worse := func(m pattern.Match) bool {
		least = min(least, m)
		return m == pattern.No
	}
	if r.Command != "" {
		if p.Leaf == nil || r.Effect == "" && p.Effect != catalogue.Exec {
			return pattern.No
		}
		words := p.Leaf.Becomes()
		if len(words) > 0 && !words[0].Literal && p.Leaf.Kind == shell.Neutral && len(r.command.Words) > 0 {
			return pattern.No // x=$y runs nothing
		}
		if r.Decision == wire.Allow {
			if !r.command.Allows(p.Leaf.Words) && !(p.Leaf.Plain != nil && r.command.Allows(p.Leaf.Plain)) {
				return pattern.No
			}
		} else if worse(max(r.command.Meets(words), r.command.Meets(p.Leaf.Plain))) {
			return pattern.No
		}
	}
	if r.Path != "" && worse(r.matchesPath(p, env)) {
		return pattern.No
	}
	if r.URL != "" {
		switch {
		case p.Effect != catalogue.Net:
			return pattern.No
		case p.URL == nil:
			if r.Decision == wire.Allow || p.Unknown == "" || worse(pattern.Maybe) {
				return pattern.No
			}
		case !r.url.Matches(*p.URL):
			return pattern.No
		}
	}
	for field, want := range r.Input {
		if !fieldMatches(want, p.Fields, field) {
			return pattern.No
		}
	}
	return least
}

func (r *rule) matchesPath(p *point.Point, env *Env) pattern.Match {
	if p.Strings != nil && r.Decision != wire.Allow {
		m := pattern.No
		for i := range p.Strings {
			m = max(m, r.path.Matches(&p.Strings[i], env.Roots(), r.Decision))
		}
		return m
	}
	if p.Effect != catalogue.Read && p.Effect != catalogue.Write {
		return pattern.No
	}
	if p.Where == nil {
		if r.Decision != wire.Allow && p.Unknown != "" {
			return pattern.Maybe
		}
		return pattern.No
	}
	m := r.path.Matches(p.Where, env.Roots(), r.Decision)
	if m != pattern.No || r.Decision == wire.Allow {
		return m
	}
	for i := range p.Below {
		if r.path.Matches(&p.Below[i], env.Roots(), r.Decision) != pattern.No {
			return pattern.Maybe
		}
	}
	// What lies below a folder may match. The sandbox masks what a final deny
	// says must not be read.
	masked := r.Final && p.Effect == catalogue.Read && !p.Host
	if p.Several && !masked && r.path.MayMatchBelow(p.Where, env.Roots()) && (p.Effect == catalogue.Write || env.Holds(p.Where)) {
		return pattern.Maybe
	}
	return pattern.No
}

func fieldMatches(want string, fields map[string]string, field string) bool {
	have, ok := fields[field]
	if !ok {
		return false
	}
	if n := len(want); n > 0 && want[n-1] == '*' {
		return len(have) >= n-1 && have[:n-1] == want[:n-1]
	}
	return have == want
}

// winner picks the rule that decides: see the order in better.
func winner(list []candidate, dynamic bool) *candidate {
	var best, deny *candidate
	for i := range list {
		c := &list[i]
		if c.missed || !dynamic && c.Origin != Static {
			continue
		}
		if best == nil || better(c, best) {
			best = c
		}
		if c.Decision == wire.Deny && (deny == nil || better(c, deny)) {
			deny = c
		}
	}
	if best != nil && deny != nil && best.Decision == wire.Ask && best.oneForm {
		return deny
	}
	return best
}

// better reports whether a decides before b: a final deny, then the higher
// scope, then more conditions, then an effect. Among rules with conditions the
// stricter comes first, then the more exact name; among rules without, the more
// exact name, then the stricter. Between equals the first by file and line is
// the one that is named.
func better(a, b *candidate) bool {
	switch {
	case a.Final != b.Final:
		return a.Final
	case a.Scope != b.Scope:
		return a.Scope > b.Scope
	case a.conditions != b.conditions:
		return a.conditions > b.conditions
	case a.conditions > 0 && a.Decision != b.Decision:
		return a.Decision.Worse(b.Decision)
	case a.conditions == 0 && (a.Effect != "") != (b.Effect != ""):
		return a.Effect != ""
	case a.exactness() != b.exactness():
		return a.exactness() > b.exactness()
	}
	return a.before(b.rule)
}

// decidePoint decides one point.
func (s *Set) decidePoint(p *point.Point, env *Env) verdict {
	p.Away = p.Where != nil && !env.Inside(p.Where)
	for i := range p.Below {
		p.Away = p.Away || !env.Inside(&p.Below[i])
	}
	if p.Away && p.Effect == catalogue.Write && !p.Bash {
		// Checked before any allow: no rule opens a file outside.
		v := s.judge(p, env)
		v.decision, v.reason, v.mandatory = wire.Deny, ReasonOutside, false
		return v
	}
	return s.judge(p, env)
}

func (s *Set) judge(p *point.Point, env *Env) verdict {
	var space [16]candidate
	list, unproven := s.collect(space[:0], p, env)
	win := winner(list, false)
	if s.dynamic && (win == nil || win.Decision != wire.Deny) {
		win = winner(list, true)
	}
	v := verdict{}
	if win != nil {
		v.rule, v.decision, v.reason = win.rule, win.Decision, win.Reason
	} else {
		v.decision, v.reason = s.fallback(p)
	}
	for i := range list {
		if win == nil || list[i].rule != win.rule {
			v.losers = append(v.losers, loser{rule: list[i].rule, to: v.rule, why: loses(&list[i], win)})
		}
	}
	if v.decision == wire.Deny {
		return v
	}
	switch {
	case unproven != nil:
		v.decision, v.mandatory = wire.Ask, true
		v.reason = fmt.Sprintf("it can't be proven that the deny at %s does not match", unproven.Source())
	case p.Unknown != "":
		v.decision, v.reason = wire.Ask, p.Unknown
	}
	return v
}

// DecidePath decides one effect of a tool on one absolute, canonical path, before
// the mode, and returns the rule and the reason. It is for tools that walk.
func (s *Set) DecidePath(tool, effect, path string, env *Env) (wire.Verdict, *wire.Rule, string) {
	p := point.Point{Tool: tool, Effect: effect, Where: &pattern.Place{Written: path, Resolved: path}}
	v := s.decidePoint(&p, env)
	if v.rule == nil {
		return v.decision, nil, v.reason
	}
	return v.decision, v.rule.Wire(), v.reason
}

// fallback is what holds where no rule speaks for a point.
func (s *Set) fallback(p *point.Point) (wire.Verdict, string) {
	switch {
	case outside(p):
		return wire.Ask, ReasonOutside
	case !p.Bash:
		return wire.Ask, "no rule speaks for it"
	case p.Effect == catalogue.Read && p.Where != nil && !p.Away:
		return wire.Allow, ""
	case p.Effect == catalogue.Read:
		return wire.Ask, "it reads outside the workspace"
	case p.Effect == catalogue.Write && p.Away:
		return wire.Ask, "it writes outside the workspace"
	case p.Effect == catalogue.Net:
		return wire.Ask, "it reaches the network"
	}
	return wire.Ask, "no rule speaks for it"
}
