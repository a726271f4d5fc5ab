package approve

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/pkg/approve"
	"github.com/kxtools/kx/pkg/wire"
)

// AnswerOptions of kx approve allow and deny.
type AnswerOptions struct {
	App     *app.App
	Open    func() (*approval.Store, error)
	Human   func(ctx context.Context, line, question string) (wire.Decider, error)
	Connect func(ctx context.Context, key string) (*approve.Client, error)

	Verb string // allow or deny
	ID   string
	Note string
}

// NewAllow returns the command; a nil run is the real one.
func NewAllow(a *app.App, run func(context.Context, *AnswerOptions) error) *app.Command {
	return newAnswer(a, run, "allow", "let a call run, once",
		"Allows the call of a request. The same call then runs when it comes again, once, within 5 minutes; a run that was parked takes it whenever it is resumed.",
		app.Example{Line: "kx approve allow 7k2q"},
		app.Example{Line: `kx approve allow 7k2q --key "$(kx config path approver-key)"`, Does: "in a script of a person's"})
}

// NewDeny returns the command; a nil run is the real one.
func NewDeny(a *app.App, run func(context.Context, *AnswerOptions) error) *app.Command {
	return newAnswer(a, run, "deny", "refuse a call",
		"Denies the call of a request. The model that asked hears the note. The same call is denied without asking for the next 15 minutes.",
		app.Example{Line: `kx approve deny 7k2q --note "use the staging bucket"`})
}

func newAnswer(a *app.App, run func(context.Context, *AnswerOptions) error, verb, usage, what string, examples ...app.Example) *app.Command {
	s := site.Of(a)
	o := &AnswerOptions{App: a, Open: func() (*approval.Store, error) { return open(a) }, Human: s.Human, Connect: s.Approve, Verb: verb}
	if run == nil {
		run = answer
	}
	return &app.Command{
		Name:     verb,
		Usage:    usage,
		What:     what + "\n\nOnly a person may do this: on a terminal, or with the approver key in --key FILE. The first answer wins and is final.",
		Args:     "ID",
		Flags:    []cli.Flag{&cli.StringFlag{Name: "note", Usage: "say why in `TEXT`", Destination: &o.Note}},
		Examples: examples,
		Exits: []app.Exit{
			{Status: 3, Means: "nobody confirmed it"}, {Status: 5, Means: "the approval host can't be started"},
			{Status: 7, Means: "it is answered or expired already"}, {Status: 8},
		},
		Complete: map[string]app.Completer{"": ids(a)},
		Run: func(ctx context.Context, args []string) error {
			o.ID = args[0]
			return run(ctx, o)
		},
	}
}

// maxAsked is how much of an input stands in the question; kx approve show has
// the rest.
const maxAsked = 2000

func answer(ctx context.Context, o *AnswerOptions) error {
	store, err := o.Open()
	if err != nil {
		return err
	}
	a, err := store.Get(o.ID)
	if err != nil {
		return err
	}
	if a.State != wire.ApprovalPending {
		return fail.Conflict("already_decided", "request %s is %s already", a.ID, a.State).WithHint("kx approve show %s", a.ID)
	}
	input := term.Line(string(a.Input))
	if len(input) > maxAsked {
		input = fmt.Sprintf("%s… (%d bytes; kx approve show %s prints all)", input[:maxAsked], len(input), a.ID)
	}
	question := fmt.Sprintf("%s %s %s in %s?", o.Verb, a.Tool, input, a.Cwd)
	if _, err := o.Human(ctx, fmt.Sprintf("kx approve %s %s", o.Verb, a.ID), question); err != nil {
		return err
	}
	c, err := o.Connect(ctx, "approver")
	if err != nil {
		return err
	}
	defer c.Close()
	do := c.Allow
	if o.Verb == "deny" {
		do = c.Deny
	}
	if a, err = do(ctx, a.ID, o.Note); err != nil {
		return site.Failure(err)
	}
	return print(o.App, a)
}
