package approve

import (
	"encoding/json"
	"os"
	"os/user"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/judge"
	"github.com/kxtools/kx/internal/gate/sandbox"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/internal/record/config"
	"github.com/kxtools/kx/internal/record/session"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/grant"
	"github.com/kxtools/kx/pkg/policy/mode"
	"github.com/kxtools/kx/pkg/policy/rulefile"
	"github.com/kxtools/kx/pkg/wire"
)

// widen fills in what an allow says beyond "yes, once".
func (h *Host) widen(args *answerArgs, ans *approval.Answer) error {
	if args.Input != nil {
		var object map[string]json.RawMessage
		if json.Unmarshal(args.Input, &object) != nil || object == nil {
			return fail.Usage("the edited input is not a JSON object")
		}
		ans.Input = args.Input
	}
	switch ans.Scope = args.Scope; args.Scope {
	case "", approval.Once:
		ans.Scope = approval.Once
		return nil
	case approval.Session, approval.Always:
	default:
		return fail.Usage("scope %q: expected once, session or always", args.Scope)
	}
	a, err := h.approvals.Get(args.ID)
	if err != nil {
		return err
	}
	if a.State != wire.ApprovalPending {
		return nil // Decide says what it is
	}
	rules, err := h.grants(a, ans)
	if err != nil {
		return err
	}
	for _, r := range rules {
		ans.Rules = append(ans.Rules, *r.Wire())
	}
	if ans.Scope == approval.Session {
		return h.addToSession(a, ans.Rules)
	}
	old, err := config.ReadPolicy(h.config, os.Getuid())
	if err == nil {
		_, err = policyWith(old, a, rules)
	}
	return err
}

// grants makes the rules of an allow for longer than once.
func (h *Host) grants(a *wire.Approval, ans *approval.Answer) ([]policy.Rule, error) {
	switch {
	case a.Mandatory:
		return nil, fail.Usage("request %s can only be allowed once: %s", a.ID, a.Reason).WithHint("kx approve allow %s", a.ID)
	case ans.Input != nil:
		return nil, fail.Usage("an edited input can only be allowed once").WithHint("kx approve allow %s --input JSON", a.ID)
	}
	rules, err := grant.Rules(a.Tool, a.Input, env(a))
	if err != nil {
		return nil, fail.Usage("request %s can only be allowed once: %v", a.ID, err).WithHint("kx approve allow %s", a.ID)
	}
	scope := policy.Session
	if ans.Scope == approval.Always {
		scope = policy.User
	}
	for i := range rules {
		rules[i].Scope, rules[i].Origin = scope, policy.Approval
		if rules[i].Effect == "" && a.Sandbox == sandbox.Host.Name {
			rules[i].Sandbox = a.Sandbox // it was asked for without walls, by a rule of the user's
		}
	}
	return rules, nil
}

// env is where the call of a request stands.
func env(a *wire.Approval) *policy.Env {
	e := &policy.Env{Workspace: a.Workspace, Cwd: a.Cwd, Resolver: judge.Files{}}
	if u, err := user.Current(); err == nil {
		e.Home = u.HomeDir
	}
	return e
}

// addToSession writes the rules of a session. They count once the answer that
// they belong to is written.
func (h *Host) addToSession(a *wire.Approval, rules []wire.Rule) error {
	now := h.now().UTC()
	var lines []session.Rule
	for _, r := range rules {
		l := session.Rule{Rule: r, ApprovalID: a.ID, At: now}
		if session.Shared(a.Session) {
			until := now.Add(session.SharedLife)
			l.Caller, l.ExpiresAt = a.Caller, &until
		}
		lines = append(lines, l)
	}
	return session.New(h.st, h.now).AddRules(a.Session, lines)
}

// policyWith returns the user's policy with the rules of a request added. It is
// an error if the call would be denied all the same.
func policyWith(old []byte, a *wire.Approval, rules []policy.Rule) ([]byte, error) {
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
	d := set.Explain(policy.Call{Tool: a.Tool, Input: a.Input, Loaded: true}, mode.Default, env(a))
	if d.Decision == wire.Deny {
		return nil, fail.Denied("deny_stands", "a rule for %s would not stand against the deny at %s", a.Tool, d.Rule.Source).WithHint("kx policy rules")
	}
	return text, nil
}

// always writes the rules of an answer into the user's policy.
func (h *Host) always(a *wire.Approval) error {
	rules, err := h.grants(a, &approval.Answer{Scope: approval.Always})
	if err != nil {
		return err
	}
	digest, bad := "", error(nil)
	path, err := config.EditPolicy(h.config, os.Getuid(), func(old []byte, _ string) ([]byte, error) {
		var text []byte
		text, bad = policyWith(old, a, rules)
		digest = config.Digest(text)
		return text, bad
	})
	if bad != nil {
		return bad
	}
	if err != nil {
		return fail.Failed("not_always", "request %s is allowed once; the rule could not be written: %v", a.ID, err).Because(err)
	}
	for _, r := range a.Rules {
		if _, err := h.log.Append(audit.PolicyChange{
			Type: audit.TypePolicyChange, V: wire.Version, Action: "add", Scope: "user", Session: a.Session, Path: path, Rule: &r, Digest: digest, DecidedBy: *a.DecidedBy,
		}, true); err != nil {
			return err
		}
	}
	return nil
}
