package tell

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/pkg/wire"
)

// shortest is what is kept of what a call is about, in columns, where there is no
// room: less tells nothing.
const shortest = 20

// noteworthy is from when on it is said how long a call took.
const noteworthy = 100 * time.Millisecond

// calls are those of the turn at hand, by their ids.
type calls map[string]*call

// call is what is known of one.
type call struct {
	tool, about string
	began       time.Time // of its work, without its wait for a person; zero before
	asked       time.Time // since when it waits for a person; zero if it does not
	ended       bool
	n           int // which it is of the turn
}

// get returns the call with an id, which an earlier process may have begun.
func (c calls) get(id string) *call {
	if c[id] == nil {
		c[id] = &call{n: len(c)}
	}
	return c[id]
}

// remember keeps what the calls of a turn are about, as the model wrote it.
func (c calls) remember(data json.RawMessage) {
	var d struct {
		Calls []struct {
			ID, Tool string
			Input    json.RawMessage
		}
	}
	if json.Unmarshal(data, &d) != nil {
		return
	}
	clear(c)
	for _, one := range d.Calls {
		*c.get(one.ID) = call{tool: one.Tool, about: brief(one.Input), n: len(c) - 1}
	}
}

// started notes that a call is about to run.
func (c calls) started(data json.RawMessage, at time.Time) *call {
	var d struct {
		ID, Tool string
		Input    json.RawMessage
	}
	if json.Unmarshal(data, &d) != nil {
		return nil
	}
	one := c.get(d.ID)
	if one.about == "" { // an earlier process had it from the model
		one.about = brief(d.Input)
	}
	one.tool, one.began, one.asked = d.Tool, at, time.Time{}
	return one
}

// busy counts the calls that run and those that wait for a person; first is the first
// of the ones, oldest waits longest of the others.
func (c calls) busy() (running, waiting int, first, oldest *call) {
	for _, one := range c {
		switch {
		case one.ended:
		case !one.asked.IsZero():
			if waiting++; oldest == nil || one.asked.Before(oldest.asked) {
				oldest = one
			}
		case !one.began.IsZero():
			if running++; first == nil || one.n < first.n {
				first = one
			}
		}
	}
	return running, waiting, first, oldest
}

// result writes how a call ended: "ok" only where nothing else says it, and what it
// is about unless that stands a line above. The line is cut to cells there, 0 for no
// limit; what went wrong is said all the same.
func (one *call) result(t *out.Text, r *wire.Result, at time.Time, above bool, cells int) {
	about, status, why := one.about, string(r.Status), ""
	if about == "" && r.Decision != nil && len(r.Decision.Points) > 0 {
		about = cut(r.Decision.Points[0].Resource)
	}
	if r.Error != nil {
		why = ": " + cut(r.Error.Message)
	}
	switch exit, ok := r.Output["exit_code"].(float64); {
	case above:
		about = ""
	case ok && r.Error != nil && r.Error.Code == "exit_status":
		status, why = fmt.Sprintf("exit %g", exit), ""
	}
	much := extent(r.Output)
	if r.Status == wire.StatusOK && about+much != "" {
		status = ""
	}
	if much != "" {
		much = " " + much
	}
	if took := at.Sub(one.began); !one.began.IsZero() && took >= noteworthy {
		much += " " + took.Round(noteworthy).String()
	}
	if cells > 0 {
		about = term.Fit(about, max(cells-term.Cells("  tool_______ "+" "+status+much+why), shortest))
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
	t.Printf("%s%s\n", much, why)
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

// widest is how many columns a line spends on what a call is about.
const widest = 100

// cut keeps what fits on a line beside the name of a tool.
func cut(s string) string {
	s, rest, _ := strings.Cut(s, "\n")
	if term.Cells(s) > widest {
		return term.Fit(s, widest)
	}
	if rest != "" {
		return s + " …"
	}
	return s
}
