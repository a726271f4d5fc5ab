// Package policy is kx policy: what would happen, and why.
package policy

import (
	"strings"

	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/policy/peer"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/gate/judge"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/record/config"
)

// New returns the noun.
func New(a *app.App) *app.Command {
	return &app.Command{
		Name:  "policy",
		Usage: "what would happen to a call, and why",
		What: `
Rules stand in policy.toml of the configuration directory, and in .kx/policy.toml of a workspace that is trusted. These commands explain them. Nothing runs, nobody is asked, nothing is recorded.
`,
		Examples: []app.Example{
			{Line: `kx policy check --tool bash --input '{"command":"git status"}'`},
			{Line: "kx policy matrix --tool 'write_*'"},
			{Line: "kx policy lint"},
		},
		Commands: []*app.Command{NewCheck(a, nil), peer.NewDoctor(a, nil), peer.NewHook(a, nil), peer.NewImport(a, nil), peer.NewInstall(a, nil), NewLint(a, nil), NewMatrix(a, nil), NewRules(a, nil), peer.NewUninstall(a, nil)},
	}
}

// deps are what the verbs explain with.
type deps struct {
	judge *judge.Judge
	tools *tool.Registry
}

func (d *deps) loaded(name string) bool { return d.tools.Get(name) != nil }

// shortened names the policy files in a sentence as a person knows them.
func (d *deps) shortened(sentence string) string {
	for _, f := range []*config.File{d.judge.Config.UserPolicy, d.judge.Config.ProjectPolicy} {
		if f != nil {
			sentence = strings.ReplaceAll(sentence, f.Path, short(f.Path))
		}
	}
	return sentence
}

func open(a *app.App) (*deps, error) {
	s := site.Of(a)
	j, err := s.Judge()
	if err != nil {
		return nil, err
	}
	reg, err := s.Tools(j)
	return &deps{j, reg}, err
}
