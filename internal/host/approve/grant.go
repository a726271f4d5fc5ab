package approve

import (
	"encoding/json"
	"os"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/widen"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/internal/record/config"
	"github.com/kxtools/kx/internal/record/secret"
	"github.com/kxtools/kx/internal/record/session"
	"github.com/kxtools/kx/pkg/policy"
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
	scope := policy.Session
	if ans.Scope == approval.Always {
		scope = policy.User
	}
	a.InputEdited = ans.Input != nil
	known, err := secret.Redactor(h.st)
	if err != nil {
		return err
	}
	rules, err := widen.Rules(a, scope, known)
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
		_, err = widen.Policy(old, a, rules)
	}
	return err
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

// always writes the rules of an answer into the user's policy.
func (h *Host) always(a *wire.Approval) error {
	known, err := secret.Redactor(h.st)
	if err != nil {
		return err
	}
	rules, err := widen.Rules(a, policy.User, known)
	if err != nil {
		return err
	}
	digest, bad := "", error(nil)
	path, err := config.EditPolicy(h.config, os.Getuid(), func(old []byte, _ string) ([]byte, error) {
		var text []byte
		text, bad = widen.Policy(old, a, rules)
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
