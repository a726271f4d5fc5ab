package tell

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/pkg/wire"
)

// Call writes one call in full, of the events that are about it.
func (s *Story) Call(t *out.Text) error {
	s.t, s.calls, s.asked = t, calls{}, map[string]bool{}
	var damage error
	for e, err := range s.Events {
		if err != nil {
			damage = err
			continue
		}
		switch e.Event {
		case "approval":
			s.approval(e)
		case "tool_call":
			if c := s.calls.started(e.Data, e.At); c != nil {
				s.input(e.Data, c.tool, e.At)
			}
		case "tool_result":
			s.full(e)
		}
	}
	s.open()
	return damage
}

// input writes the fields of what a call was given.
func (s *Story) input(data json.RawMessage, tool string, at time.Time) {
	var d struct{ Input map[string]json.RawMessage }
	_ = json.Unmarshal(data, &d) // it was read once already
	s.mark(out.Bold, tool, at, "")
	width := 0
	for name := range d.Input {
		width = max(width, len(name))
	}
	for _, name := range slices.Sorted(maps.Keys(d.Input)) {
		var text string
		if json.Unmarshal(d.Input[name], &text) != nil {
			text = string(d.Input[name])
		}
		s.t.Printf("  %-*s  %s\n", width, name, out.Block(strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+strings.Repeat(" ", width+4))))
	}
}

// full writes how a call ended, and all that came of it as the model saw it.
func (s *Story) full(e wire.Event) {
	var r wire.Result
	if json.Unmarshal(e.Data, &r) != nil {
		return
	}
	c := s.calls.get(r.ID)
	c.ended = true
	if c.began.IsZero() { // it did not run
		s.mark(out.Bold, r.Tool, e.At, "")
	}
	style, how := out.Red, ""
	if r.Status == wire.StatusOK {
		style = out.Green
	}
	if took := e.At.Sub(c.began); !c.began.IsZero() && took >= noteworthy {
		how = out.Sprintf(" after %s", took.Round(noteworthy))
	}
	text := strings.TrimRight(r.Output.Text(), "\n")
	if r.Error != nil && r.Error.Message != text {
		how += out.Sprintf(": %s", r.Error.Message)
	}
	s.mark(style, string(r.Status), e.At, how)
	if text != "" {
		s.t.Printf("\n%s\n", out.Block(text))
	}
}
