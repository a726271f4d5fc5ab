package trust

import (
	"context"
	"strings"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/internal/record/trust"
	"github.com/kxtools/kx/pkg/wire"
)

// RemoveOptions of kx trust rm.
type RemoveOptions struct {
	App   *app.App
	Human func(ctx context.Context, line, question string) (wire.Decider, error)

	Dir string // "" is the workspace
}

// NewRemove returns the command; a nil run is the real one.
func NewRemove(a *app.App, run func(context.Context, *RemoveOptions) error) *app.Command {
	o := &RemoveOptions{App: a, Human: site.Of(a).Human}
	if run == nil {
		run = remove
	}
	return &app.Command{
		Name:  "rm",
		Usage: "end the trust in a workspace",
		What: `
The files of the workspace no longer speak: what they allowed is not allowed any more, and what they denied is not denied. The files themselves stay as they are.

Only a person may do this: on a terminal, or with the approver key in --key FILE.
`,
		Args:     "[DIR]",
		Examples: []app.Example{{Line: "kx trust rm"}, {Line: "kx trust rm ~/src/clock"}},
		Exits: []app.Exit{
			{Status: fail.ExitDenied, Means: "nobody confirmed it"},
			{Status: fail.ExitNotFound, Means: "it is not trusted"},
		},
		Complete: map[string]app.Completer{"": app.Dirs},
		Run: func(ctx context.Context, args []string) error {
			o.Dir = strings.Join(args, "")
			return run(ctx, o)
		},
	}
}

func remove(ctx context.Context, o *RemoveOptions) error {
	s := site.Of(o.App)
	ws, err := workspace(s, o.Dir)
	if err != nil {
		return err
	}
	st, err := s.State()
	if err != nil {
		return err
	}
	store := trust.New(st, o.App.Now)
	before, err := store.Get(ws)
	if err != nil {
		return err
	}
	if !before.Trusted && before.Problem == "" {
		return fail.NotFound("trust", "%s is not trusted", ws).WithHint("kx trust list")
	}
	question := out.Sprintf("End the trust in %s? What its files deny is then not denied any more.", ws)
	by, err := o.Human(ctx, "kx trust rm", question)
	if err != nil {
		return err
	}
	line := audit.TrustChange{Type: audit.TypeTrustChange, V: wire.Version, Action: "rm", Workspace: ws, Level: before.Level, Files: before.Digests(), DecidedBy: by}
	if _, err := audit.New(st, o.App.Now).Append(line, true); err != nil {
		return err
	}
	if err := store.Remove(ws); err != nil {
		return err
	}
	return o.App.Printer().Record(Doc{Type: "trust", V: wire.Version, Workspace: ws, State: "removed"}, func(t *out.Text) {
		t.Printf("removed %s\n", ws)
	})
}
