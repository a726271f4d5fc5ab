package model

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/pkg/wire"
)

func TestParseLine(t *testing.T) {
	for text, want := range map[string]Turn{
		`{"say":"hi","calls":[{"tool":"bash","input":{"command":"ls"}}],"stop":true}`: {
			Say: "hi", Stop: true, Calls: []Call{{Tool: "bash", Input: json.RawMessage(`{"command":"ls"}`)}}},
		`{"calls":[{"id":"a","tool":"list_files"}]}`: {Calls: []Call{{ID: "a", Tool: "list_files", Input: json.RawMessage(`{}`)}}},
		" {}\r": {},
		`{"expect":{"tool":"bash","status":"ok","contains":"x"},"delay_ms":5,"say":"ü"}`: {Say: "ü"},
	} {
		l, err := parseLine([]byte(text))
		if err != nil || !reflect.DeepEqual(l.Turn, want) {
			t.Errorf("%s: %+v, %v, want %+v", text, l, err, want)
		}
	}
	l, err := parseLine([]byte(`{"expect":{"tool":"bash","status":"ok","contains":"x"},"fail":{"status":429,"retry_after":1.5},"delay_ms":5}`))
	if err != nil || *l.Expect != (expect{"bash", "ok", "x"}) || *l.Fail != (fault{Status: 429, RetryAfter: 1.5}) || l.DelayMS != 5 {
		t.Errorf("%+v, %v", l, err)
	}
	if l, err := parseLine([]byte(`{"fail":{"torn":true}}`)); err != nil || !l.Fail.Torn {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestParseLineRefuses(t *testing.T) {
	for text, want := range map[string]string{
		``:                                      "not a JSON object",
		`null`:                                  "not a JSON object",
		`[{"say":"x"}]`:                         "not a JSON object",
		`"say"`:                                 "not a JSON object",
		"{\"say\":\"\xff\"}":                    "not valid UTF-8",
		`{"say":"x"`:                            "ends in the middle",
		`{"say":"x"} {}`:                        "something after",
		`{"say":"x"},`:                          "something after",
		`{say:1}`:                               "invalid character 's'",
		`{"says":"x"}`:                          `unknown field "says"`,
		`{"expct":{"tool":"bash"}}`:             `unknown field "expct"`,
		`{"expect":{"tool":"bash","is":"ok"}}`:  `unknown field "is"`,
		`{"calls":[{"tool":"a","args":{}}]}`:    `unknown field "args"`,
		`{"fail":{"code":429}}`:                 `unknown field "code"`,
		`{"say":7}`:                             "say can't be a number",
		`{"calls":{}}`:                          "calls can't be a object",
		`{"calls":[{}]}`:                        "call 1 names no tool",
		`{"calls":[{"tool":"a"},{"input":{}}]}`: "call 2 names no tool",
		`{"calls":[{"tool":"a","input":[]}]}`:   "input of call 1 is not an object",
		`{"calls":[{"tool":"a","input":"{}"}]}`: "input of call 1 is not an object",
		`{"calls":[{"tool":"a","input":null}]}`: "input of call 1 is not an object",
		`{"calls":[{"tool":"a","id":"` + long + `"}]}`: "more than 128 bytes",
		`{"expect":{"status":"ok"}}`:                   "expect names no tool",
		`{"fail":{}}`:                                  "fail needs a status from 400 to 599, or torn",
		`{"fail":{"status":200}}`:                      "fail needs a status",
		`{"fail":{"status":500},"say":"x"}`:            "a turn that fails can't say",
		`{"fail":{"torn":true},"stop":true}`:           "a turn that fails can't say",
		`{"delay_ms":-1}`:                              "delay_ms is -1",
		`{"delay_ms":3600001}`:                         "expected 0 to 3600000",
		`{"delay_ms":0.5}`:                             "delay_ms can't be a number 0.5",
	} {
		if _, err := parseLine([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

var long = strings.Repeat("x", 129)

func TestParseScriptNamesTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"{}\n\n{\"sya\":1}\n": `s.jsonl:3: unknown field "sya"`,
		"{}\r\n[]\r\n":        "s.jsonl:2: it is not a JSON object",
		"":                    "s.jsonl has no turns",
		" \n\t\n":             "s.jsonl has no turns",
		"\xef\xbb\xbf{}\n":    "s.jsonl:1: it is not a JSON object",
		"{\"say\":\n\"x\"}\n": "s.jsonl:1: the JSON ends in the middle",
	} {
		if _, err := ParseScript([]byte(text), "s.jsonl"); err == nil || err.Error() != want || fail.Exit(err) != fail.ExitUsage || fail.As(err).Hint != "man kx-json" {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// results is a conversation whose last turn had the given results.
func results(last ...Message) []Message {
	return append([]Message{
		{Role: "user", Content: "go"},
		{Role: "assistant", Calls: []Call{{Tool: "bash"}}},
		{Role: "tool", Tool: "bash", Status: wire.StatusOK, Content: "the result of an earlier turn"},
		{Role: "assistant", Calls: []Call{{Tool: "read_file"}}},
	}, last...)
}

func TestExpect(t *testing.T) {
	read := Message{Role: "tool", Tool: "read_file", Status: wire.StatusOK, Content: "package main"}
	denied := Message{Role: "tool", Tool: "read_file", Status: wire.StatusDenied, Content: "no"}
	huge := Message{Role: "tool", Tool: "read_file", Status: wire.StatusOK, Content: strings.Repeat("ä", 1000)}
	for _, c := range []struct {
		expect   string
		messages []Message
		want     string // "" if it holds
	}{
		{`{"tool":"read_file"}`, results(read), ""},
		{`{"tool":"read_file","status":"ok","contains":"main"}`, results(read), ""},
		{`{"tool":"read_file","status":"denied"}`, results(read, denied), ""},
		{`{"tool":"read_file","contains":"main"}`, results(denied, read), ""},
		{`{"tool":"read_file","status":"error"}`, results(read), "turn 3 of the model: expected read_file error, found ok: package main"},
		{`{"tool":"read_file","contains":"x"}`, results(read), `turn 3 of the model: expected read_file with "x", found "package main"`},
		{`{"tool":"read_file","status":"denied","contains":"main"}`, results(read, denied), `turn 3 of the model: expected read_file denied with "main", found ok: package main`},
		{`{"tool":"bash"}`, results(read), "turn 3 of the model: expected bash, found no call of it"},
		{`{"tool":"read_file","contains":"x"}`, results(huge), `found "` + strings.Repeat("ä", 100) + `…"`},
		{`{"tool":"bash"}`, nil, "expected bash, found no call of it"},
	} {
		s, err := ParseScript([]byte("{}\n{}\n"+`{"expect":`+c.expect+`,"say":"fine"}`+"\n{}"), "s")
		if err != nil {
			t.Fatal(err)
		}
		turn, err := s.Turn(context.Background(), &Request{Turn: 2, Messages: c.messages})
		switch {
		case c.want == "" && (err != nil || turn.Say != "fine"):
			t.Errorf("%s: %+v, %v", c.expect, turn, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || fail.As(err).Code != CodeExpect || fail.Exit(err) != 1):
			t.Errorf("%s: %v, want %s", c.expect, err, c.want)
		}
	}
}

func TestFaults(t *testing.T) {
	for text, want := range map[string]*Failure{
		`{"fail":{"status":429,"retry_after":2}}`: {Class: RateLimited, Status: 429, Wait: 2 * time.Second,
			Err: fail.Unavailable("model_rate_limited", "the model's provider has too many requests; it asks to wait 2 s")},
		`{"fail":{"status":503}}`: {Class: Overloaded, Status: 503, Err: fail.Unavailable("model_failed", "the model's provider answered with status 503")},
		`{"fail":{"status":401}}`: {Class: Auth, Status: 401, Err: fail.Unavailable("model_auth", "the model's provider refuses the key with status 401")},
		`{"fail":{"status":400}}`: {Class: Refused, Status: 400, Err: fail.Unavailable("model_failed", "the model's provider answered with status 400")},
		`{"fail":{"torn":true}}`:  {Class: Torn, Err: fail.Failed("model_torn", "the model's answer ended in the middle")},
	} {
		s, err := ParseScript([]byte(text), "s")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Turn(context.Background(), &Request{}); !reflect.DeepEqual(err, error(want)) || fail.Exit(err) != want.Err.Exit {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
}

func TestScriptEnds(t *testing.T) {
	s, err := ParseScript([]byte("{\"say\":\"a\"}\n{\"calls\":[{\"tool\":\"x\"}]}\n"), "s")
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range []Turn{{Say: "a"}, {Calls: []Call{{Tool: "x", Input: json.RawMessage("{}")}}, Stop: true}, {Stop: true}, {Stop: true}} {
		if got, err := s.Turn(context.Background(), &Request{Turn: n}); err != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("turn %d: %+v, %v", n, got, err)
		}
	}
	if again, _ := s.Turn(context.Background(), &Request{Turn: 0}); again.Stop {
		t.Error("playing the end has changed the beginning")
	}
}

func TestDelay(t *testing.T) {
	s, err := ParseScript([]byte("{\"delay_ms\":30,\"say\":\"a\"}\n{\"delay_ms\":3600000}"), "s")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if turn, err := s.Turn(context.Background(), &Request{}); err != nil || turn.Say != "a" || time.Since(began) < 30*time.Millisecond {
		t.Errorf("after %v: %+v, %v", time.Since(began), turn, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := s.Turn(ctx, &Request{Turn: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

func FuzzParseLine(f *testing.F) {
	for _, seed := range []string{
		`{"say":"x","calls":[{"id":"1","tool":"bash","input":{"command":"ls"}}],"stop":true}`,
		`{"expect":{"tool":"grep_search","status":"ok","contains":"main.go"},"delay_ms":50}`,
		`{"fail":{"status":429,"retry_after":1}}`, `{"fail":{"torn":true}}`, `null`, `{} {}`, "{\"say\":\"\xff\"}", `{"calls":[{"tool":"a","input":null}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		l, err := parseLine(raw)
		if err != nil {
			return
		}
		for _, c := range l.Calls {
			if c.Tool == "" || len(c.Input) == 0 || c.Input[0] != '{' || !json.Valid(c.Input) {
				t.Fatalf("%q: call %+v", raw, c)
			}
		}
		out, err := wire.Marshal(l.Turn)
		if err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		if again, err := parseLine(out); err != nil || !reflect.DeepEqual(again.Turn, l.Turn) && len(l.Calls) > 0 {
			t.Fatalf("%q becomes %s: %+v, %v", raw, out, again, err)
		}
	})
}
