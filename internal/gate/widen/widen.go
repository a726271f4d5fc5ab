// Package widen makes the rules that an answer for longer than once adds. The
// approval host writes them, and a person is shown them before: both ask here, so
// what is shown is what is written.
package widen

import (
	"os/user"
	"slices"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/redact"
	"github.com/kxtools/kx/internal/gate/judge"
	inforce "github.com/kxtools/kx/internal/gate/rules"
	"github.com/kxtools/kx/internal/gate/sandbox"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/grant"
	"github.com/kxtools/kx/pkg/policy/mode"
	"github.com/kxtools/kx/pkg/policy/rulefile"
	"github.com/kxtools/kx/pkg/wire"
)

// Rules are those that would allow the call of a request in a scope, the session's
// or the user's. The error says why it can only be allowed once; a rule is written down
// as it is, so it has none of the known secrets.
func Rules(a *wire.Approval, scope policy.Scope, known *redact.Redactor) ([]policy.Rule, error) {
	switch {
	case a.Mandatory:
		return nil, fail.Usage("request %s can only be allowed once: %s", a.ID, a.Reason).WithHint("kx approve allow %s", a.ID)
	case a.InputEdited:
		return nil, fail.Usage("an edited input can only be allowed once").WithHint("kx approve allow %s --input JSON", a.ID)
	}
	rules, err := grant.Rules(a.Tool, a.Input, env(a))
	if err != nil {
		return nil, fail.Usage("request %s can only be allowed once: %v", a.ID, err).WithHint("kx approve allow %s", a.ID).Because(err)
	}
	var list []policy.Rule
	for _, r := range rules {
		r.Scope, r.Origin = scope, policy.Approval
		if r.Effect == "" && a.Sandbox == sandbox.Host.Name {
			r.Sandbox = a.Sandbox // it was asked for without walls, by a rule of the user's
		}
		if !slices.ContainsFunc(list, func(have policy.Rule) bool { return inforce.Same(&have, &r) }) {
			list = append(list, r)
		}
	}
	if known.Has(string(rulefile.Append(nil, list...))) {
		return nil, fail.Usage("request %s can only be allowed once: a rule for it would have a secret in it", a.ID).WithHint("kx approve allow %s", a.ID)
	}
	return list, nil
}

// Policy returns the user's policy with the rules of a request added. It is an
// error if the call would be denied all the same.
func Policy(old []byte, a *wire.Approval, rules []policy.Rule) ([]byte, error) {
	for i := range rules {
		rules[i].Reason = "allowed always with request " + a.ID
	}
	text := rulefile.Append(old, rules...)
	f, err := rulefile.Parse(text, "policy.toml", policy.User)
	if err != nil {
		return nil, fail.Config("%v", err).WithHint("kx config validate").Because(err)
	}
	set, err := policy.Compile(f.Rules)
	if err != nil {
		return nil, fail.Config("%v", err).WithHint("kx config validate").Because(err)
	}
	e := env(a)
	e.Writable = []string{"/"} // what lies outside is denied, not asked for: the gate has looked, and looks again
	d := set.Explain(policy.Call{Tool: a.Tool, Input: a.Input, Loaded: true}, mode.Default, e)
	switch {
	case d.Decision == wire.Deny && d.Rule != nil:
		return nil, fail.Denied("deny_stands", "a rule for %s would not stand against the deny at %s", a.Tool, d.Rule.Source).WithHint("kx policy rules")
	case d.Decision == wire.Deny:
		return nil, fail.Denied("deny_stands", "a rule for %s would not stand: %s", a.Tool, d.Reason).WithHint("kx policy rules")
	}
	return text, nil
}

// env is where the call of a request stands.
func env(a *wire.Approval) *policy.Env {
	e := &policy.Env{Workspace: a.Workspace, Cwd: a.Cwd, Resolver: judge.Files{}}
	if u, err := user.Current(); err == nil {
		e.Home = u.HomeDir
	}
	return e
}
