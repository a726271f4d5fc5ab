package tell

import (
	"encoding/json"
	"fmt"

	"github.com/kxtools/kx/pkg/wire"
)

// Spent adds up what the turns of a session took.
type Spent struct {
	input, cached, output int64
	usd                   float64
}

// Take takes in an event.
func (s *Spent) Take(e wire.Event) {
	var d struct {
		Usage wire.Usage
		Cost  float64 `json:"cost_usd"`
	}
	if e.Event != "model_call" || json.Unmarshal(e.Data, &d) != nil {
		return
	}
	s.cached += d.Usage.CacheRead
	s.input += d.Usage.Input + d.Usage.CacheRead + d.Usage.CacheWrite
	s.output += d.Usage.Output
	s.usd += d.Cost
}

// String says it in a few words, "" if no provider told anything.
func (s *Spent) String() string {
	if s.input+s.output == 0 {
		return ""
	}
	cached := ""
	if s.cached > 0 {
		cached = fmt.Sprintf(" (%d %% of it cached)", 100*s.cached/s.input)
	}
	text := fmt.Sprintf("%s tokens in%s, %s out", count(s.input), cached, count(s.output))
	if s.usd > 0 {
		text += fmt.Sprintf(", %.4f USD", s.usd)
	}
	return text
}

// count writes a large number in thousands.
func count(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	}
	return fmt.Sprintf("%.2fM", float64(n)/1_000_000)
}
