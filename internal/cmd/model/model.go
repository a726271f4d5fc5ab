// Package model is kx model: which models are configured, which one would be asked,
// whether it answers, and which were asked. The test itself runs in kxd, which has the
// clients of providers.
package model

import (
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/model/route"
	"github.com/kxtools/kx/internal/record/config/provider"
)

// New returns the noun.
func New(a *app.App) *app.Command {
	return &app.Command{
		Name:  "model",
		Usage: "the models that agents can ask",
		What: `
Models, their providers and accounts, and the roles that choose among them stand in config.toml; kx.toml(5) describes them. Keys stand in slots of kx secret or in variables, never in a file of settings.
`,
		Examples: []app.Example{
			{Line: "kx model list"},
			{Line: "kx model resolve --role default", Does: "which model a run would ask"},
			{Line: "kx model test anthropic/claude-sonnet-5", Does: "whether it answers"},
		},
		Commands: []*app.Command{NewList(a, nil), NewResolve(a, nil), NewTest(a, nil), NewHistory(a, nil)},
	}
}

// Catalog is what is configured, and how the keys stand.
type Catalog struct {
	*provider.Catalog
	State func(*provider.Account) route.KeyState
}

// open reads it. It makes nothing.
func open(a *app.App) (*Catalog, error) {
	s := site.Of(a)
	c, err := s.Models()
	if err != nil {
		return nil, err
	}
	keys, err := s.Keys()
	if err != nil {
		return nil, err
	}
	return &Catalog{c, keys.State}, nil
}
