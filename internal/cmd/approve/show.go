package approve

import (
	"context"

	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/approve/sheet"
	"github.com/kxtools/kx/internal/record/approval"
)

// ShowOptions of kx approve show.
type ShowOptions struct {
	App  *app.App
	Open func() (*approval.Store, error)

	ID string
}

// NewShow returns the command; a nil run is the real one.
func NewShow(a *app.App, run func(context.Context, *ShowOptions) error) *app.Command {
	o := &ShowOptions{App: a, Open: func() (*approval.Store, error) { return open(a) }}
	if run == nil {
		run = show
	}
	return &app.Command{
		Name:  "show",
		Usage: "show one request",
		What: `
Prints a request in full: where it comes from, the exact command or what would change in the files as they are now, what was decided of each part, and the rules that an answer for the session or always would add, with the number of calls in the record that each speaks for. Of an answered request, the answer.

What steers a terminal or hides from the eye is shown as \x1b, \u202e and so on. A tab is four spaces; spaces at the end of an added line are marked.
`,
		Args:     "ID",
		Examples: []app.Example{{Line: "kx approve show 7k2q"}},
		Exits:    []app.Exit{{Status: 8}},
		Complete: map[string]app.Completer{"": ids(a)},
		Run: func(ctx context.Context, args []string) error {
			o.ID = args[0]
			return run(ctx, o)
		},
	}
}

func show(_ context.Context, o *ShowOptions) error {
	store, err := o.Open()
	if err != nil {
		return err
	}
	a, err := store.Get(o.ID)
	if err != nil {
		return err
	}
	r := sheet.New(o.App)
	r.Uncut = true
	return printSheet(o.App, a, r.Read)
}
