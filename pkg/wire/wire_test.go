package wire

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestParseCall(t *testing.T) {
	c, err := ParseCall([]byte(`{"tool":"bash","input":{"command":"ls"},"id":"1","trace":{"a":1}}`))
	if err != nil || c.Tool != "bash" || string(c.Input) != `{"command":"ls"}` || string(c.Extra["trace"]) != `{"a":1}` || len(c.Extra) != 1 {
		t.Errorf("got %+v, %v", c, err)
	}
	c, err = ParseCall([]byte(`{"type":"tool","v":1,"name":"bash","description":"x"}`))
	if err != nil || c.Tool != "bash" || c.Input != nil || c.Extra != nil {
		t.Errorf("got %+v, %v", c, err)
	}
	for line, want := range map[string]string{
		``:                             "not a JSON object",
		`null`:                         "not a JSON object",
		`[]`:                           "not a JSON object",
		`{`:                            "not a JSON object",
		`{"tool":1}`:                   "tool must be a string",
		`{"tool":"a","input":"x"}`:     "input is not a JSON object",
		`{"type":"result","tool":"a"}`: `type is "result"`,
		`{}`:                           "names no tool",
		"{\"tool\":\"\xff\"}":          "UTF-8",
	} {
		if _, err := ParseCall([]byte(line)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", line, err, want)
		}
	}
}

func TestExtraAppend(t *testing.T) {
	e := Extra{"b": json.RawMessage(`2`), "a": json.RawMessage(`{"x":"<"}`)}
	if got := string(e.Append([]byte(`{"a":1,"c":3}`))); got != `{"a":1,"c":3,"b":2}` {
		t.Errorf("got %s", got)
	}
}

func FuzzParseCall(f *testing.F) {
	f.Add([]byte(`{"tool":"bash","input":{"command":"ls"},"x":[1]}`))
	f.Add([]byte(`{"type":"tool","name":"bash"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		c, err := ParseCall(line)
		if err != nil {
			return
		}
		if c.Tool == "" {
			t.Errorf("%q: no tool", line)
		}
		if doc := c.Extra.Append([]byte(`{"type":"x"}`)); !json.Valid(doc) {
			t.Errorf("%q: %s", line, doc)
		}
	})
}
