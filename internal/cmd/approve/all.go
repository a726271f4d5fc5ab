package approve

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/pkg/approve"
	"github.com/kxtools/kx/pkg/wire"
)

// AllOptions of kx approve allow-all and deny-all.
type AllOptions struct {
	App     *app.App
	Open    func() (*approval.Store, error)
	Human   func(ctx context.Context, line, question string) (wire.Decider, error)
	Connect func(ctx context.Context, key string) (*approve.Client, error)

	Verb    string // allow or deny
	Session string
	Note    string
}

// NewAllowAll returns the command; a nil run is the real one.
func NewAllowAll(a *app.App, run func(context.Context, *AllOptions) error) *app.Command {
	return newAll(a, run, "allow", "let all calls run that a session asks for",
		"Allows every request that waits in the session, each once.")
}

// NewDenyAll returns the command; a nil run is the real one.
func NewDenyAll(a *app.App, run func(context.Context, *AllOptions) error) *app.Command {
	return newAll(a, run, "deny", "refuse all calls that a session asks for",
		"Denies every request that waits in the session. The model that asked hears the note.")
}

func newAll(a *app.App, run func(context.Context, *AllOptions) error, verb, usage, what string) *app.Command {
	s := site.Of(a)
	o := &AllOptions{App: a, Open: func() (*approval.Store, error) { return open(a) }, Human: s.Human, Connect: s.Approve, Verb: verb}
	if run == nil {
		run = all
	}
	return &app.Command{
		Name:  verb + "-all",
		Usage: usage,
		What: what + ` The session is that of --session; nothing is answered in another one, and questions are left alone.

All or nothing: if a request has come, or one was answered, since the list was made that you confirm, nothing is answered. Should kx be killed in the middle, the answers that were written count and the other requests wait on.

Only a person may do this: on a terminal, or with the approver key in --key FILE.`,
		Flags:    []cli.Flag{&cli.StringFlag{Name: "note", Usage: "say why in `TEXT`", Destination: &o.Note}},
		Examples: []app.Example{{Line: "kx approve " + verb + "-all --session fix-tests"}},
		Exits: []app.Exit{
			{Status: 3, Means: "nobody confirmed it"}, {Status: 5, Means: "the approval host can't be started"},
			{Status: 7, Means: "something else waits than what was listed; nothing was answered"},
		},
		Run: func(ctx context.Context, _ []string) error {
			if o.Session = a.Globals.Session; o.Session == "" {
				return fail.Usage("%s-all needs a session", verb).WithHint("kx approve %s-all --session ID", verb)
			}
			return run(ctx, o)
		},
	}
}

func all(ctx context.Context, o *AllOptions) error {
	store, err := o.Open()
	if err != nil {
		return err
	}
	var ids []string
	var list strings.Builder
	pending, damaged := store.List(wire.ApprovalPending)
	for i := range pending {
		if a := &pending[i]; approval.InAll(a, o.Session) {
			ids = append(ids, a.ID)
			list.WriteString(out.Sprintf("%s  %s %s in %s\n", a.ID, a.Tool, asked(a), a.Cwd))
		}
	}
	for _, err := range damaged {
		o.App.Log().Warn().Msg(err.Error())
	}
	if len(ids) == 0 {
		return out.List(o.App.Printer(), columns(o.App), []wire.Approval{})
	}
	question := out.Sprintf("%s%s all %d?", out.Block(list.String()), o.Verb, len(ids))
	if _, err := o.Human(ctx, fmt.Sprintf("kx approve %s-all --session %s", o.Verb, o.Session), question); err != nil {
		return err
	}
	c, err := o.Connect(ctx, "approver")
	if err != nil {
		return err
	}
	defer c.Close()
	do := c.AllowAll
	if o.Verb == "deny" {
		do = c.DenyAll
	}
	done, err := do(ctx, o.Session, ids, o.Note)
	if err = lost(err, "kx approve list --all --session %s", o.Session); err != nil && len(done) == 0 {
		return err
	}
	// What was answered before a failure counts, and is shown.
	if e := out.List(o.App.Printer(), columns(o.App), done); err == nil {
		return e
	}
	return err
}

// asked is an input as it stands in a question.
func asked(a *wire.Approval) string {
	input := term.Line(string(a.Input))
	if len(input) > maxAsked {
		return fmt.Sprintf("%s… (%d bytes; kx approve show %s prints all)", input[:maxAsked], len(input), a.ID)
	}
	return input
}
