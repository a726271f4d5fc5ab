// Package rules puts together the rules in force: those of the user's policy
// file and of the trusted project's, compiled, with a digest that names exactly
// this policy.
package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/internal/record/config"
	"github.com/kxtools/kx/internal/record/session"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/policy/grant"
	"github.com/kxtools/kx/pkg/policy/rulefile"
)

// Rules are the rules in force.
type Rules struct {
	Set    *policy.Set
	Digest string // sha256 over the policy files
}

// Load compiles the policy files of a configuration, with the rules that the
// session was given by people. One bad rule makes the policy invalid as a whole,
// and an invalid policy allows nothing.
func Load(c *config.Config, granted ...policy.Rule) (*Rules, error) {
	var all []policy.Rule
	sum := sha256.New()
	for _, src := range []struct {
		scope policy.Scope
		file  *config.File
	}{{policy.User, c.UserPolicy}, {policy.Project, c.ProjectPolicy}} {
		if src.file == nil {
			continue
		}
		f, err := rulefile.Parse(src.file.Data, src.file.Path, src.scope)
		if err != nil {
			return nil, invalid(err)
		}
		all = append(all, f.Rules...)
		fmt.Fprintf(sum, "%s %d\n", src.scope, len(src.file.Data))
		sum.Write(src.file.Data)
	}
	all = append(all, granted...)
	set, err := policy.Compile(all)
	if err != nil {
		return nil, invalid(err)
	}
	return &Rules{Set: set, Digest: hex.EncodeToString(sum.Sum(nil))}, nil
}

// Granted returns the rules that people gave a session for a caller when they
// answered its requests.
func Granted(st *state.State, now func() time.Time, id, caller string) ([]policy.Rule, error) {
	lines, err := session.New(st, now).Rules(id)
	if err != nil || len(lines) == 0 {
		return nil, err
	}
	answers := approval.New(st, now)
	var out []policy.Rule
	for _, l := range lines {
		if l.Caller != "" && l.Caller != caller {
			continue
		}
		// The line was written before the answer, which somebody else may
		// have given first.
		rule := policy.Rule{
			Tool: l.Rule.Tool, Effect: l.Rule.Effect, Command: l.Rule.When["command"], Path: l.Rule.When["path"], URL: l.Rule.When["url"],
			Decision: l.Rule.Decision, Scope: policy.Session, Line: len(out) + 1,
		}
		if l.Hook != "" {
			rule.Origin, rule.File, rule.Reason, rule.Input = policy.HookUpdate, "hook "+l.Hook, l.Rule.Reason, fields(l.Rule.When)
			out = append(out, rule)
			continue
		}
		a, err := answers.Get(l.ApprovalID)
		if err != nil || a.Scope != approval.Session || a.Session != id {
			continue
		}
		rule.Origin, rule.File, rule.Sandbox = policy.Approval, "approval "+l.ApprovalID, l.Rule.Sandbox
		out = append(out, rule)
	}
	return out, nil
}

// fields are the conditions of a rule that are about fields of the input.
func fields(when map[string]string) map[string]string {
	in := map[string]string{}
	for k, v := range when {
		if field, ok := strings.CutPrefix(k, "input."); ok {
			in[field] = v
		}
	}
	return in
}

// Hidden returns the patterns of what final rules deny every program to read,
// absolute or beginning with **/.
func (r *Rules) Hidden(workspace, home string) []string {
	var list []string
	for _, d := range r.Set.Rules() {
		if !d.Final || d.Path == "" || d.Effect != "" && d.Effect != catalogue.Read || d.Command != "" || d.URL != "" || len(d.Input) > 0 {
			continue
		}
		switch p := d.Path; {
		case strings.HasPrefix(p, "/"), strings.HasPrefix(p, "**/"):
			list = append(list, p)
		case strings.HasPrefix(p, "~/"):
			list = append(list, grant.EscapePath(home)+p[1:])
		default:
			list = append(list, grant.EscapePath(workspace)+"/"+p)
		}
	}
	return list
}

func invalid(err error) error {
	return fail.Config("%v; everything is denied until it is mended", err).WithHint("kx config validate").Because(err)
}
