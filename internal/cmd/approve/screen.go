package approve

import (
	"context"
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/argv"
	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/approve/feed"
	"github.com/kxtools/kx/internal/cmd/approve/plain"
	"github.com/kxtools/kx/internal/cmd/approve/sheet"
	"github.com/kxtools/kx/internal/cmd/handover"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/pkg/approve"
)

// ScreenOptions of kx approve.
type ScreenOptions struct {
	App      *app.App
	Open     func() (*approval.Store, error)
	Person   func(line, way string) error
	Terminal func() error // whether there is one to answer on
	Become   func(ScreenSpec) error
	Lines    func(ctx context.Context, id string) error // the plain mode

	ID    string // "" for all
	Plain bool
}

// ScreenSpec is what kx hands to kxd screen.
type ScreenSpec struct {
	Globals app.Globals `json:"globals"`
	ID      string      `json:"id,omitempty"` // the request to begin with
}

// screened gives the noun its screen. verbs are the names of its commands.
func screened(a *app.App, noun *app.Command, run func(context.Context, *ScreenOptions) error) *app.Command {
	o := &ScreenOptions{
		App: a, Open: func() (*approval.Store, error) { return open(a) }, Person: person(a),
		Terminal: func() error { return hasTerminal(a.IO) },
		Become: func(spec ScreenSpec) error {
			spec.Globals = a.Globals
			return handover.Become(a, "screen", spec)
		},
	}
	o.Lines = func(ctx context.Context, id string) error { return byLine(ctx, o, id) }
	if run == nil {
		run = screen
	}
	var verbs []string
	for _, c := range noun.Commands {
		verbs = append(verbs, c.Name)
		work := c.Run
		c.Run = func(ctx context.Context, args []string) error {
			if o.Plain {
				return fail.Usage("--plain belongs to kx approve alone, not to kx approve %s", c.Name).WithHint("kx approve %s --help", c.Name)
			}
			return work(ctx, args)
		}
	}
	noun.Args = "[ID]"
	noun.Flags = []cli.Flag{&cli.BoolFlag{Name: "plain", Usage: "line by line, for screen readers and simple terminals", Destination: &o.Plain}}
	noun.Complete = map[string]app.Completer{"": ids(a)}
	noun.Run = func(ctx context.Context, args []string) error {
		o.ID = ""
		if len(args) > 0 {
			o.ID = args[0]
			if err := known(o, verbs); err != nil {
				return err
			}
		}
		return run(ctx, o)
	}
	return noun
}

// person refuses whoever can't be a person that may be asked.
func person(a *app.App) func(line, way string) error {
	return func(line, way string) error {
		s := site.Of(a)
		if _, err := s.Person(line); err != nil {
			return err
		}
		return s.Attended(line, way)
	}
}

// known looks the request up, and takes a word that is none for a verb that was
// mistyped.
func known(o *ScreenOptions, verbs []string) error {
	store, err := o.Open()
	if err != nil {
		return err
	}
	r, err := store.Get(o.ID)
	if err == nil {
		o.ID = r.ID
		return nil
	}
	if near := argv.Nearest(o.ID, verbs); fail.Exit(err) == fail.ExitNotFound && near != "" {
		return fail.Usage("unknown command %q; did you mean %s?", "approve "+o.ID, near).WithHint("kx approve %s", near)
	}
	return err
}

func screen(ctx context.Context, o *ScreenOptions) error {
	if o.App.Globals.Key != "" {
		return fail.Usage("--key is for scripts, and kx approve asks a person").WithHint("kx approve allow --help")
	}
	if err := o.Person("kx approve", "kx approve list"); err != nil {
		return err
	}
	if err := o.Terminal(); err != nil {
		return err
	}
	if name := o.App.Getenv("TERM"); o.Plain || name == "" || name == "dumb" {
		return o.Lines(ctx, o.ID)
	}
	return o.Become(ScreenSpec{ID: o.ID})
}

// byLine asks line by line.
func byLine(ctx context.Context, o *ScreenOptions, id string) error {
	s := site.Of(o.App)
	st, err := s.State()
	if err != nil {
		return err
	}
	mine, err := s.Approving()
	if err != nil {
		return err
	}
	store := approval.New(st, o.App.Now)
	f := &feed.Feed{Store: store, Connect: s.Approve, Session: o.App.Globals.Session}
	return plain.Run(ctx, plain.Options{
		App: o.App, Feed: f.Follow, Get: store.Get, Reader: sheet.New(o.App), Bell: mine.Bell, ID: id,
		Client: func(ctx context.Context) (*approve.Client, error) { return s.Approve(ctx, "approver") },
	})
}

// hasTerminal refuses to ask where nobody looks.
func hasTerminal(s *term.IO) error {
	tty, err := s.OpenTTY()
	if err == nil {
		tty.Close()
	}
	if err != nil || !s.OutTTY {
		return fail.New("no_terminal", fail.ExitUsage, "kx approve needs a terminal").WithHint("kx approve list").Because(errors.Join(term.ErrNoTerminal, err))
	}
	return nil
}
