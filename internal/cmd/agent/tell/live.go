// Package tell says to a person what an agent does: Live as it happens, Story
// afterwards. Both read the events of a session and know nothing of how they are
// made. The commands of kx agent print it.
//
// Invariants: a call is one line, but where nobody sees meanwhile that it runs; what
// can't be understood is left out, never guessed.
package tell

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/pkg/wire"
)

// Live writes the events of a run as they come: what the model says as it is, and a
// line for a call. It leaves out what the person typed, or is told at the end.
type Live struct {
	// Footed says that a status line tells which calls run. Without one a call that
	// may take long gets a second line, when it begins.
	Footed bool

	now func() time.Time

	mu      sync.Mutex
	began   time.Time
	session string
	cells   int // of the status line, once there is one
	turn    int
	asked   time.Time // since when a turn of the model is waited for; zero if it is not
	speech  speech
	losses  losses
	calls   calls
}

// NewLive returns a Live for a run that begins now.
func NewLive(now func() time.Time) *Live {
	return &Live{now: now, began: now(), losses: losses{}, calls: calls{}}
}

// Session is the id of the session, once an event has told it.
func (l *Live) Session() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session
}

// Event writes an event.
func (l *Live) Event(t *out.Text, e wire.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.session = e.Session
	if e.Event != "text" {
		l.speech.end(t)
	}
	switch e.Event {
	case "turn_start":
		var d struct{ Turn int }
		if json.Unmarshal(e.Data, &d) == nil {
			l.turn, l.asked = d.Turn, e.At
		}
		l.losses.write(t, e.Data)
	case "text":
		l.speech.text(t, e.Data)
	case "model_call":
		l.asked = time.Time{}
		if again(t, e.Data) {
			l.asked = e.At
		}
		l.calls.remember(e.Data)
		l.speech.answered(e.Data)
	case "tool_call":
		if c := l.calls.started(e.Data, e.At); c != nil && slow(c.tool) && !l.Footed {
			t.Printf("  %-11s %s\n", c.tool, c.about)
		}
	case "tool_result":
		var r wire.Result
		if json.Unmarshal(e.Data, &r) == nil {
			c := l.calls.get(r.ID)
			ran := r.Error == nil || r.Error.Code == "exit_status"
			c.result(t, &r, e.At, slow(r.Tool) && ran && !l.Footed, l.cells)
			c.ended, c.asked = true, time.Time{}
		}
	case "approval":
		a := l.approval(e)
		t.Printf("  %s %s\n", t.Paint(out.Yellow, "⏸"), a)
	case "done":
		var d struct{ Output string }
		if json.Unmarshal(e.Data, &d) == nil && d.Output != "" && d.Output != l.speech.said {
			t.Printf("%s\n", out.Block(strings.TrimRight(d.Output, "\n")))
		}
	}
}

func (l *Live) approval(e wire.Event) string {
	var d struct {
		CallID string `json:"call_id"`
	}
	if json.Unmarshal(e.Data, &d) == nil {
		l.calls.get(d.CallID).asked = e.At
	}
	return Waiting(e.Data)
}

// slow reports whether calls of a tool take so long that a person wants to see them
// begin.
func slow(tool string) bool { return tool == "bash" }

// Waiting says what a person is to do about an approval event.
func Waiting(data json.RawMessage) string {
	var d struct{ ID, Tool string }
	_ = json.Unmarshal(data, &d) // as good as it gets: the error at the end has the ids, too
	if strings.HasPrefix(d.Tool, "ask_") {
		return "waiting for an answer   kx approve answer " + d.ID + " --option 1"
	}
	return "waiting for approval   kx approve allow " + d.ID
}

// Status is the status line of the moment for so many columns: how long the run
// takes, its turn, what it does, and whom it waits for.
func (l *Live) Status(cells int, stopping bool) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.cells = cells
	parts := []string{span(now.Sub(l.began))}
	if l.turn > 0 {
		parts = append(parts, fmt.Sprintf("turn %d", l.turn))
	}
	running, waiting, first, oldest := l.calls.busy()
	about, does := "", ""
	switch {
	case stopping:
		parts = append(parts, "stopping; Ctrl-C again to kill")
	case running > 0:
		about, does = strings.TrimSpace(first.tool+" "+first.about), span(now.Sub(first.began))
		if running > 1 {
			does += fmt.Sprintf(" +%d", running-1)
		}
	case waiting == 0 && !l.asked.IsZero():
		about, does = "model", span(now.Sub(l.asked))
	}
	waits := ""
	if waiting > 0 {
		waits = fmt.Sprintf("%d waiting %s (kx approve)", waiting, span(now.Sub(oldest.asked)))
	}
	const dot = " · "
	if about != "" {
		rest := append(slices.Clone(parts), " "+does)
		if waits != "" {
			rest = append(rest, waits)
		}
		room := cells - term.Cells(strings.Join(rest, dot))
		parts = append(parts, term.Fit(about, max(room, shortest))+" "+does)
	}
	if waits != "" {
		parts = append(parts, waits)
	}
	return strings.Join(parts, dot)
}

// span is a time in whole seconds, short.
func span(d time.Duration) string {
	s := int(max(d, 0) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
}

// Age is how long ago something was, in one unit.
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds ago", int(max(d, 0)/time.Second))
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d/time.Minute))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d/time.Hour))
	}
	return fmt.Sprintf("%dd ago", int(d/(24*time.Hour)))
}
