package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/record/audit"
)

// ShowOptions of kx audit show.
type ShowOptions struct {
	App  *app.App
	Open func() (*audit.Log, error)

	ID string // a seq or the id of a call
}

// NewShow returns the command; a nil run is the real one.
func NewShow(a *app.App, run func(context.Context, *ShowOptions) error) *app.Command {
	o := &ShowOptions{App: a, Open: func() (*audit.Log, error) { return open(a) }}
	if run == nil {
		run = show
	}
	return &app.Command{
		Name:     "show",
		Usage:    "show a line, or all lines of a call",
		What:     "Shows the line with a number, or everything that the record has of a call: the decision, approvals, the outcome.",
		Args:     "SEQ|CALL",
		Examples: []app.Example{{Line: "kx audit show 12"}, {Line: "kx audit show c7k2qm --json"}},
		Exits:    []app.Exit{{Status: fail.ExitFailed, Means: "the record is damaged before it"}, {Status: fail.ExitNotFound, Means: "the record has no such line or call"}},
		Run: func(ctx context.Context, args []string) error {
			o.ID = args[0]
			return run(ctx, o)
		},
	}
}

func show(ctx context.Context, o *ShowOptions) error {
	log, err := o.Open()
	if err != nil {
		return err
	}
	seq, _ := strconv.ParseInt(o.ID, 10, 64)
	var found []audit.Entry
	var damaged error
	for e, err := range log.List(audit.Filter{}) {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			damaged = err
		case seq > 0 && e.Seq == seq, e.CallID == o.ID:
			found = append(found, e)
		}
	}
	switch {
	case len(found) == 0 && damaged != nil:
		return damaged
	case len(found) == 0:
		return fail.NotFound("audit", "the record has no line or call %q", o.ID).WithHint("kx audit list")
	}
	p := o.App.Printer()
	if !p.Format().Data() {
		return p.Text(func(t *out.Text) { describe(t, found) })
	}
	return out.List(p, columns, found)
}

// describe writes the fields of each line, in their order.
func describe(t *out.Text, entries []audit.Entry) {
	for i, e := range entries {
		if i > 0 {
			t.Printf("\n")
		}
		t.Printf("%s %d  %s  %s\n", t.Paint(out.Bold, e.Type), e.Seq, e.At.Local().Format(time.DateTime), e.Source)
		dec := json.NewDecoder(bytes.NewReader(e.Raw))
		dec.Token()
		for dec.More() {
			key, err := dec.Token()
			var value json.RawMessage
			if err != nil || dec.Decode(&value) != nil {
				break
			}
			var text string
			if json.Unmarshal(value, &text) != nil {
				text = string(value)
			}
			if k, _ := key.(string); k != "type" && k != "seq" && k != "at" && text != "" && text != "null" {
				t.Printf("  %-16s %s\n", k, text)
			}
		}
	}
}
