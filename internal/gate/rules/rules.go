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

// Granted returns the rules that people gave a session for a caller: when they
// answered its requests, or with kx policy add.
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
		r := policy.FromWire(&l.Rule, policy.Session)
		r.Origin, r.File, r.Line = policy.Static, "session "+id, len(out)+1
		switch {
		case l.Hook != "":
			r.Origin, r.File, r.Sandbox, r.Final = policy.HookUpdate, "hook "+l.Hook, "", false
		case l.ApprovalID != "":
			// The line was written before the answer, which somebody else may
			// have given first.
			a, err := answers.Get(l.ApprovalID)
			if err != nil || a.Scope != approval.Session || a.Session != id {
				continue
			}
			r.Origin, r.File = policy.Approval, "approval "+l.ApprovalID
		}
		out = append(out, r)
	}
	return out, nil
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
