package audit

import (
	"context"
	"fmt"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/pkg/wire"
)

// HeadOptions of kx audit head.
type HeadOptions struct {
	App  *app.App
	Open func() (*audit.Log, error)
}

// HeadDoc is the document of kx audit head.
type HeadDoc struct {
	Type string `json:"type"`
	V    int    `json:"v"`
	audit.Head
}

// NewHead returns the command; a nil run is the real one.
func NewHead(a *app.App, run func(context.Context, *HeadOptions) error) *app.Command {
	o := &HeadOptions{App: a, Open: func() (*audit.Log, error) { return open(a) }}
	if run == nil {
		run = head
	}
	return &app.Command{
		Name:     "head",
		Usage:    "print the digest that proves the record up to now",
		What:     "Prints the number of the last line and its sha256. Kept where nobody can reach it from here, it proves later that all lines up to that one are as they were.",
		Examples: []app.Example{{Line: "kx audit head"}, {Line: "kx audit head --json | jq -r .sha256"}},
		Run:      func(ctx context.Context, _ []string) error { return run(ctx, o) },
	}
}

func head(_ context.Context, o *HeadOptions) error {
	log, err := o.Open()
	if err != nil {
		return err
	}
	h, err := log.Head()
	if err != nil {
		return err
	}
	return o.App.Printer().Record(HeadDoc{Type: "audit_head", V: wire.Version, Head: h}, func(t *out.Text) {
		t.Printf("%d %s\n", h.Seq, h.SHA256)
	})
}

func plural(n int64, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
