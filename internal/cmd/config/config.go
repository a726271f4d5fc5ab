// Package config is kx config: what is set, whether it is valid, and where kx
// keeps its things.
package config

import (
	"github.com/kxtools/kx/internal/cmd/app"
)

// New returns the noun.
func New(a *app.App) *app.Command {
	return &app.Command{
		Name:  "config",
		Usage: "what is set, and where it is kept",
		What: `
The user's settings are in config.toml and policy.toml of the configuration directory; kx.toml(5) describes them. A trusted project may lower limits, and choose a stricter mode and among your models.

While a file is not valid every call is denied; the message names the file, the line and the key.
`,
		Examples: []app.Example{
			{Line: "kx config show", Does: "every setting and where it comes from"},
			{Line: "kx config validate", Does: "is everything in order"},
		},
		Commands: []*app.Command{NewShow(a, nil), NewValidate(a, nil), NewPath(a, nil)},
	}
}
