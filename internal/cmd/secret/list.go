package secret

import (
	"context"
	"time"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/record/secret"
	"github.com/kxtools/kx/internal/record/state"
)

// ListOptions of kx secret list.
type ListOptions struct {
	App  *app.App
	Peek func() (*state.State, error)
}

// NewList returns the command; a nil run is the real one.
func NewList(a *app.App, run func(context.Context, *ListOptions) error) *app.Command {
	o := &ListOptions{App: a, Peek: site.Of(a).Peek}
	if run == nil {
		run = list
	}
	return &app.Command{
		Name:     "list",
		Usage:    "list the slots",
		What:     "Lists the slots: set or revoked, and since when. It reads no value and needs no passphrase.",
		Examples: []app.Example{{Line: "kx secret list"}, {Line: "kx secret list -o jsonl | jq -r 'select(.state == \"revoked\").slot'", Does: "what was revoked"}},
		Run:      func(ctx context.Context, _ []string) error { return run(ctx, o) },
	}
}

func list(_ context.Context, o *ListOptions) error {
	st, err := o.Peek()
	if err != nil {
		return err
	}
	all, err := secret.New(st).List()
	if err != nil {
		return err
	}
	var docs []Doc
	for _, in := range all {
		docs = append(docs, document(in))
	}
	return out.List(o.App.Printer(), out.Columns[Doc]{
		Header: []string{"SLOT", "STATE", "SINCE"},
		Row:    func(d Doc) []string { return []string{d.Slot, d.State, d.UpdatedAt.Local().Format(time.DateTime)} },
		Empty:  "no secret is set; kx secret set SLOT sets one",
	}, docs)
}
