package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/pkg/wire"
)

// Stream prints what a run emits as it happens: its events, and the run at the end.
// How it ended is said by the error that it ends with, or by nothing.
func Stream(a *app.App, run func(emit func(any) error) error) error {
	p := a.Printer()
	if p.Format().Data() {
		var failed error
		err := out.Each(p, out.Columns[any]{}, func(emit func(any) error) error {
			failed = run(func(doc any) error {
				if e, ok := doc.(wire.Event); ok && e.Event == "approval" {
					a.Note("⏸ %s", waiting(e.Data))
				}
				return emit(doc)
			})
			return nil
		})
		return errors.Join(err, failed)
	}
	tell := newTeller(true)
	return run(func(doc any) error {
		e, ok := doc.(wire.Event)
		if !ok {
			return nil
		}
		return p.Text(func(t *out.Text) { tell.event(t, e) })
	})
}

// waiting says what a person is to do about an approval event.
func waiting(data json.RawMessage) string {
	var d struct{ ID string }
	_ = json.Unmarshal(data, &d) // as good as it gets: the error at the end has the ids, too
	return "waiting for approval   kx approve allow " + d.ID
}

// teller writes the events of a run for a person: what the model says as it is, a
// line for a call, two for one that takes a while. It leaves out of a live run what
// the person typed or is told at the end.
type teller struct {
	live  bool
	said  string               // last by the model
	about map[string]string    // by the id of a call
	since map[string]time.Time // calls that run, without their wait for a person
}

func newTeller(live bool) *teller {
	return &teller{live: live, about: map[string]string{}, since: map[string]time.Time{}}
}

// noteworthy is from when on it is said how long a call took.
const noteworthy = 100 * time.Millisecond

func (w *teller) event(t *out.Text, e wire.Event) {
	switch e.Event {
	case "turn_start":
		var d struct{ Prompt string }
		if json.Unmarshal(e.Data, &d) == nil && d.Prompt != "" && !w.live {
			t.Printf("> %s\n", out.Block(strings.TrimRight(d.Prompt, "\n")))
		}
	case "text":
		var d struct{ Text string }
		if json.Unmarshal(e.Data, &d) == nil {
			w.said = d.Text
			t.Printf("%s\n", out.Block(strings.TrimRight(d.Text, "\n")))
		}
	case "model_call":
		w.remember(e.Data)
	case "tool_call":
		var d struct {
			ID, Tool string
			Input    json.RawMessage
		}
		if json.Unmarshal(e.Data, &d) != nil {
			return
		}
		if w.about[d.ID] == "" { // an earlier process had it from the model
			w.about[d.ID] = brief(d.Input)
		}
		w.since[d.ID] = e.At
		if slow(d.Tool) {
			t.Printf("  %-11s %s\n", d.Tool, w.about[d.ID])
		}
	case "tool_result":
		var r wire.Result
		if json.Unmarshal(e.Data, &r) == nil {
			w.result(t, &r, e.At)
		}
	case "approval":
		t.Printf("  %s %s\n", t.Paint(out.Yellow, "⏸"), waiting(e.Data))
	case "parked":
		if !w.live {
			t.Printf("  %s\n", t.Paint(out.Yellow, "⏸ parked"))
		}
	case "error":
		var d wire.Error
		if json.Unmarshal(e.Data, &d) == nil && !w.live {
			t.Printf("  %s %s\n", t.Paint(out.Red, "failed:"), d.Message)
		}
	case "done":
		var d struct{ Output string }
		if json.Unmarshal(e.Data, &d) == nil && d.Output != "" && d.Output != w.said {
			t.Printf("%s\n", out.Block(strings.TrimRight(d.Output, "\n")))
		}
	}
}

// remember keeps what the calls of a turn are about, as the model wrote it.
func (w *teller) remember(data json.RawMessage) {
	var d struct {
		Calls []struct {
			ID    string
			Input json.RawMessage
		}
	}
	if json.Unmarshal(data, &d) != nil {
		return
	}
	clear(w.about)
	for _, c := range d.Calls {
		w.about[c.ID] = brief(c.Input)
	}
}

// slow reports whether calls of a tool take so long that a person wants to see them
// begin.
func slow(tool string) bool { return tool == "bash" }

// result writes how a call ended: "ok" only where nothing else says it.
func (w *teller) result(t *out.Text, r *wire.Result, at time.Time) {
	about, status := w.about[r.ID], string(r.Status)
	if about == "" && r.Decision != nil && len(r.Decision.Points) > 0 {
		about = cut(r.Decision.Points[0].Resource)
	}
	if ran := r.Error == nil || r.Error.Code == "exit_status"; slow(r.Tool) && ran {
		about = "" // it stands a line above
	}
	much := extent(r.Output)
	if r.Status == wire.StatusOK && about+much != "" {
		status = ""
	}
	t.Printf("  %-11s", r.Tool)
	if about != "" {
		t.Printf(" %s", about)
	}
	if status == string(wire.StatusOK) {
		t.Printf(" %s", t.Paint(out.Green, status))
	} else if status != "" {
		t.Printf(" %s", t.Paint(out.Red, status))
	}
	if much != "" {
		t.Printf(" %s", much)
	}
	if began, ran := w.since[r.ID]; ran && at.Sub(began) >= noteworthy {
		t.Printf(" %s", at.Sub(began).Round(noteworthy))
	}
	if r.Error != nil {
		t.Printf(": %s", cut(r.Error.Message))
	}
	t.Printf("\n")
}

// brief names what a call is about: the field of its input that says it.
func brief(input json.RawMessage) string {
	var in map[string]any
	if json.Unmarshal(input, &in) != nil {
		return ""
	}
	for _, field := range []string{"command", "pattern", "path", "url", "query"} {
		s, ok := in[field].(string)
		switch {
		case !ok:
		case field == "pattern":
			return `"` + cut(s) + `"`
		default:
			return cut(s)
		}
	}
	return ""
}

// extent says how much came of a call, where that is a number.
func extent(o wire.Output) string {
	if added, ok := o["added"].(float64); ok {
		removed, _ := o["removed"].(float64)
		return fmt.Sprintf("+%g -%g", added, removed)
	}
	for field, unit := range map[string][2]string{"matches": {"match", "matches"}, "entries": {"entry", "entries"}} {
		if list, ok := o[field].([]any); ok {
			if len(list) == 1 {
				return "1 " + unit[0]
			}
			return fmt.Sprintf("%d %s", len(list), unit[1])
		}
	}
	return ""
}

// cut keeps what fits on a line beside the name of a tool.
func cut(s string) string {
	const most = 100
	s, rest, _ := strings.Cut(s, "\n")
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	if rest != "" {
		return s + " …"
	}
	return s
}
