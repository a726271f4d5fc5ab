// Package session is kx session: what agents did and what people called, as it lies in
// the state directory.
package session

import (
	"context"
	"strings"

	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/record/session"
)

// New returns the noun.
func New(a *app.App) *app.Command {
	return &app.Command{
		Name:  "session",
		Usage: "take sessions elsewhere",
		What: `
A session is what an agent did in one run, or the calls that were made in a workspace without one. It is a folder of plain files, see kx-session(5).
`,
		Examples: []app.Example{{Line: "kx session export a3fk > a3fk.md"}},
		Commands: []*app.Command{NewExport(a, nil)},
	}
}

// ids proposes sessions.
func ids(a *app.App) app.Completer {
	return func(_ context.Context, word string) []app.Proposal {
		st, err := site.Of(a).Peek()
		if err != nil {
			return nil
		}
		var list []app.Proposal
		all, _ := session.New(st, a.Now).List()
		for _, m := range all {
			if strings.HasPrefix(m.ID, word) {
				list = append(list, app.Proposal{Value: m.ID, Help: m.State + " in " + m.Workspace})
			}
		}
		return list
	}
}
