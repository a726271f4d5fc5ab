// Package approve is kx approve: a person answers what the gate asks.
package approve

import (
	"context"
	"strings"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/approve/sheet"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/pkg/wire"
)

// New returns the noun.
func New(a *app.App) *app.Command {
	return screened(a, &app.Command{
		Name:  "approve",
		Usage: "answer the requests that wait for a person",
		What: `
A call that rules don't settle waits as a request: a file that survives any restart. Answer it here, in another terminal; the same call then runs, once. An id may be cut to a beginning that only it has.

Without a command, on a terminal, it shows what waits, live: each request in full, what was decided of its parts, and which rules an answer for longer would add. Keys answer: a once, s for the session, A always, d no, n no with a note, e edit first; ? tells them all. A key that answers counts only when nothing has changed under it for 0.3 s. With --plain, and on a terminal that can't move its cursor (TERM=dumb), it asks line by line.

Allow and deny are for people: they ask on the terminal, or take the approver key with --key for scripts. The first answer wins and is final.

The ways to be told and to answer: kx man approvals.
`,
		Examples: []app.Example{
			{Line: "kx approve", Does: "what waits, live"},
			{Line: "kx approve 7k2q", Does: "the same, beginning with this request"},
			{Line: "kx approve list"},
			{Line: "kx approve allow 7k2q"},
			{Line: `kx approve deny 7k2q --note "use the staging bucket"`},
		},
		Exits: []app.Exit{
			{Status: 2, Means: "usage, or there is no terminal"}, {Status: 3, Means: "whoever asks is no person"},
			{Status: 5, Means: "the approval host can't be started"}, {Status: 8}, {Status: 130}, {Status: 143},
		},
		Commands: []*app.Command{NewAllow(a, nil), NewAnswer(a, nil), NewDeny(a, nil), NewAllowAll(a, nil), NewDenyAll(a, nil), NewList(a, nil), NewShow(a, nil), NewStats(a, nil), NewWait(a, nil), NewWatch(a, nil)},
	}, nil)
}

// open returns the requests of the user. It makes nothing.
func open(a *app.App) (*approval.Store, error) {
	st, err := site.Of(a).Peek()
	if err != nil {
		return nil, err
	}
	return approval.New(st, a.Now), nil
}

// print shows what became of a request.
func print(a *app.App, r *wire.Approval) error {
	return printSheet(a, r, sheet.New(a).Outcome)
}

func printSheet(a *app.App, r *wire.Approval, read func(*wire.Approval) *sheet.Sheet) error {
	return a.Printer().Record(r, func(t *out.Text) {
		t.Printf("%s  %s  %s  %s ago\n", t.Paint(out.Bold, r.ID), r.State, r.Tool, sheet.Age(a.Now(), r.CreatedAt))
		for _, p := range read(r).Parts {
			if p.Name != "" {
				t.Printf("\n%s\n", t.Paint(out.Bold, p.Name))
			}
			for _, l := range p.Lines {
				t.Printf("  %s\n", t.Paint(l.Style, l.Text))
			}
		}
	})
}

// ids proposes the requests that wait.
func ids(a *app.App) app.Completer {
	return func(_ context.Context, word string) []app.Proposal {
		store, err := open(a)
		if err != nil {
			return nil
		}
		var list []app.Proposal
		pending, _ := store.List(wire.ApprovalPending)
		for _, r := range pending {
			if strings.HasPrefix(r.ID, word) {
				list = append(list, app.Proposal{Value: r.ID, Help: r.Tool + " " + sheet.Brief(sheet.New(a).Hidden(&r))})
			}
		}
		return list
	}
}
