package agent

import (
	"context"
	"encoding/json"
	"errors"
	"iter"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/agent/tell"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/internal/record/session"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/wire"
)

// ShowOptions of kx agent show.
type ShowOptions struct {
	App   *app.App
	State func() (*state.State, error)

	ID   string
	Call string
}

// NewShow returns the command; a nil run is the real one.
func NewShow(a *app.App, run func(context.Context, *ShowOptions) error) *app.Command {
	o := &ShowOptions{App: a, State: site.Of(a).Peek}
	if run == nil {
		run = show
	}
	return &app.Command{
		Name:  "show",
		Usage: "show what a run did",
		What: `
Tells what a run did, turn by turn, with times since its beginning: what the model said, its calls, who answered what was asked, and how it ended. Of a command that failed the last lines are shown. With CALL it shows that call in full: its input and what came of it.

In the JSON formats the first record is the session and the others are its events, with CALL those of the call.
`,
		Args:     "ID [CALL]",
		Examples: []app.Example{{Line: "kx agent show a3fk"}, {Line: "kx agent show a3fk t2.1", Does: "the first call of the second turn, with all that it printed"}, {Line: "kx agent show a3fk -o jsonl | jq -r 'select(.event==\"tool_call\").data.tool'"}},
		Exits:    []app.Exit{{Status: 1, Means: "the session is damaged"}, {Status: 8, Means: "there is no such session or call"}},
		Complete: map[string]app.Completer{"": ids(a)},
		Run: func(ctx context.Context, args []string) error {
			if o.ID, o.Call = args[0], ""; len(args) > 1 {
				o.Call = args[1]
			}
			return run(ctx, o)
		},
	}
}

func show(_ context.Context, o *ShowOptions) error {
	st, err := o.State()
	if err != nil {
		return err
	}
	store := session.New(st, o.App.Now)
	m, err := store.Meta(o.ID)
	if err != nil {
		return err
	}
	events := store.Events(m.ID)
	if o.Call != "" {
		if events = of(events, o.Call); none(events) {
			return fail.NotFound("call", "session %s has no call %q", m.ID, o.Call).WithHint("kx agent show %s", m.ID)
		}
	}
	p := o.App.Printer()
	if p.Format().Data() {
		var damage error
		err := out.Each(p, out.Columns[any]{}, func(emit func(any) error) error {
			if err := emit(m.Session); err != nil {
				return err
			}
			for e, err := range events {
				if err != nil {
					if damage == nil {
						damage = fail.As(err)
					}
					continue
				}
				if err := emit(e); err != nil {
					return err
				}
			}
			return nil
		})
		return errors.Join(err, damage)
	}
	story := tell.Story{Session: m.Session, Events: events, Approval: approval.New(st, o.App.Now).Get, Now: o.App.Now()}
	var broken error
	if err := p.Text(func(t *out.Text) {
		if o.Call != "" {
			broken = story.Call(t)
			return
		}
		broken = story.Write(t)
	}); err != nil {
		return err
	}
	if broken != nil {
		return fail.As(broken)
	}
	return nil
}

// of are the events of one call; where they can't be read, all errors.
func of(events iter.Seq2[wire.Event, error], call string) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		for e, err := range events {
			var d struct {
				ID     string
				CallID string `json:"call_id"`
			}
			if err == nil && json.Unmarshal(e.Data, &d) != nil {
				continue
			}
			mine := e.Event == "approval" && d.CallID == call || (e.Event == "tool_call" || e.Event == "tool_result") && d.ID == call
			if (err != nil || mine) && !yield(e, err) {
				return
			}
		}
	}
}

// none reports whether there is no event and no damage.
func none(events iter.Seq2[wire.Event, error]) bool {
	for range events {
		return false
	}
	return true
}
