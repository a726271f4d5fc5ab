package model

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/model/route"
	"github.com/kxtools/kx/pkg/wire"
)

// ResolveOptions of kx model resolve.
type ResolveOptions struct {
	App  *app.App
	Open func() (*Catalog, error)

	Ask route.Ask
}

// NewResolve returns the command; a nil run is the real one.
func NewResolve(a *app.App, run func(context.Context, *ResolveOptions) error) *app.Command {
	o := &ResolveOptions{App: a, Open: func() (*Catalog, error) { return open(a) }}
	if run == nil {
		run = resolve
	}
	s := site.Of(a)
	return &app.Command{
		Name:  "resolve",
		Usage: "say which model would be asked, in order",
		What: `
Lists the models that a run with the same flags would ask, in order, and those that it would pass over, with the reason: first the model of the role on its fixed account, or on the default account and then the others; then those of its fallbacks. A model that is named has no fallback. Without flags it is the role default. Nothing is asked and nothing is reserved.

The role observer is that of execution where it is not set.
`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "role", Usage: "of the role `NAME`", Destination: &o.Ask.Role},
			&cli.StringFlag{Name: "model", Usage: "of the model `ID`", Destination: &o.Ask.Model},
		},
		Examples: []app.Example{{Line: "kx model resolve"}, {Line: "kx model resolve --role default -o jsonl | jq -r 'select(.state==\"ready\").id'"}},
		Exits: []app.Exit{
			{Status: 2, Means: "the name of the model is ambiguous, or the configuration is not valid"},
			{Status: 5, Means: "none of them can be asked"}, {Status: 8, Means: "there is no such model or role"},
		},
		Complete: map[string]app.Completer{"role": s.CompleteRoles, "model": s.CompleteModels},
		Run:      func(ctx context.Context, _ []string) error { return run(ctx, o) },
	}
}

func resolve(_ context.Context, o *ResolveOptions) error {
	c, err := o.Open()
	if err != nil {
		return err
	}
	all, err := route.Resolve(c.Catalog, o.Ask, c.State)
	if err != nil {
		return err
	}
	docs := []wire.ModelCandidate{}
	for _, k := range all {
		d := wire.ModelCandidate{
			Type: "model_candidate", V: wire.Version, ID: k.ID(), Provider: k.Provider.Name, Model: k.Model.Name, Kind: k.Provider.Kind,
			Account: k.Account.Name, Role: k.Role, Via: k.Via, State: "ready", Reason: k.Skipped,
		}
		if k.Skipped != "" {
			d.State = "skipped"
		}
		docs = append(docs, d)
	}
	if err := out.List(o.App.Printer(), out.Columns[wire.ModelCandidate]{
		Header: []string{"MODEL", "ACCOUNT", "ROLE", "STATE", "WHY"},
		Row: func(d wire.ModelCandidate) []string {
			return []string{d.ID, d.Account, strings.Join(d.Via, " > "), d.State, d.Reason}
		},
	}, docs); err != nil {
		return err
	}
	_, err = route.Ready(all)
	return err
}
