package rules

import (
	"fmt"
	"slices"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/internal/record/config"
	"github.com/kxtools/kx/internal/record/session"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/lint"
	"github.com/kxtools/kx/pkg/policy/rulefile"
	"github.com/kxtools/kx/pkg/wire"
)

// shared is how long an allow lasts in the session of a workspace's calls, which
// has no end of its own.
const shared = 8 * time.Hour

// Changes adds and removes rules on behalf of a person, who has confirmed it. The
// record knows of every change before it is made.
type Changes struct {
	Config  string // the user's configuration directory
	UID     int
	State   *state.State
	Now     func() time.Time
	Session string // that session rules belong to
	Caller  string // whose calls an allow in a shared session is for
}

// Check says whether rules can be added to those of the same scope and what there
// is to warn of. A rule that could never decide anything is refused.
func Check(have []policy.Rule, add []policy.Rule) (warnings []string, err error) {
	all := slices.Clone(have)
	for i := range add {
		if err := policy.Check(&add[i]); err != nil {
			return nil, fail.Usage("%v", err).WithHint("kx policy add --help").Because(err)
		}
		r := add[i]
		r.File, r.Line = "the new rule", i+1
		all = append(all, r)
	}
	for _, f := range lint.Rules(all) {
		if f.Rule.File != "the new rule" {
			continue
		}
		switch f.Code {
		case lint.Dead:
			return nil, fail.New("never_decides", fail.ExitUsage, "the rule would never decide anything: %s; %s", f.Detail, f.Remedy).WithHint("kx policy add --help")
		case lint.Shadowed, lint.UnknownTool:
			return nil, fail.New("never_decides", fail.ExitUsage, "the rule would never decide anything: %s", f.Detail).WithHint("%s", hint(f.Code))
		}
		warnings = append(warnings, f.Detail)
	}
	return warnings, nil
}

func hint(code string) string {
	if code == lint.UnknownTool {
		return "kx tool list --all"
	}
	return "kx policy rules"
}

// Same reports whether two rules say the same in the same words; what they give as
// a reason does not matter.
func Same(a, b *policy.Rule) bool {
	key := func(r *policy.Rule) string {
		tool := r.Tool
		if tool == "" {
			tool = "*"
		}
		return fmt.Sprintf("%s %s %q %q %q %v %s %v %s", tool, r.Effect, r.Command, r.Path, r.URL, r.Input, r.Decision, r.Final, r.Sandbox)
	}
	return key(a) == key(b)
}

// Missing returns those of the rules that are not there yet.
func Missing(have, add []policy.Rule) []policy.Rule {
	return slices.DeleteFunc(slices.Clone(add), func(r policy.Rule) bool {
		return slices.ContainsFunc(have, func(h policy.Rule) bool { return Same(&h, &r) })
	})
}

// AddUser writes rules behind those of the user's policy file, and returns them
// with their places.
func (c *Changes) AddUser(add []policy.Rule, by wire.Decider) ([]policy.Rule, error) {
	var placed []policy.Rule
	_, err := config.EditPolicy(c.Config, c.UID, func(old []byte, path string) ([]byte, error) {
		before, err := rulefile.Parse(old, path, policy.User)
		if err != nil {
			return nil, invalid(err)
		}
		add = Missing(before.Rules, add)
		text := rulefile.Append(old, add...)
		after, err := rulefile.Parse(text, path, policy.User)
		if err != nil {
			return nil, invalid(err)
		}
		if len(after.Rules) != len(before.Rules)+len(add) {
			return nil, fail.Failed("not_added", "%s can't be added to", path).WithHint("kx config validate")
		}
		placed = after.Rules[len(before.Rules):]
		return text, c.record("add", path, placed, text, by)
	})
	return placed, err
}

// RemoveUser cuts a rule of the user's out of the policy file. It must still stand
// where it was seen.
func (c *Changes) RemoveUser(r policy.Rule, by wire.Decider) error {
	_, err := config.EditPolicy(c.Config, c.UID, func(old []byte, path string) ([]byte, error) {
		f, err := rulefile.Parse(old, path, policy.User)
		if err != nil {
			return nil, invalid(err)
		}
		if !slices.ContainsFunc(f.Rules, func(h policy.Rule) bool { return h.Line == r.Line && Same(&h, &r) }) {
			return nil, fail.Conflict("changed", "%s changed while it was looked at", path).WithHint("kx policy rules")
		}
		text, err := rulefile.Remove(old, path, policy.User, r.Line)
		if err != nil {
			return nil, fail.Config("%v", err)
		}
		return text, c.record("remove", path, []policy.Rule{r}, text, by)
	})
	return err
}

// AddSession gives the session rules. In a shared session an allow names its caller
// and ends.
func (c *Changes) AddSession(add []policy.Rule, by wire.Decider) error {
	var lines []session.Rule
	now := c.Now().UTC()
	for i := range add {
		add[i].File, add[i].Line = "session "+c.Session, i+1
		l := session.Rule{Rule: *add[i].Wire(), At: now}
		if session.Shared(c.Session) && add[i].Decision == wire.Allow {
			until := now.Add(shared)
			l.Caller, l.ExpiresAt = c.Caller, &until
		}
		l.Rule.Source = ""
		lines = append(lines, l)
	}
	if err := c.record("add", "", add, nil, by); err != nil {
		return err
	}
	return session.New(c.State, c.Now).AddRules(c.Session, lines)
}

// RemoveSession takes a rule back that a person gave the session.
func (c *Changes) RemoveSession(r policy.Rule, by wire.Decider) error {
	if err := c.record("remove", "", []policy.Rule{r}, nil, by); err != nil {
		return err
	}
	n, err := session.New(c.State, c.Now).RemoveRules(c.Session, func(l session.Rule) bool {
		have := policy.FromWire(&l.Rule, policy.Session)
		from := "session " + c.Session
		switch {
		case l.Hook != "":
			from = "hook " + l.Hook
		case l.ApprovalID != "":
			from = "approval " + l.ApprovalID
		}
		return from == r.File && Same(&have, &r)
	})
	if err == nil && n == 0 {
		err = fail.Conflict("changed", "the session's rules changed while they were looked at").WithHint("kx policy rules --session %s", c.Session)
	}
	return err
}

// record writes a change down before it is made.
func (c *Changes) record(action, path string, list []policy.Rule, text []byte, by wire.Decider) error {
	log := audit.New(c.State, c.Now)
	for i := range list {
		line := audit.PolicyChange{Type: audit.TypePolicyChange, V: wire.Version, Action: action, Scope: list[i].Scope.String(), Path: path, Rule: list[i].Wire(), DecidedBy: by}
		if path == "" {
			line.Session = c.Session
		} else {
			line.Digest = config.Digest(text)
		}
		if _, err := log.Append(line, true); err != nil {
			return err
		}
	}
	return nil
}
