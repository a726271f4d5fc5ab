// Package audit is kx audit: the record of decisions, read and proven.
package audit

import (
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/record/audit"
)

// New returns the noun.
func New(a *app.App) *app.Command {
	return &app.Command{
		Name:  "audit",
		Usage: "the record of every decision",
		What: `
Every call leaves a line with what was decided and why, before it runs, and one with how it ended. The lines are a chain: each names the sha256 of the one before it.

The chain shows lines that were edited, removed or moved. It can't show that somebody who may write the files wrote all of them anew: for that, keep the digest of kx audit head somewhere else.
`,
		Examples: []app.Example{
			{Line: "kx audit list --since 24h --decision deny", Does: "what was denied today"},
			{Line: "kx audit verify", Does: "is the record whole"},
		},
		Commands: []*app.Command{NewList(a, nil), NewShow(a, nil), NewVerify(a, nil), NewHead(a, nil)},
	}
}

// open returns the record. It makes nothing.
func open(a *app.App) (*audit.Log, error) {
	st, err := site.Of(a).Peek()
	if err != nil {
		return nil, err
	}
	return audit.New(st, a.Now), nil
}
