// Package agent is kx agent: runs of an agent, and what became of them. The loop
// itself runs in kxd, which run and resume turn into.
package agent

import (
	"context"
	"strings"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/record/session"
)

// New returns the noun.
func New(a *app.App) *app.Command {
	return &app.Command{
		Name:  "agent",
		Usage: "run agents behind the gate",
		What: `
An agent is a model that works in a workspace with the tools of kx. Every call goes through the gate. A call that needs a person is waited for (--wait), or the run parks (4) and goes on with kx agent resume once it is answered, in any later process.
`,
		Examples: []app.Example{
			{Line: `kx agent run "make the failing test pass" --exec ./model --wait 10m`},
			{Line: "kx agent list"},
			{Line: "kx agent resume a3fk"},
		},
		Commands: []*app.Command{NewContext(a, nil), NewFork(a, nil), NewList(a, nil), NewResume(a, nil), NewRun(a, nil), NewShow(a, nil), NewStop(a, nil)},
	}
}

// open returns the sessions of the user. It makes nothing.
func open(a *app.App) (*session.Store, error) {
	st, err := site.Of(a).Peek()
	if err != nil {
		return nil, err
	}
	return session.New(st, a.Now), nil
}

// shared tells the session of a workspace's calls from an agent's.
func shared(id string) bool { return strings.HasPrefix(id, "cli-") }

// Over refuses to go on with a run that has ended for good.
func Over(m session.Meta) error {
	if m.State == session.Completed || m.State == session.Stopped {
		return fail.Conflict("session_over", "session %s is %s", m.ID, m.State).WithHint("kx agent show %s", m.ID)
	}
	return nil
}

// ids proposes the sessions of agents.
func ids(a *app.App) app.Completer {
	return func(_ context.Context, word string) []app.Proposal {
		store, err := open(a)
		if err != nil {
			return nil
		}
		var list []app.Proposal
		all, _ := store.List()
		for _, m := range all {
			if !shared(m.ID) && strings.HasPrefix(m.ID, word) {
				list = append(list, app.Proposal{Value: m.ID, Help: m.State + " in " + m.Workspace})
			}
		}
		return list
	}
}
