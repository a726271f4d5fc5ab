package model

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/handover"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/model/route"
)

// Spec is what kx hands to kxd model: what to test, and how the command line was set.
type Spec struct {
	Globals app.Globals `json:"globals"`
	Ask     route.Ask   `json:"ask"`
}

// TestOptions of kx model test.
type TestOptions struct {
	App    *app.App
	Open   func() (*Catalog, error)
	Become func(*Spec) error

	Ask route.Ask
}

// NewTest returns the command; a nil run is the real one.
func NewTest(a *app.App, run func(context.Context, *TestOptions) error) *app.Command {
	o := &TestOptions{
		App: a, Open: func() (*Catalog, error) { return open(a) },
		Become: func(s *Spec) error { return handover.Become(a, "model", s) },
	}
	if run == nil {
		run = test
	}
	s := site.Of(a)
	return &app.Command{
		Name:  "test",
		Usage: "ask a model one small thing",
		What: `
Asks the model for a word and a call of a tool, in the way a run does, and says how far it got: dns, tcp and tls (the way to the server), key, model, streaming, tool_calls; then how long it took to the first word, the tokens and the cost. Nothing is asked twice, and no other model is asked. It takes a minute at most.

Without MODEL it is the first model that a run would ask. The name of a provider stands for its first model.
`,
		Args:     "[MODEL]",
		Flags:    []cli.Flag{&cli.StringFlag{Name: "role", Usage: "the model of the role `NAME`", Destination: &o.Ask.Role}},
		Examples: []app.Example{{Line: "kx model test"}, {Line: "kx model test anthropic/claude-sonnet-5"}},
		Exits: []app.Exit{
			{Status: 0, Means: "the model answers, and calls tools"}, {Status: 1, Means: "it answers, but an agent can't work with it"},
			{Status: 5, Means: "it can't be reached, or refuses the key"}, {Status: 8, Means: "there is no such model or role"}, {Status: 124}, {Status: 130}, {Status: 143},
		},
		Complete: map[string]app.Completer{"": s.CompleteModels, "role": s.CompleteRoles},
		Run: func(ctx context.Context, args []string) error {
			if len(args) > 0 {
				o.Ask.Model = args[0]
			}
			return run(ctx, o)
		},
	}
}

func test(_ context.Context, o *TestOptions) error {
	c, err := o.Open()
	if err != nil {
		return err
	}
	ask := o.Ask
	if p := c.Provider(ask.Model); p != nil {
		for _, k := range c.Known() {
			if k.Provider == p {
				ask.Model = k.ID()
				break
			}
		}
	}
	if _, err := route.Resolve(c.Catalog, ask, nil); err != nil {
		return err
	}
	return o.Become(&Spec{Globals: o.App.Globals, Ask: ask})
}
