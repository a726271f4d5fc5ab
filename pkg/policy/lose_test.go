package policy_test

import (
	"testing"

	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/mode"
	"github.com/kxtools/kx/pkg/wire"
)

// linked is a Resolver in which link leads to docs.
type linked struct{}

func (linked) Resolve(path string) (string, error) {
	if path == "/ws/link/a.md" {
		return "/ws/docs/a.md", nil
	}
	return path, nil
}

func (linked) Glob(string) ([]string, error) { return nil, nil }

// A rule that speaks for a call and does not decide it says why.
func TestLosers(t *testing.T) {
	deny := func(r policy.Rule) policy.Rule { r.Decision = wire.Deny; return r }
	allow := func(r policy.Rule) policy.Rule { r.Decision = wire.Allow; return r }
	for _, tt := range []struct {
		win, lose policy.Rule
		want      string
	}{
		{deny(policy.Rule{Tool: "edit_file", Final: true}), allow(policy.Rule{Path: "docs/**", Scope: policy.Session}), "a final deny stands above every rule"},
		{allow(policy.Rule{Tool: "*", Scope: policy.Project}), deny(policy.Rule{Path: "docs/**"}), "the project's rules stand above it"},
		{deny(policy.Rule{Tool: "edit_file", Scope: policy.Session}), allow(policy.Rule{Tool: "edit_file", Scope: policy.Project}), "the session's rules stand above it"},
		{allow(policy.Rule{Path: "docs/**"}), deny(policy.Rule{Tool: "edit_file"}), "it has fewer conditions"},
		{deny(policy.Rule{Path: "docs/**"}), allow(policy.Rule{Path: "docs/a.md"}), "deny comes before allow"},
		{deny(policy.Rule{Effect: "write"}), allow(policy.Rule{Tool: "edit_file"}), "it names no effect"},
		{allow(policy.Rule{Tool: "edit_file"}), deny(policy.Rule{Tool: "edit*"}), "its tool is less exact"},
		{allow(policy.Rule{Tool: "edit_file", Path: "docs/**"}), allow(policy.Rule{Tool: "edit_file", Path: "docs/*"}), "it says the same"},
		{deny(policy.Rule{Tool: "edit_file"}), allow(policy.Rule{Path: "docs/**", Scope: policy.Session, Origin: policy.Approval}), "what is allowed for a while lifts no deny"},
		{deny(policy.Rule{Path: "docs/**"}), allow(policy.Rule{Path: "link/**"}), "an allow needs the path as it is written and as it leads"},
	} {
		tt.win.File, tt.win.Line, tt.lose.File, tt.lose.Line = "f", 1, "f", 2
		for _, r := range []*policy.Rule{&tt.win, &tt.lose} {
			if r.Scope == policy.Builtin {
				r.Scope = policy.User
			}
		}
		set, err := policy.Compile([]policy.Rule{tt.lose, tt.win})
		if err != nil {
			t.Fatal(err)
		}
		path := "docs/a.md"
		if tt.lose.Path == "link/**" {
			path = "link/a.md"
		}
		d := set.Explain(policy.Call{Tool: "edit_file", Input: []byte(`{"path":"` + path + `"}`)}, mode.Default, &policy.Env{Workspace: "/ws", Cwd: "/ws", Resolver: linked{}})
		if d.Rule == nil || d.Rule.Source != "f:1" {
			t.Errorf("%s: %+v decided", tt.want, d.Rule)
			continue
		}
		got := ""
		for _, l := range d.LosingRules {
			if l.Source == "f:2" {
				if got = l.Lost; l.LostTo != "f:1" {
					t.Errorf("%s: lost to %q", tt.want, l.LostTo)
				}
			}
		}
		if got != tt.want {
			t.Errorf("%s lost: %q, want %q", tt.lose.Path+tt.lose.Tool, got, tt.want)
		}
	}
}
