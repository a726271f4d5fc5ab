package tell

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/pkg/wire"
)

// Story is what became of a session, for a person who was not there: how it stands,
// then its turns, with times since its beginning.
type Story struct {
	Session  wire.Session
	Events   iter.Seq2[wire.Event, error]
	Approval func(id string) (*wire.Approval, error) // as it stands now
	Now      time.Time

	t      *out.Text
	calls  calls
	asked  map[string]bool // requests that were told of
	ended  bool            // the process that wrote so far did not go on
	speech speech
	losses losses
}

// lastLines is how much is shown of what a command printed that failed: the end
// mostly says why, and the rest is there for the asking.
const lastLines = 5

// Write writes it. The error is the last damage of the record; what can be read is
// written all the same.
func (s *Story) Write(t *out.Text) error {
	s.t, s.calls, s.asked = t, calls{}, map[string]bool{}
	s.losses = losses{}
	s.head()
	var damage error
	for e, err := range s.Events {
		if err != nil {
			damage = err
			continue
		}
		s.event(e)
	}
	s.speech.end(s.t)
	s.open()
	return damage
}

// head says how the session stands.
func (s *Story) head() {
	m := s.Session
	s.t.Printf("%s  %s  %s  mode %s  %s\n", s.t.Paint(out.Bold, m.ID), m.State, m.Model, m.Mode, m.Workspace)
	last, counts, spent := m.CreatedAt, map[string]int{}, Spent{}
	for e, err := range s.Events {
		if err != nil {
			continue
		}
		last = e.At
		spent.Take(e)
		var r struct{ Status string }
		if e.Event == "tool_result" && json.Unmarshal(e.Data, &r) == nil {
			counts[r.Status]++
		}
	}
	if m.State == "running" {
		last = s.Now
	}
	facts := []string{m.CreatedAt.Local().Format(time.DateTime), span(last.Sub(m.CreatedAt)), number(m.Turns, "turn"), tally(counts)}
	s.t.Printf("%s\n", strings.Join(facts, " · "))
	if text := spent.String(); text != "" {
		s.t.Printf("%s\n", text)
	}
	for _, id := range m.Pending {
		s.t.Printf("%s %s\n", s.t.Paint(out.Yellow, "⏸"), s.answer(id))
	}
}

// tally is the number of calls by their status.
func tally(counts map[string]int) string {
	sum := 0
	var list []string
	for _, status := range slices.Sorted(maps.Keys(counts)) {
		sum += counts[status]
		list = append(list, fmt.Sprintf("%d %s", counts[status], status))
	}
	if sum == 0 {
		return number(0, "call")
	}
	return number(sum, "call") + ": " + strings.Join(list, ", ")
}

