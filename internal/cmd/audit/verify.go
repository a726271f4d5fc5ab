package audit

import (
	"context"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/pkg/wire"
)

// VerifyOptions of kx audit verify.
type VerifyOptions struct {
	App  *app.App
	Open func() (*audit.Log, error)
}

// VerifyDoc is the document of kx audit verify.
type VerifyDoc struct {
	Type  string     `json:"type"`
	V     int        `json:"v"`
	Lines int64      `json:"lines"`
	Days  int        `json:"days"`
	Torn  bool       `json:"torn"`
	Head  audit.Head `json:"head"`
}

// NewVerify returns the command; a nil run is the real one.
func NewVerify(a *app.App, run func(context.Context, *VerifyOptions) error) *app.Command {
	o := &VerifyOptions{App: a, Open: func() (*audit.Log, error) { return open(a) }}
	if run == nil {
		run = verify
	}
	return &app.Command{
		Name:  "verify",
		Usage: "follow the chain from the first line to the last",
		What: `
Reads the whole record and checks that each line follows from the one before it. It stops at the first line that does not, and names the file and the line.

The end of a line that a killed process left is not a break; the next call moves it aside.
`,
		Examples: []app.Example{{Line: "kx audit verify"}, {Line: "kx audit verify --json | jq -r .head.sha256"}},
		Exits:    []app.Exit{{Status: fail.ExitFailed, Means: "the chain is broken"}},
		Run:      func(ctx context.Context, _ []string) error { return run(ctx, o) },
	}
}

func verify(_ context.Context, o *VerifyOptions) error {
	log, err := o.Open()
	if err != nil {
		return err
	}
	r, err := log.Verify()
	if err != nil {
		return err
	}
	d := VerifyDoc{Type: "audit_verify", V: wire.Version, Lines: r.Lines, Days: r.Days, Torn: r.Torn, Head: r.Head}
	return o.App.Printer().Record(d, func(t *out.Text) {
		t.Printf("whole: %s, %s\n", plural(d.Lines, "line"), plural(int64(d.Days), "day"))
		if d.Torn {
			t.Printf("it ends in a part of a line, which the next call moves aside\n")
		}
		t.Printf("head   %d %s\n", d.Head.Seq, d.Head.SHA256)
	})
}
