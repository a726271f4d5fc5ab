// Package policy is kx policy: what would happen, and why.
package policy

import (
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/policy/change"
	"github.com/kxtools/kx/internal/cmd/policy/past"
	"github.com/kxtools/kx/internal/cmd/policy/peer"
)

// New returns the noun.
func New(a *app.App) *app.Command {
	return &app.Command{
		Name:  "policy",
		Usage: "what would happen to a call, and why",
		What: `
Rules stand in policy.toml of the configuration directory, and in .kx/policy.toml of a workspace that is trusted. These commands explain them; add and remove change them. No tool runs.
`,
		Examples: []app.Example{
			{Line: `kx policy check --tool bash --input '{"command":"git status"}'`},
			{Line: "kx policy matrix --tool 'write_*'"},
			{Line: "kx policy lint"},
		},
		Commands: []*app.Command{
			change.NewAdd(a, nil), NewCheck(a, nil), peer.NewDoctor(a, nil), peer.NewHook(a, nil), peer.NewImport(a, nil), peer.NewInstall(a, nil),
			past.NewLearn(a, nil), NewLint(a, nil), NewMatrix(a, nil), change.NewRemove(a, nil), past.NewReplay(a, nil), NewRules(a, nil), NewTest(a, nil),
			peer.NewUninstall(a, nil),
		},
	}
}
