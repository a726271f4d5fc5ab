package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/agent/tell"
	"github.com/kxtools/kx/pkg/wire"
)

// markdown writes a session for people.
type markdown struct {
	t        *out.Text
	approval func(id string) (*wire.Approval, error)
	began    time.Time
	speaking bool // the text that was written last goes on
	said     string
	inputs   map[string]json.RawMessage // of calls, as the model wrote them
	shown    map[string]bool            // requests
}

// writeMarkdown writes the document.
func writeMarkdown(t *out.Text, d *Document, get func(id string) (*wire.Approval, error)) {
	s := d.Session
	m := &markdown{t: t, approval: get, began: s.CreatedAt, inputs: map[string]json.RawMessage{}, shown: map[string]bool{}}
	t.Printf("# Session %s\n\n", s.ID)
	spent := tell.Spent{}
	for _, e := range d.Events {
		spent.Take(e)
	}
	for _, row := range [][2]string{
		{"state", s.State}, {"model", s.Model}, {"mode", s.Mode}, {"workspace", s.Workspace}, {"began", s.CreatedAt.Format(time.RFC3339)},
		{"turns", fmt.Sprint(s.Turns)}, {"took", spent.String()}, {"from", s.Parent},
	} {
		if row[1] != "" {
			t.Printf("- %s: %s\n", row[0], row[1])
		}
	}
	for _, e := range d.Events {
		m.event(&e)
	}
	for i, line := range d.Damage {
		if i == 0 {
			t.Printf("\n## Damage\n\n")
		}
		t.Printf("- %s\n", line)
	}
}

func (m *markdown) event(e *wire.Event) {
	if e.Event != "text" && m.speaking {
		m.spoke()
	}
	switch e.Event {
	case "turn_start":
		m.turn(e)
	case "text":
		var d struct {
			Text string
			More bool
		}
		if json.Unmarshal(e.Data, &d) != nil {
			return
		}
		if !m.speaking {
			m.t.Printf("\n")
			m.said = ""
		}
		m.said += d.Text
		m.t.Printf("%s", out.Block(d.Text))
		if m.speaking = d.More; !d.More {
			m.spoke()
		}
	case "model_call":
		m.calls(e)
	case "tool_result":
		m.result(e)
	case "approval":
		m.asked(e)
	case "parked":
		m.t.Printf("\n*parked, %s*\n", m.after(e.At))
	case "error":
		var d wire.Error
		if json.Unmarshal(e.Data, &d) == nil {
			m.t.Printf("\n**failed: %s** (%s)\n", d.Message, d.Code)
		}
	case "done":
		var d struct{ State, Output string }
		if json.Unmarshal(e.Data, &d) != nil {
			return
		}
		if d.Output != "" && d.Output != m.said {
			m.t.Printf("\n%s\n", out.Block(d.Output))
		}
		m.t.Printf("\n*%s, %s*\n", d.State, m.after(e.At))
	}
}

// spoke ends a text, and the block of code that it was cut in: the rest of the document
// is none.
func (m *markdown) spoke() {
	m.speaking = false
	m.t.Printf("\n")
	if fence := openFence(m.said); fence != "" {
		m.t.Printf("%s\n", fence)
	}
}

// openFence returns the fence of a block of code that a text does not end, "" for none.
func openFence(text string) (open string) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		rest := strings.TrimLeft(line, " ")
		if len(line)-len(rest) > 3 || rest == "" {
			continue
		}
		after := strings.TrimLeft(rest, rest[:1])
		fence := rest[:len(rest)-len(after)]
		switch {
		case len(fence) < 3 || fence[0] != '`' && fence[0] != '~':
		case open == "" && (fence[0] == '~' || !strings.Contains(after, "`")):
			open = fence
		case open != "" && after == "" && strings.HasPrefix(fence, open):
			open = ""
		}
	}
	return open
}

func (m *markdown) after(at time.Time) string {
	return "+" + max(at.Sub(m.began), 0).Round(time.Second).String()
}

func (m *markdown) turn(e *wire.Event) {
	var d struct {
		Turn             int
		Prompt, Attached string
		Context          []struct{ Source, Lost string }
	}
	if json.Unmarshal(e.Data, &d) != nil {
		return
	}
	if d.Prompt != "" {
		m.t.Printf("\n## Prompt\n\n%s\n", out.Block(d.Prompt))
	}
	if d.Attached != "" {
		m.t.Printf("\n%s", out.Block(fenced("", d.Attached)))
	}
	m.t.Printf("\n## Turn %d, %s\n", d.Turn, m.after(e.At))
	for _, c := range d.Context {
		if c.Lost != "" {
			m.t.Printf("\n*%s: %s*\n", c.Source, c.Lost)
		}
	}
}

func (m *markdown) calls(e *wire.Event) {
	var d struct {
		Calls []struct {
			ID    string
			Input json.RawMessage
			Wrote string
		}
		Error *wire.Error
	}
	if json.Unmarshal(e.Data, &d) != nil {
		return
	}
	if d.Error != nil {
		m.t.Printf("\n*the model failed: %s*\n", d.Error.Message)
	}
	for _, c := range d.Calls {
		if m.inputs[c.ID] = c.Input; c.Wrote != "" {
			m.inputs[c.ID] = json.RawMessage(c.Wrote)
		}
	}
}

func (m *markdown) result(e *wire.Event) {
	var r wire.Result
	if json.Unmarshal(e.Data, &r) != nil {
		return
	}
	m.t.Printf("\n### %s: %s\n", r.Tool, string(r.Status))
	if input := m.inputs[r.ID]; len(input) > 0 {
		var b bytes.Buffer
		if json.Indent(&b, input, "", "  ") != nil {
			b.Reset()
			b.Write(input)
		}
		m.t.Printf("\n%s", out.Block(fenced("json", b.String())))
	}
	if text := r.Output.Text(); text != "" {
		m.t.Printf("\n%s", out.Block(fenced("", text)))
	} else if r.Error != nil {
		m.t.Printf("\n%s\n", r.Error.Message)
	}
}

// asked writes, once, what a person was asked and how that was answered.
func (m *markdown) asked(e *wire.Event) {
	var d struct{ ID, Tool string }
	if json.Unmarshal(e.Data, &d) != nil || m.shown[d.ID] {
		return
	}
	m.shown[d.ID] = true
	a, err := m.approval(d.ID)
	if err != nil {
		m.t.Printf("\n*%s was asked for: %s*\n", d.Tool, d.ID)
		return
	}
	text := a.State
	if a.State == wire.ApprovalSpent {
		text = "allowed"
	}
	if by := a.DecidedBy; by != nil {
		text += " by " + by.Kind
		if by.TTY != "" {
			text += " on " + by.TTY
		}
	}
	if a.DecidedAt != nil {
		text += ", " + m.after(*a.DecidedAt)
	}
	if a.Note != "" {
		text += ": " + a.Note
	}
	m.t.Printf("\n*%s was asked for (%s): %s*\n", d.Tool, d.ID, text)
}

// fenced is a block that ends where it ends, whatever the text has in it.
func fenced(lang, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + lang + "\n" + strings.TrimRight(text, "\n") + "\n" + fence + "\n"
}
