package model

import (
	"context"
	"slices"
	"strings"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	record "github.com/kxtools/kx/internal/record/model"
	"github.com/kxtools/kx/pkg/wire"
)

// HistoryOptions of kx model history.
type HistoryOptions struct {
	App  *app.App
	List func() ([]wire.ModelResolution, error)
}

// NewHistory returns the command; a nil run is the real one.
func NewHistory(a *app.App, run func(context.Context, *HistoryOptions) error) *app.Command {
	o := &HistoryOptions{App: a, List: func() ([]wire.ModelResolution, error) {
		st, err := site.Of(a).Peek()
		if err != nil {
			return nil, err
		}
		return record.New(st).List()
	}}
	if run == nil {
		run = history
	}
	return &app.Command{
		Name:  "history",
		Usage: "list which models were asked last",
		What: `
Lists what came of the last 50 resolutions, the newest first: the role, the model and the account, the roles that led there, and ok or why it failed. A run writes one down when it asks for the first time, and whenever something else comes of asking. It counts nothing and is no bill.
`,
		Examples: []app.Example{{Line: "kx model history"}, {Line: "kx model history -o jsonl | jq -r 'select(.outcome!=\"ok\")'"}},
		Exits:    []app.Exit{{Status: 1, Means: "the history can't be read"}},
		Run:      func(ctx context.Context, _ []string) error { return run(ctx, o) },
	}
}

func history(_ context.Context, o *HistoryOptions) error {
	docs, err := o.List()
	if err != nil {
		return err
	}
	slices.Reverse(docs)
	return out.List(o.App.Printer(), out.Columns[wire.ModelResolution]{
		Header: []string{"AT", "ROLE", "MODEL", "ACCOUNT", "OUTCOME"},
		Row: func(d wire.ModelResolution) []string {
			role := strings.Join(d.Via, " > ")
			if role == "" {
				role = d.Role
			}
			return []string{d.At.Local().Format("2006-01-02 15:04:05"), role, d.ID, d.Account, strings.ReplaceAll(d.Outcome, "_", " ")}
		},
		Empty: "no model was asked yet",
	}, docs)
}
