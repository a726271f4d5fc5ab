// Package policy decides what happens to a tool call: rules, scopes, modes, the
// catalogue of tool names, explanations, the matrix and lint. It does no I/O:
// files and folders come through a Resolver that the caller fills, so the same
// engine answers for a dry run, for the gate and for a test.
//
// A call is split into points: one effect (read, write, exec, net) on one
// resource. Rules speak for points. The worst point is the base decision, the
// mode is applied once to that, and what can't be understood is ask. The order
// in which rules stand in a file never matters.
package policy

import (
	"fmt"
	"sort"
	"strings"

	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/policy/point"
	"github.com/kxtools/kx/pkg/wire"
)

// Scope is where a rule comes from. A higher scope with a word to say decides.
type Scope int

// The scopes, lowest first.
const (
	Builtin Scope = iota
	User
	Project
	Session
	scopes
)

func (s Scope) String() string {
	return [...]string{"builtin", "user", "project", "session"}[s]
}

// effectIndex numbers the effects for tables; 0 is "whatever the effect".
func effectIndex(effect string) int {
	switch effect {
	case catalogue.Read:
		return 1
	case catalogue.Write:
		return 2
	case catalogue.Exec:
		return 3
	case catalogue.Net:
		return 4
	}
	return 0
}

const effects = 5

// Origins of a rule.
const (
	Static     = "static"
	HookUpdate = "hook_update"
	Approval   = "approval"
)

// Rule is one rule as it is written in a policy file.
type Rule struct {
	Tool     string            // exact, prefix* or *; "" is *
	Effect   string            // "" is any
	Command  string            // literal words, a last * = any rest
	Path     string            // glob
	URL      string            // glob
	Input    map[string]string // top-level string fields, exact or a last *
	Decision wire.Verdict
	Final    bool
	Sandbox  string
	Reason   string

	Scope  Scope
	Origin string // Static if empty
	File   string
	Line   int
}

// Source says where the rule stands.
func (r *Rule) Source() string {
	if r.File == "" {
		return "built-in"
	}
	return fmt.Sprintf("%s:%d", r.File, r.Line)
}

// Wire returns the rule as it is shown.
func (r *Rule) Wire() *wire.Rule {
	w := &wire.Rule{
		Tool: r.Tool, Effect: r.Effect, Decision: r.Decision, Scope: r.Scope.String(),
		Origin: r.Origin, Source: r.Source(), Final: r.Final, Sandbox: r.Sandbox, Reason: r.Reason,
	}
	if w.Tool == "" {
		w.Tool = "*"
	}
	if w.Origin == "" {
		w.Origin = Static
	}
	add := func(k, v string) {
		if v == "" {
			return
		}
		if w.When == nil {
			w.When = map[string]string{}
		}
		w.When[k] = v
	}
	add("command", r.Command)
	add("path", r.Path)
	add("url", r.URL)
	for k, v := range r.Input {
		add("input."+k, v)
	}
	return w
}

// FromWire is Wire the other way round, into a scope. Where the rule stands is
// left to the caller.
func FromWire(w *wire.Rule, scope Scope) Rule {
	r := Rule{
		Tool: w.Tool, Effect: w.Effect, Decision: w.Decision, Final: w.Final, Sandbox: w.Sandbox, Reason: w.Reason, Scope: scope, Origin: w.Origin,
	}
	for k, v := range w.When {
		field, isField := strings.CutPrefix(k, "input.")
		switch {
		case isField && r.Input == nil:
			r.Input = map[string]string{field: v}
		case isField:
			r.Input[field] = v
		case k == "command":
			r.Command = v
		case k == "path":
			r.Path = v
		case k == "url":
			r.URL = v
		}
	}
	return r
}

// Env is where a call is judged; files come through its Resolver.
type Env = point.Env

// Call is a call to be judged.
type Call struct {
	Tool   string
	Input  []byte // JSON object, or empty: judge the tool without its input
	Loaded bool   // the tool can be run here
}

// Set is a compiled set of rules. It is not changed after Compile and may be
// used by several goroutines.
type Set struct {
	exact   map[string]*bucket
	prefix  map[string]*bucket
	star    *bucket
	lengths []int // of the prefixes, longest first
	rules   []*rule

	dynamic     bool    // there are rules from hooks or approvals
	commandDeny bool    // a deny rule looks at commands
	pathRules   bool    // a deny or ask rule looks at paths
	guarding    []*rule // those rules
}