func number(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// after is a time since the beginning.
func (s *Story) after(at time.Time) string { return "+" + span(at.Sub(s.Session.CreatedAt)) }

// mark writes what happened to the run as a whole.
func (s *Story) mark(style out.Style, what string, at time.Time, more string) {
	s.t.Printf("%s %s%s\n", s.t.Paint(style, what), s.t.Paint(out.Dim, s.after(at)), more)
}

func (s *Story) event(e wire.Event) {
	if s.ended && e.Event != "done" && e.Event != "error" {
		s.mark(out.Yellow, "▸ resumed", e.At, "")
		s.ended = false
	}
	if e.Event != "text" {
		s.speech.end(s.t)
	}
	switch e.Event {
	case "turn_start":
		var d struct {
			Turn   int
			Prompt string
		}
		if json.Unmarshal(e.Data, &d) != nil {
			return
		}
		if d.Prompt != "" {
			s.t.Printf("\n%s\n", out.Block("> "+strings.ReplaceAll(strings.TrimRight(d.Prompt, "\n"), "\n", "\n> ")))
		}
		s.t.Printf("\n")
		s.mark(out.Bold, fmt.Sprintf("turn %d", d.Turn), e.At, "")
		s.losses.write(s.t, e.Data)
	case "text":
		s.speech.text(s.t, e.Data)
	case "model_call":
		again(s.t, e.Data)
		s.calls.remember(e.Data)
		s.speech.answered(e.Data)
	case "tool_call":
		s.calls.started(e.Data, e.At)
	case "tool_result":
		s.result(e)
	case "approval":
		s.approval(e)
	case "parked":
		s.mark(out.Yellow, "⏸ parked", e.At, "")
		s.ended = true
	case "error":
		var d wire.Error
		if json.Unmarshal(e.Data, &d) == nil {
			s.mark(out.Red, "failed", e.At, out.Sprintf(": %s", d.Message))
		}
		s.ended = true
	case "done":
		s.done(e)
	}
}

func (s *Story) done(e wire.Event) {
	var d struct{ State, Output string }
	if json.Unmarshal(e.Data, &d) != nil {
		return
	}
	if d.Output != "" && d.Output != s.speech.said {
		s.t.Printf("%s\n", out.Block(strings.TrimRight(d.Output, "\n")))
	}
	switch d.State {
	case "failed": // its error was told
	case "completed":
		s.mark(out.Green, d.State, e.At, "")
	default:
		s.mark(out.Yellow, d.State, e.At, "")
	}
	s.ended = true
}

// result writes a call, and the end of what it printed if it failed.
func (s *Story) result(e wire.Event) {
	var r wire.Result
	if json.Unmarshal(e.Data, &r) != nil {
		return
	}
	c := s.calls.get(r.ID)
	c.ended = true
	s.t.Printf("  %-5s", r.ID)
	c.result(s.t, &r, e.At, false, 0)
	if r.Error == nil || r.Error.Code != "exit_status" {
		return
	}
	lines := strings.Split(strings.TrimRight(printed(r.Output), "\n"), "\n")
	if more := len(lines) - lastLines; more > 0 {
		s.t.Printf("%s%s\n", inset, s.t.Paint(out.Dim, fmt.Sprintf("… %s before: kx agent show %s %s", number(more, "line"), s.Session.ID, r.ID)))
		lines = lines[more:]
	}
	for _, line := range lines {
		if line != "" {
			s.t.Printf("%s%s\n", inset, out.Block(line))
		}
	}
}

// inset is where what belongs to a call stands.
const inset = "                     "

// printed is what a command printed, the complaints last.
func printed(o wire.Output) string {
	stdout, _ := o["stdout"].(string)
	stderr, _ := o["stderr"].(string)
	if stdout != "" && !strings.HasSuffix(stdout, "\n") {
		stdout += "\n"
	}
	return stdout + stderr
}

// approval writes, once, that a call was asked about, and how that was answered.
func (s *Story) approval(e wire.Event) {
	var d struct {
		ID     string
		CallID string `json:"call_id"`
	}
	if json.Unmarshal(e.Data, &d) != nil || s.asked[d.ID] {
		return
	}
	s.asked[d.ID] = true
	c := s.calls.get(d.CallID)
	s.t.Printf("  %-5s  %s %s\n", d.CallID, s.t.Paint(out.Yellow, "⏸"), s.answer(d.ID))
	c.asked = e.At
}

// answer says what became of a request.
func (s *Story) answer(id string) string {
	a, err := s.Approval(id)
	switch {
	case err != nil:
		return id + ": its record can't be read"
	case a.State == wire.ApprovalPending:
		raw, _ := json.Marshal(a) // of a document that was just read
		return id + " " + Waiting(raw)
	}
	text := id + " " + a.State
	if a.State == wire.ApprovalSpent { // which says nothing of the answer
		text = id + " allowed"
	}
	if a.DecidedBy != nil {
		text += by(a.DecidedBy)
	}
	if a.DecidedAt != nil {
		text += " " + s.after(*a.DecidedAt)
	}
	if a.Scope != "" && a.Scope != "once" {
		text += ", scope " + a.Scope
	}
	if a.InputEdited {
		text += ", with another input"
	}
	if a.Note != "" {
		text += ": " + cut(a.Note)
	}
	return text
}

// by says who answered.
func by(d *wire.Decider) string {
	switch {
	case d.Kind != "human":
		return " by " + strings.TrimSpace(d.Kind+" "+d.Via)
	case d.TTY != "":
		return " on " + d.TTY
	}
	return " by a person"
}

// open writes the calls of which no end is known.
func (s *Story) open() {
	for _, id := range slices.SortedFunc(maps.Keys(s.calls), func(a, b string) int { return s.calls[a].n - s.calls[b].n }) {
		c := s.calls[id]
		if c.ended || c.began.IsZero() {
			continue
		}
		how := "ended with kx: nobody knows how far it came"
		if s.Session.State == "running" {
			how = "runs for " + span(s.Now.Sub(c.began))
		}
		s.t.Printf("  %-5s  %-11s %s %s\n", id, c.tool, c.about, s.t.Paint(out.Yellow, how))
	}
}
