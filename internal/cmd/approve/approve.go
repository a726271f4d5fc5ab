// Package approve is kx approve: a person answers what the gate asks.
package approve

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/pkg/wire"
)

// New returns the noun.
func New(a *app.App) *app.Command {
	return &app.Command{
		Name:  "approve",
		Usage: "answer the requests that wait for a person",
		What: `
A call that rules don't settle waits as a request: a file that survives any restart. Answer it here, in another terminal; the same call then runs, once. An id may be cut to a beginning that only it has.

Allow and deny are for people: they ask on the terminal, or take the approver key with --key for scripts. The first answer wins and is final.
`,
		Examples: []app.Example{
			{Line: "kx approve list"},
			{Line: "kx approve allow 7k2q"},
			{Line: `kx approve deny 7k2q --note "use the staging bucket"`},
		},
		Commands: []*app.Command{NewAllow(a, nil), NewDeny(a, nil), NewList(a, nil), NewShow(a, nil), NewWait(a, nil)},
	}
}

// open returns the requests of the user. It makes nothing.
func open(a *app.App) (*approval.Store, error) {
	st, err := site.Of(a).Peek()
	if err != nil {
		return nil, err
	}
	return approval.New(st, a.Now), nil
}

// print shows one request.
func print(a *app.App, r *wire.Approval) error {
	return a.Printer().Record(r, func(t *out.Text) {
		t.Printf("%s  %s  %s  %s\n", t.Paint(out.Bold, r.ID), r.State, r.Tool, age(a.Now(), r.CreatedAt))
		for _, l := range [][2]string{
			{"session", r.Session}, {"caller", r.Caller}, {"in", r.Cwd}, {"why", r.Reason}, {"note", r.Note}, {"preview", r.Preview},
		} {
			if l[1] != "" {
				t.Printf("  %-8s %s\n", l[0], l[1])
			}
		}
		if r.ExpiresAt != nil && r.State == wire.ApprovalPending {
			t.Printf("  %-8s %s\n", "expires", r.ExpiresAt.Format(time.RFC3339))
		}
		if r.DecidedBy != nil {
			t.Printf("  %-8s pid %d %s %s\n", "by", r.DecidedBy.PID, r.DecidedBy.Exe, r.DecidedBy.TTY)
		}
		t.Printf("  %-8s %s\n", "input", string(r.Input))
	})
}

// age says how long ago something was, in one unit.
func age(now, then time.Time) string {
	d := now.Sub(then)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
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
				list = append(list, app.Proposal{Value: r.ID, Help: r.Tool + " " + string(r.Input)})
			}
		}
		return list
	}
}
