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
	// What is a field of a tool record only is a field of somebody else's in a call.
	c, err = ParseCall([]byte(`{"tool":"bash","description":"x","name":"y","Tool":"read_file"}`))
	if err != nil || c.Tool != "bash" || len(c.Extra) != 3 || string(c.Extra["Tool"]) != `"read_file"` {
		t.Errorf("got %+v, %v", c, err)
	}
	for line, want := range map[string]string{
		``:                             "not a JSON object",
		`null`:                         "not a JSON object",
		`[{"tool":"a"}]`:               "it is an array",
		`[`:                            "not a JSON object",
		`{`:                            "not a JSON object",
		`{"tool":1}`:                   "tool must be a string",
		`{"tool":"a","input":"x"}`:     "input is not a JSON object",
		`{"tool":"a","input":null}`:    "input is not a JSON object",
		`{"tool":"a","id":{}}`:         "id must be a string",
		`{"type":"result","tool":"a"}`: `type is "result"`,
		`{"type":"tool","name":"a"}`:   `type is "tool"`,
		`{"Tool":"a"}`:                 "names no tool",
		`{}`:                           "names no tool",
		"{\"tool\":\"\xff\"}":          "UTF-8",
	} {
		if _, err := ParseCall([]byte(line)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", line, err, want)
		}
	}
}

func TestParseSubject(t *testing.T) {
	c, err := ParseSubject([]byte(`{"type":"tool","v":1,"name":"bash","description":"x","mine":1}`))
	if err != nil || c.Tool != "bash" || c.Input != nil || len(c.Extra) != 1 || string(c.Extra["mine"]) != "1" {
		t.Errorf("got %+v, %v", c, err)
	}
	if c, err = ParseSubject([]byte(`{"tool":"bash","input":{"command":"ls"}}`)); err != nil || c.Tool != "bash" || c.Input == nil {
		t.Errorf("got %+v, %v", c, err)
	}
	for line, want := range map[string]string{
		`{"type":"tool","name":1}`:   "name must be a string",
		`{"type":"tool"}`:            "names no tool",
		`{"type":"result","name":1}`: `type is "result"`,
	} {
		if _, err := ParseSubject([]byte(line)); err == nil || !strings.Contains(err.Error(), want) {
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
		c, err := ParseSubject(line)
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
