package approve

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/failpoint"
	"github.com/kxtools/kx/internal/base/lines"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/pkg/approve"
	"github.com/kxtools/kx/pkg/wire"
)

// DecideOptions of kx approve allow and deny.
type DecideOptions struct {
	App     *app.App
	Open    func() (*approval.Store, error)
	Human   func(ctx context.Context, line, question string) (wire.Decider, error)
	Connect func(ctx context.Context, key string) (*approve.Client, error)

	Verb  string // allow or deny
	ID    string
	Note  string
	Scope string
	Input string
	Key   string
}

// NewAllow returns the command; a nil run is the real one.
func NewAllow(a *app.App, run func(context.Context, *DecideOptions) error) *app.Command {
	return newDecide(a, run, "allow", "let a call run, once",
		"Allows the call of a request. The same call then runs when it comes again, once, within 5 minutes; a run that was parked takes it whenever it is resumed.\n\nWith --scope session or always the same call is allowed from then on: literal rules for exactly its words, paths and hosts are added to the session (8 hours where it is that of a workspace's calls) or to your policy.toml, and printed. An edited input is judged anew before it runs.",
		app.Example{Line: "kx approve allow 7k2q"},
		app.Example{Line: "kx approve allow 7k2q --scope session", Does: "and from now on in this session, exactly this"},
		app.Example{Line: `kx approve allow 7k2q --input '{"command":"go test ./internal/..."}'`, Does: "something else instead"},
		app.Example{Line: `kx approve allow 7k2q --key "$(kx config path approver-key)"`, Does: "in a script of a person's"})
}

func newDecide(a *app.App, run func(context.Context, *DecideOptions) error, verb, usage, what string, examples ...app.Example) *app.Command {
	s := site.Of(a)
	o := &DecideOptions{App: a, Open: func() (*approval.Store, error) { return open(a) }, Human: s.Human, Connect: s.Approve, Verb: verb}
	if run == nil {
		run = decide
	}
	flags := []cli.Flag{
		&cli.StringFlag{Name: "note", Usage: "say why in `TEXT`", Destination: &o.Note},
		&cli.StringFlag{Name: "idempotency-key", Usage: "make the answer repeatable: the same `KEY` with the same answer gives the same result", Destination: &o.Key},
	}
	if verb == "allow" {
		flags = append(flags,
			&cli.StringFlag{Name: "scope", Usage: "allow it for `SCOPE`: once, session or always", Value: approval.Once, Destination: &o.Scope},
			&cli.StringFlag{Name: "input", Usage: "run it with this `JSON` instead", Destination: &o.Input})
	}
	return &app.Command{
		Name:     verb,
		Usage:    usage,
		What:     what + "\n\nOnly a person may do this: on a terminal, or with the approver key in --key FILE. The first answer wins and is final.",
		Args:     "ID",
		Flags:    flags,
		Examples: examples,
		Exits: []app.Exit{
			{Status: 3, Means: "nobody confirmed it"}, {Status: 5, Means: "the approval host can't be started"},
			{Status: 7, Means: "it is answered or expired already"}, {Status: 8},
		},
		Complete: complete(a, verb),
		Run: func(ctx context.Context, args []string) error {
			o.ID = args[0]
			return run(ctx, o)
		},
	}
}

func complete(a *app.App, verb string) map[string]app.Completer {
	m := map[string]app.Completer{"": ids(a)}
	if verb == "allow" {
		m["scope"] = app.Values(approval.Once, approval.Session, approval.Always)
	}
	return m
}

// maxAsked is how much of an input stands in the question; kx approve show has
// the rest.
const maxAsked = 2000

func decide(ctx context.Context, o *DecideOptions) error {
	store, err := o.Open()
	if err != nil {
		return err
	}
	a, err := store.Get(o.ID)
	if err != nil {
		return err
	}
	if a.State != wire.ApprovalPending && o.Key == "" {
		return fail.Conflict("already_decided", "request %s is %s already", a.ID, a.State).WithHint("kx approve show %s", a.ID)
	}
	if o.Input != "" {
		if err := lines.CheckObject([]byte(o.Input)); err != nil {
			return fail.Usage("--input: %v", err).WithHint("kx approve show %s", a.ID)
		}
		a.Input = json.RawMessage(o.Input)
	}
	verb := o.Verb
	if o.Scope == approval.Session || o.Scope == approval.Always {
		verb += " for " + o.Scope + ":" // what is added is printed with the answer
	}
	question := out.Sprintf("%s %s %s in %s?", verb, a.Tool, asked(a), a.Cwd)
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
	ans := approve.Answer{Note: o.Note, IdempotencyKey: o.Key}
	if o.Verb == "allow" {
		ans.Scope = o.Scope
	}
	if o.Input != "" {
		ans.Input = json.RawMessage(o.Input)
	}
	failpoint.Hit("send.before")
	id := a.ID
	if a, err = do(ctx, id, ans); err != nil {
		return lost(err, "kx approve show %s", id)
	}
	failpoint.Hit("send.after")
	return print(o.App, a)
}

// lost says why an answer was not confirmed. When the host went away it may count
// already, which the command of the hint shows.
func lost(err error, hint string, args ...any) error {
	if err = site.Failure(err); fail.Exit(err) == fail.ExitUnavailable {
		return fail.As(err).WithHint(hint, args...)
	}
	return err
}
