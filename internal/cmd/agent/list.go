package agent

import (
	"context"
	"strconv"
	"strings"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/agent/tell"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/record/session"
	"github.com/kxtools/kx/pkg/wire"
)

// ListOptions of kx agent list.
type ListOptions struct {
	App  *app.App
	Open func() (*session.Store, error)
}

// NewList returns the command; a nil run is the real one.
func NewList(a *app.App, run func(context.Context, *ListOptions) error) *app.Command {
	o := &ListOptions{App: a, Open: func() (*session.Store, error) { return open(a) }}
	if run == nil {
		run = list
	}
	return &app.Command{
		Name:     "list",
		Usage:    "list the runs",
		What:     "Lists the runs of agents, the last touched first, with how long ago that was.",
		Examples: []app.Example{{Line: "kx agent list"}, {Line: "kx agent list -o jsonl | jq -r 'select(.state==\"parked\").id'"}},
		Exits:    []app.Exit{{Status: 1, Means: "the record of a run is damaged"}},
		Run:      func(ctx context.Context, _ []string) error { return run(ctx, o) },
	}
}

func list(_ context.Context, o *ListOptions) error {
	store, err := o.Open()
	if err != nil {
		return err
	}
	all, damaged := store.List()
	docs := []wire.Session{}
	for _, m := range all {
		if !shared(m.ID) {
			docs = append(docs, m.Session)
		}
	}
	if err := out.List(o.App.Printer(), out.Columns[wire.Session]{
		Header: []string{"ID", "STATE", "TURNS", "MODEL", "MODE", "UPDATED", "WAITS FOR", "WORKSPACE"},
		Row: func(s wire.Session) []string {
			return []string{s.ID, s.State, strconv.Itoa(s.Turns), s.Model, s.Mode, tell.Age(o.App.Now().Sub(s.UpdatedAt)), strings.Join(s.Pending, " "), s.Workspace}
		},
		Empty: "no runs",
	}, docs); err != nil {
		return err
	}
	if len(damaged) > 0 {
		return fail.As(damaged[0])
	}
	return nil
}
