// Package host is kx host: the residents that serve many calls.
package host

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/record/resident"
)

// New returns the noun.
func New(a *app.App) *app.Command {
	return &app.Command{
		Name:  "host",
		Usage: "what kx keeps running between calls",
		What: `
Some of what kx does needs a process that stays: the approval host, language servers. kx starts such a resident when it is needed first; it ends by itself when nobody has used it for a while, with all that it has started. Nothing is lost when one ends: the next call starts another.
`,
		Examples: []app.Example{
			{Line: "kx host list", Does: "which ones run, and what they take"},
			{Line: "kx host stop --all"},
		},
		Commands: []*app.Command{NewList(a, nil), NewStop(a, nil)},
	}
}

// names proposes residents.
func names(a *app.App) app.Completer {
	return func(_ context.Context, word string) []app.Proposal {
		d, err := site.Of(a).Dirs()
		if err != nil {
			return nil
		}
		var list []app.Proposal
		for _, e := range resident.List(d.State) {
			if strings.HasPrefix(e.Name, word) {
				list = append(list, app.Proposal{Value: e.Name, Help: fmt.Sprintf("process %d", e.PID)})
			}
		}
		return list
	}
}

// lasting writes how long something lasts in its largest unit.
func lasting(d time.Duration) string {
	for _, u := range []struct {
		from, unit time.Duration
		name       string
	}{{48 * time.Hour, 24 * time.Hour, "d"}, {time.Hour, time.Hour, "h"}, {time.Minute, time.Minute, "m"}} {
		if d >= u.from {
			return fmt.Sprintf("%d%s", d/u.unit, u.name)
		}
	}
	return fmt.Sprintf("%ds", d/time.Second)
}

// mebi writes an amount of memory.
func mebi(bytes int64) string { return fmt.Sprintf("%d MiB", (bytes+1<<19)>>20) }
