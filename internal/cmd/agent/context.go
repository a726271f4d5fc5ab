package agent

import (
	"context"
	"fmt"

	"github.com/kxtools/kx/internal/agent"
	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/record/session"
)

// ContextOptions of kx agent context.
type ContextOptions struct {
	App  *app.App
	Open func() (*session.Store, error)

	ID string
}

// NewContext returns the command; a nil run is the real one.
func NewContext(a *app.App, run func(context.Context, *ContextOptions) error) *app.Command {
	o := &ContextOptions{App: a, Open: func() (*session.Store, error) { return open(a) }}
	if run == nil {
		run = showContext
	}
	return &app.Command{
		Name:  "context",
		Usage: "show what a model is sent, by its sources",
		What: `
Shows what the next request of a run has in it, and how many tokens each part takes: kx's own words, the AGENTS.md files, the tools, what is attached, what the model said, and the results by tool. Of each it says what the model does not get to see. kx's words, AGENTS.md and the tools are as of the last turn.

The numbers are estimates, corrected by what the provider counted so far.
`,
		Args:     "ID",
		Examples: []app.Example{{Line: "kx agent context a3fk"}},
		Exits:    []app.Exit{{Status: 1, Means: "the session is damaged"}, {Status: 8}},
		Complete: map[string]app.Completer{"": ids(a)},
		Run: func(ctx context.Context, args []string) error {
			o.ID = args[0]
			return run(ctx, o)
		},
	}
}

func showContext(_ context.Context, o *ContextOptions) error {
	store, err := o.Open()
	if err != nil {
		return err
	}
	m, err := store.Meta(o.ID)
	if err != nil {
		return err
	}
	if shared(m.ID) {
		return fail.Usage("session %s is no run of an agent", m.ID).WithHint("kx agent list")
	}
	c, err := agent.Measure(m.ID, store.Events(m.ID))
	if err != nil {
		return err
	}
	return o.App.Printer().Record(c, func(t *out.Text) {
		of := ""
		if c.Window > 0 {
			of = fmt.Sprintf(" of %d (%d %%)", c.Window, 100*c.Tokens/c.Window)
		}
		t.Printf("%s  turn %d  about %d tokens%s\n", t.Paint(out.Bold, m.ID), c.Turn, c.Tokens, of)
		for _, p := range c.Parts {
			t.Printf("%8d  %-8s  %s", p.Tokens, p.Kind, p.Source)
			if p.Messages > 1 {
				t.Printf(", %d messages", p.Messages)
			}
			if p.Lost != "" {
				t.Printf(": %s", t.Paint(out.Yellow, p.Lost))
			}
			t.Printf("\n")
		}
		if c.Reported > 0 {
			t.Printf("the provider counted %d tokens in its last request\n", c.Reported)
		}
	})
}
