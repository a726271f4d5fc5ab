// Package secret is kx secret: the keys and passwords that models and servers need.
package secret

import (
	"time"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/internal/record/secret"
	"github.com/kxtools/kx/pkg/wire"
)

// New returns the noun.
func New(a *app.App) *app.Command {
	return &app.Command{
		Name:  "secret",
		Usage: "keys and passwords of models and servers",
		What: `
A secret lies in a slot, encrypted, in the state directory. A slot has one of three names: model.PROVIDER.ACCOUNT, mcp.custom.SERVER.VARIABLE or mcp.oauth.ID.

kx never prints a value. A model or a server gets it where the configuration names the slot, and nobody else. Where a value of 8 or more characters shows in the output of a tool, in the record or in whatever kx prints, [secret SLOT] stands in its place, also for its base64 and URL-encoded forms.
`,
		Examples: []app.Example{
			{Line: "kx secret set model.anthropic.work", Does: "asks for the value, and does not show it"},
			{Line: "kx secret list", Does: "which slots there are"},
			{Line: "kx secret rm model.anthropic.work", Does: "revokes it"},
		},
		Commands: []*app.Command{NewSet(a, nil), NewList(a, nil), NewRemove(a, nil)},
	}
}

// Doc is a slot as kx secret prints it. There is no field for its value.
type Doc struct {
	Type      string    `json:"type"`
	V         int       `json:"v"`
	Slot      string    `json:"slot"`
	State     string    `json:"state"` // set, revoked
	UpdatedAt time.Time `json:"updated_at"`
}

func document(in secret.Info) Doc {
	return Doc{Type: "secret", V: wire.Version, Slot: in.Slot, State: in.State, UpdatedAt: in.UpdatedAt}
}

func show(a *app.App, in secret.Info) error {
	return a.Printer().Record(document(in), func(t *out.Text) {
		t.Printf("%s %s\n", t.Paint(out.Bold, in.State), in.Slot)
	})
}

// record writes into the audit what is about to change.
func record(a *app.App, action, slot string, by wire.Decider) error {
	st, err := site.Of(a).State()
	if err != nil {
		return err
	}
	_, err = audit.New(st, a.Now).Append(audit.SecretChange{Type: audit.TypeSecretChange, V: wire.Version, Action: action, Slot: slot, DecidedBy: by}, true)
	return err
}
