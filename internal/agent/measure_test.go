package agent

import (
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/pkg/wire"
)

// of makes events of "event data".
func of(lines ...string) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		for _, l := range lines {
			event, data, _ := strings.Cut(l, " ")
			var err error
			if event == "damage" {
				err = errBroken
			}
			if !yield(wire.Event{Event: event, Data: json.RawMessage(data)}, err) {
				return
			}
		}
	}
}

func turn(n int, more string) []string {
	return []string{
		fmt.Sprintf(`turn_start {"turn":%d,"window":1000,"context":[{"source":"kx","kind":"system","tokens":100},{"source":"tools","kind":"tools","tokens":%d}]%s}`, n, 100*n, more),
		fmt.Sprintf(`model_call {"turn":%d,"say":"%s","calls":[{"id":"%d","tool":"t","input":{}}],"usage":{"input":%d,"cache_read":20,"cache_write":30}}`, n, strings.Repeat("s", 38), n, 550),
		fmt.Sprintf(`tool_result {"id":"%d","tool":"t","status":"ok","output":{"text":"%s"}}`, n, strings.Repeat("r", 40)),
		fmt.Sprintf(`turn_end {"turn":%d}`, n),
	}
}

// What a request has in it is that of the last turn and the whole conversation; what a
// provider counted corrects the estimate.
func TestMeasure(t *testing.T) {
	first := turn(1, `,"prompt":"`+strings.Repeat("p", 400)+`","attached":"`+strings.Repeat("a", 4000)+`"`)
	first[0] = strings.Replace(first[0], `"context":[`, `"context":[{"source":"f","kind":"attached","bytes":9000,"tokens":0,"lost":"cut"},`, 1)
	c, err := Measure("x", of(append(first, turn(2, "")...)...))
	if err != nil {
		t.Fatal(err)
	}
	// The first answer was estimated as 100+100+100, the second as 100+200+100+11+10.
	ratio1, ratio2 := 600.0/300, 600.0/421
	if want := ratio1 + learn*(ratio2-ratio1); c.Factor < want-0.001 || c.Factor > want+0.001 {
		t.Errorf("factor %g, want %g", c.Factor, want)
	}
	var got []string
	sum := 0
	for _, p := range c.Parts {
		got = append(got, fmt.Sprintf("%s %s %d %s", p.Kind, p.Source, int(float64(p.Tokens)/c.Factor+0.5), p.Lost))
		sum += p.Tokens
	}
	same(t, "parts", got, []string{"system kx 100 ", "tools tools 200 ", "attached f 0 cut", "prompt prompt 100 ", "answers model 22 ", "results t 20 "})
	if c.Tokens != sum || c.Turn != 2 || c.Window != 1000 || c.Reported != 600 || c.Parts[4].Messages != 2 {
		t.Errorf("%+v", c)
	}
	c, err = Measure("x", of())
	if err != nil || c.Parts == nil || c.Tokens != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := Measure("x", of(append(turn(1, ""), "damage")...)); fail.As(err).Hint != "kx agent fork x --at 1" {
		t.Errorf("%v", err)
	}
}

// A fork begins with turns that are over.
func TestUntil(t *testing.T) {
	log := append(append(turn(1, ""), turn(2, "")...), turn(3, "")[:3]...)
	damaged := append(append(turn(1, ""), "damage"), turn(2, "")...)
	for _, c := range []struct {
		log         []string
		at          int
		events, end int
		code        string
	}{
		{log, 0, 8, 2, ""}, {log, 1, 4, 1, ""}, {log, 2, 8, 2, ""}, {log, 3, 0, 0, "turn"}, {log[:3], 0, 0, 0, "no_turn"}, {nil, 1, 0, 0, "no_turn"},
		{damaged, 0, 0, 0, "damaged_session"}, {damaged, 1, 4, 1, ""}, {damaged, 2, 0, 0, "damaged_session"},
	} {
		events, turns, err := Until("x", of(c.log...), c.at)
		if c.code != "" {
			if e := fail.As(err); e == nil || e.Code != c.code {
				t.Errorf("at %d: %v, want %s", c.at, err, c.code)
			}
			continue
		}
		if err != nil {
			t.Errorf("at %d: %v", c.at, err)
			continue
		}
		n := 0
		for _, err := range events {
			if n++; err != nil {
				t.Errorf("at %d: %v", c.at, err)
			}
		}
		if n != c.events || turns != c.end {
			t.Errorf("at %d: %d events, %d turns", c.at, n, turns)
		}
	}
}
