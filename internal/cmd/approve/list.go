package approve

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/approve/sheet"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/pkg/wire"
)

// ListOptions of kx approve list.
type ListOptions struct {
	App  *app.App
	Open func() (*approval.Store, error)

	All bool
}

// NewList returns the command; a nil run is the real one.
func NewList(a *app.App, run func(context.Context, *ListOptions) error) *app.Command {
	o := &ListOptions{App: a, Open: func() (*approval.Store, error) { return open(a) }}
	if run == nil {
		run = list
	}
	return &app.Command{
		Name:     "list",
		Usage:    "list the requests that wait",
		What:     "Lists the requests that wait for an answer, the oldest first. With --session only those of one session. A request whose file is damaged is named on the standard error; the others are listed all the same.",
		Flags:    []cli.Flag{&cli.BoolFlag{Name: "all", Usage: "also those that were answered or have expired", Destination: &o.All}},
		Examples: []app.Example{{Line: "kx approve list"}, {Line: "kx approve list -o jsonl | jq -r .id"}},
		Exits:    []app.Exit{{Status: 1, Means: "a request is damaged"}},
		Run:      func(ctx context.Context, _ []string) error { return run(ctx, o) },
	}
}

func list(_ context.Context, o *ListOptions) error {
	store, err := o.Open()
	if err != nil {
		return err
	}
	state := wire.ApprovalPending
	if o.All {
		state = ""
	}
	found, damaged := store.List(state)
	docs := make([]wire.Approval, 0, len(found))
	for _, a := range found {
		if s := o.App.Globals.Session; s == "" || s == a.Session {
			docs = append(docs, a)
		}
	}
	if err := out.List(o.App.Printer(), columns(o.App), docs); err != nil {
		return err
	}
	if len(damaged) == 0 {
		return nil
	}
	for _, err := range damaged[1:] {
		o.App.Log().Warn().Msg(err.Error())
	}
	return fail.As(damaged[0])
}

func columns(app *app.App) out.Columns[wire.Approval] {
	reader := sheet.New(app)
	return out.Columns[wire.Approval]{
		Header: []string{"ID", "AGE", "STATE", "SESSION", "CALLER", "TOOL", "EFFECT"},
		Row: func(a wire.Approval) []string {
			return []string{a.ID, sheet.Age(app.Now(), a.CreatedAt), a.State, a.Session, a.Caller, a.Tool, sheet.Brief(reader.Hidden(&a))}
		},
		Empty: "nothing waits",
	}
}
