package tell

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/kxtools/kx/internal/base/out"
)

// speech writes what a model says as it comes, in pieces that may end anywhere. When it
// is over, its last line is ended once.
type speech struct {
	said string // the last of it, as a whole
	more bool   // it goes on
	held string // newlines at the end of what came: another piece may follow, or not
	cut  bool   // the answer was cut, and the next text is the rest of it
}

// text writes a text event.
func (s *speech) text(t *out.Text, data json.RawMessage) {
	var d struct {
		Text string
		More bool
	}
	if json.Unmarshal(data, &d) != nil {
		return
	}
	if !s.more && !s.cut {
		s.said = ""
	}
	s.said += d.Text
	s.more, s.cut = true, false
	text := s.held + d.Text
	body := strings.TrimRight(text, "\n")
	s.held = text[len(body):]
	t.Printf("%s", out.Block(body))
	if !d.More {
		s.end(t)
	}
}

// end ends the last line.
func (s *speech) end(t *out.Text) {
	if s.more {
		t.Printf("\n")
	}
	s.more, s.held = false, ""
}

// answered takes in how the answer ended.
func (s *speech) answered(data json.RawMessage) {
	var d struct {
		End   string
		Calls []struct{}
	}
	s.cut = json.Unmarshal(data, &d) == nil && d.End == "length" && len(d.Calls) == 0
}

// Losses says of a turn_start what the model does not get to see.
func Losses(data json.RawMessage) []string {
	var d struct {
		Context []struct{ Source, Lost string }
	}
	if json.Unmarshal(data, &d) != nil {
		return nil
	}
	var list []string
	for _, c := range d.Context {
		if c.Lost != "" {
			list = append(list, c.Source+": "+c.Lost)
		}
	}
	return list
}

// losses are those that were told.
type losses map[string]bool

// fresh returns those of a turn_start that were not told yet.
func (l losses) fresh(data json.RawMessage) []string {
	var list []string
	for _, text := range Losses(data) {
		if !l[text] {
			l[text] = true
			list = append(list, text)
		}
	}
	return list
}

func (l losses) write(t *out.Text, data json.RawMessage) {
	for _, text := range l.fresh(data) {
		t.Printf("  %s %s\n", t.Paint(out.Yellow, "!"), text)
	}
}

// again tells of a failure after which a model is asked again, and reports whether a
// model_call is that.
func again(t *out.Text, data json.RawMessage) bool {
	var d struct {
		Error     struct{ Message string }
		RetryInMS *int64 `json:"retry_in_ms"`
	}
	if json.Unmarshal(data, &d) != nil || d.RetryInMS == nil {
		return false
	}
	what := "asking another account or model"
	if wait := time.Duration(*d.RetryInMS) * time.Millisecond; wait > 0 {
		what = "asking again in " + span(wait.Round(time.Second))
	}
	t.Printf("  %s %s; %s\n", t.Paint(out.Yellow, "!"), d.Error.Message, what)
	return true
}