// bucket holds the rules that name one tool pattern.
type bucket struct {
	best      [scopes][effects]*rule // without conditions, the strictest
	final     [effects]*rule         // final denies without conditions
	dynamic   []*rule                // without conditions, from hooks and approvals
	when      []*rule                // with conditions
	byProgram map[string][]*rule     // with a command that starts with that word
}

// Compile makes a set of the built-in rules and the given ones.
func Compile(rules []Rule) (*Set, error) {
	s := &Set{exact: map[string]*bucket{}, prefix: map[string]*bucket{}, star: &bucket{}}
	s.rules = make([]*rule, 0, len(rules)+len(builtin))
	for _, list := range [][]Rule{builtin, rules} {
		for i := range list {
			r, err := compile(&list[i])
			if err != nil {
				return nil, err
			}
			s.add(r)
		}
	}
	seen := map[int]bool{}
	for p := range s.prefix {
		if !seen[len(p)] {
			seen[len(p)] = true
			s.lengths = append(s.lengths, len(p))
		}
	}
	sort.Sort(sort.Reverse(sort.IntSlice(s.lengths)))
	return s, nil
}

// Rules returns all rules, the built-in ones too, highest scope first and in
// the order of their files.
func (s *Set) Rules() []Rule {
	out := make([]Rule, 0, len(s.rules))
	for _, r := range s.rules {
		out = append(out, r.Rule)
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Scope > out[j].Scope })
	return out
}

func (s *Set) add(r *rule) {
	s.rules = append(s.rules, r)
	s.dynamic = s.dynamic || r.Origin == HookUpdate || r.Origin == Approval
	s.commandDeny = s.commandDeny || r.Decision == wire.Deny && r.Command != ""
	if r.Decision != wire.Allow && r.Path != "" {
		s.pathRules, s.guarding = true, append(s.guarding, r)
	}
	b := s.bucket(r)
	switch {
	case r.conditions == 0 && r.Origin != Static:
		b.dynamic = append(b.dynamic, r)
	case r.conditions == 0:
		e := effectIndex(r.Effect)
		if have := b.best[r.Scope][e]; have == nil || r.before(have) {
			b.best[r.Scope][e] = r
		}
		if have := b.final[e]; r.Final && (have == nil || r.before(have)) {
			b.final[e] = r
		}
	case len(r.command.Words) > 0:
		if b.byProgram == nil {
			b.byProgram = map[string][]*rule{}
		}
		b.byProgram[r.command.Program()] = append(b.byProgram[r.command.Program()], r)
	default:
		b.when = append(b.when, r)
	}
}

func (s *Set) bucket(r *rule) *bucket {
	if r.name == "*" {
		return s.star
	}
	m, key := s.exact, r.name
	if p, ok := strings.CutSuffix(r.name, "*"); ok {
		m, key = s.prefix, p
	}
	b := m[key]
	if b == nil {
		b = &bucket{}
		m[key] = b
	}
	return b
}

// buckets appends the buckets that fit a tool, the most exact one first.
func (s *Set) buckets(to []*bucket, tool string) []*bucket {
	if b := s.exact[tool]; b != nil {
		to = append(to, b)
	}
	for _, n := range s.lengths {
		if n > len(tool) {
			continue
		}
		if b := s.prefix[tool[:n]]; b != nil {
			to = append(to, b)
		}
	}
	return append(to, s.star)
}

// builtin are the rules that hold when nobody says anything. The * stays
// visible in explanations instead of being an implicit default.
var builtin = []Rule{
	{Tool: "bash", Decision: wire.Ask},
	{Tool: "write_file", Decision: wire.Ask},
	{Tool: "edit_file", Decision: wire.Ask},
	{Tool: "apply_patch", Decision: wire.Ask},
	{Tool: "mcp__*", Decision: wire.Ask},
	{Tool: "list_mcp_resources", Decision: wire.Ask},
	{Tool: "list_mcp_resource_templates", Decision: wire.Ask},
	{Tool: "read_mcp_resource", Decision: wire.Ask},
	{Tool: "exit_plan_mode", Decision: wire.Ask},
	{Tool: "browser_*", Decision: wire.Ask},
	{Tool: "lsp_rename", Effect: catalogue.Write, Decision: wire.Ask},
	{Tool: "*", Decision: wire.Allow},
}
