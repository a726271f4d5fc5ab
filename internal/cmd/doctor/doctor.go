// Package doctor is kx doctor: is everything there that kx needs, and as it
// should be.
package doctor

import (
	"context"
	"slices"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/pkg/wire"
)

// The states of a check.
const (
	OK      = "ok"
	Warn    = "warn"    // works, but a person should look
	Missing = "missing" // kx goes on without it
	Off     = "off"     // not switched on, or not there yet
	Broken  = "broken"  // has to be mended
)

// Row is the finding of one check.
type Row struct {
	Type   string `json:"type"`
	V      int    `json:"v"`
	Check  string `json:"check"`
	State  string `json:"state"`
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
}

// Options of kx doctor.
type Options struct {
	App    *app.App
	Checks func(*app.App) []Row
}

// New returns the command; a nil run is the real one.
func New(a *app.App, run func(context.Context, *Options) error) *app.Command {
	o := &Options{App: a, Checks: checks}
	if run == nil {
		run = doctor
	}
	return &app.Command{
		Name:  "doctor",
		Usage: "check that everything is in order",
		What: `
Checks the directories, the configuration, the rules, the trust of this workspace and the programs that kx uses. It changes nothing.

A check is ok, warn (it works, but look at it), missing (kx goes on without it), off, or broken (it has to be mended); beside what is not ok stands the command to type.
`,
		Examples: []app.Example{{Line: "kx doctor"}, {Line: "kx doctor -o jsonl | jq 'select(.state != \"ok\")'"}},
		Exits:    []app.Exit{{Status: fail.ExitFailed, Means: "something is broken"}},
		Run:      func(ctx context.Context, _ []string) error { return run(ctx, o) },
	}
}

func doctor(_ context.Context, o *Options) error {
	rows := o.Checks(o.App)
	err := out.List(o.App.Printer(), out.Columns[Row]{
		Header: []string{"CHECK", "STATE", "DETAIL", "HINT"},
		Row:    func(r Row) []string { return []string{r.Check, r.State, r.Detail, r.Hint} },
	}, rows)
	if err == nil && slices.ContainsFunc(rows, func(r Row) bool { return r.State == Broken }) {
		return app.Status(fail.ExitFailed)
	}
	return err
}

func row(check, state, detail, hint string) Row {
	return Row{Type: "check", V: wire.Version, Check: check, State: state, Detail: detail, Hint: hint}
}

// broken is the row of an error.
func broken(check string, err error) Row {
	e := fail.As(err)
	return row(check, Broken, e.Msg, e.Hint)
}
