package session

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/internal/record/session"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/wire"
)

// ExportOptions of kx session export.
type ExportOptions struct {
	App   *app.App
	State func() (*state.State, error)

	ID     string
	Format string
}

// NewExport returns the command; a nil run is the real one.
func NewExport(a *app.App, run func(context.Context, *ExportOptions) error) *app.Command {
	o := &ExportOptions{App: a, State: site.Of(a).Peek}
	if run == nil {
		run = export
	}
	return &app.Command{
		Name:  "export",
		Usage: "write a session as one document",
		What: `
Writes a session to the standard output. As md it is for people: the prompt, what the model said, its calls with their results, who answered what was asked, and how it ended. As json it is one object with the session and all its events.

Known secrets are taken out. Of a session whose record is damaged, all that can be read is written, and the error says where the damage is.
`,
		Args:     "ID",
		Flags:    []cli.Flag{&cli.StringFlag{Name: "format", Value: "md", Usage: "`FORMAT`: md or json", Destination: &o.Format}},
		Examples: []app.Example{{Line: "kx session export a3fk > a3fk.md"}, {Line: "kx session export a3fk --format json | jq '.events | length'"}},
		Exits:    []app.Exit{{Status: 1, Means: "the session is damaged: what can be read was written"}, {Status: 8}},
		Complete: map[string]app.Completer{"": ids(a), "format": app.Values("md", "json")},
		Run: func(ctx context.Context, args []string) error {
			o.ID = args[0]
			return run(ctx, o)
		},
	}
}

// Document is a session as one JSON object.
type Document struct {
	Type    string       `json:"type"`
	V       int          `json:"v"`
	Session wire.Session `json:"session"`
	Events  []wire.Event `json:"events"`
	Damage  []string     `json:"damage,omitempty"` // what can't be read, a line each
}

func export(_ context.Context, o *ExportOptions) error {
	if o.Format != "md" && o.Format != "json" {
		return fail.Usage("--format %.40q: expected md or json", o.Format)
	}
	st, err := o.State()
	if err != nil {
		return err
	}
	store := session.New(st, o.App.Now)
	m, err := store.Meta(o.ID)
	if err != nil {
		return err
	}
	doc := Document{Type: "session_export", V: wire.Version, Session: m.Session, Events: []wire.Event{}}
	var damage error
	for e, err := range store.Events(m.ID) {
		if err == nil {
			doc.Events = append(doc.Events, e)
			continue
		}
		doc.Damage = append(doc.Damage, fail.As(err).Msg)
		if damage == nil {
			damage = fail.As(err)
		}
	}
	if o.Format == "json" {
		p := out.New(o.App.IO, out.JSON, o.App.Globals.Quiet)
		if err := p.Record(doc, nil); err != nil {
			return err
		}
		return damage
	}
	p := out.New(o.App.IO, out.Table, o.App.Globals.Quiet)
	if err := p.Text(func(t *out.Text) { writeMarkdown(t, &doc, approval.New(st, o.App.Now).Get) }); err != nil {
		return err
	}
	return damage
}
