package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/pkg/wire"
)

// Print writes an event for a person: what the model says as it is, a line for
// what a call did, a line for what waits.
func Print(t *out.Text, e wire.Event) {
	var d struct {
		Prompt string          `json:"prompt"`
		Text   string          `json:"text"`
		Tool   string          `json:"tool"`
		ID     string          `json:"id"`
		Input  json.RawMessage `json:"input"`
		Result wire.Result     `json:"-"`
		wire.Error
	}
	if json.Unmarshal(e.Data, &d) != nil {
		return
	}
	switch e.Event {
	case "turn_start":
		if d.Prompt != "" {
			t.Printf("> %s\n", strings.TrimRight(d.Prompt, "\n"))
		}
	case "text":
		t.Printf("%s\n", strings.TrimRight(d.Text, "\n"))
	case "tool_call":
		t.Printf("  %-11s %s\n", d.Tool, brief(d.Tool, d.Input))
	case "tool_result":
		var r wire.Result
		if json.Unmarshal(e.Data, &r) == nil {
			t.Printf("  %-11s %s\n", r.Tool, outcome(t, &r))
		}
	case "approval":
		t.Printf("  %s waiting for approval   kx approve allow %s\n", t.Paint(out.Yellow, "⏸"), d.ID)
	case "error":
		t.Printf("  %s %s\n", t.Paint(out.Red, "stopped:"), d.Message)
	}
}

// brief names what a call is about: the field of its input that says it.
func brief(tool string, input json.RawMessage) string {
	var in map[string]any
	if json.Unmarshal(input, &in) != nil {
		return ""
	}
	for _, field := range []string{"command", "pattern", "path", "url", "query"} {
		if s, ok := in[field].(string); ok {
			return cut(s)
		}
	}
	return ""
}

// outcome says in one line how a call ended.
func outcome(t *out.Text, r *wire.Result) string {
	took := (time.Duration(r.DurationMS) * time.Millisecond).Round(100 * time.Millisecond)
	text := string(r.Status)
	if took >= 100*time.Millisecond {
		text += " " + took.String()
	}
	if added, ok := r.Output["added"].(float64); ok {
		text += fmt.Sprintf(" +%g -%v", added, r.Output["removed"])
	}
	if r.Error != nil {
		text += " " + cut(r.Error.Message)
	}
	return text
}

// cut keeps what fits on a line beside the name of a tool.
func cut(s string) string {
	const most = 100
	s, rest, _ := strings.Cut(s, "\n")
	if len([]rune(s)) > most {
		return string([]rune(s)[:most]) + "…"
	}
	if rest != "" {
		return s + " …"
	}
	return s
}
