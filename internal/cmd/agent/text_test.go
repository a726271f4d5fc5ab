package agent

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/pkg/wire"
)

// told is what a teller prints of events, each "event data", a second apart.
func told(t *testing.T, live bool, events ...string) string {
	t.Helper()
	s, _, printed, _ := term.Test()
	p := out.New(s, out.Table, false)
	w := newTeller(live)
	for i, text := range events {
		name, data, _ := strings.Cut(text, " ")
		e := wire.Event{Event: name, Data: json.RawMessage(data), At: time.Unix(int64(i), 0)}
		if err := p.Text(func(t *out.Text) { w.event(t, e) }); err != nil {
			t.Fatal(err)
		}
	}
	return printed.String()
}

func TestTeller(t *testing.T) {
	asked := func(calls string) string { return `model_call {"turn":1,"calls":[` + calls + `]}` }
	for name, c := range map[string]struct {
		events     []string
		live, show string
	}{
		"a prompt":        {[]string{`turn_start {"turn":1,"prompt":"go\n"}`}, "", "> go\n"},
		"words":           {[]string{`text {"text":"a\nb\n"}`}, "a\nb\n", "a\nb\n"},
		"an escape":       {[]string{`text {"text":"\u001b[2J"}`}, "\\x1b[2J\n", "\\x1b[2J\n"},
		"the end, said":   {[]string{`text {"text":"x"}`, `done {"state":"completed","exit":0,"output":"x"}`}, "x\n", "x\n"},
		"the end, unsaid": {[]string{`text {"text":"x"}`, `done {"state":"completed","exit":0,"output":"y\n"}`}, "x\ny\n", "x\ny\n"},
		"a failure":       {[]string{`error {"code":"x","message":"it broke"}`, `done {"state":"failed","exit":1}`}, "", "  failed: it broke\n"},
		"a question": {[]string{`approval {"id":"7k2q","call_id":"t1.1","tool":"bash","state":"pending"}`, `parked {"pending":["7k2q"]}`},
			"  ⏸ waiting for approval   kx approve allow 7k2q\n", "  ⏸ waiting for approval   kx approve allow 7k2q\n  ⏸ parked\n"},
		"a quick call": {[]string{asked(`{"id":"t1.1","tool":"read_file","input":{"path":"a.go"}}`),
			`tool_call {"id":"t1.1","tool":"read_file","input":{"path":"/ws/a.go"}}`, `tool_result {"id":"t1.1","tool":"read_file","status":"ok","output":{"text":"x"}}`},
			"  read_file   a.go 1s\n", ""},
		"a call with nothing to say": {[]string{asked(`{"id":"t1.1","tool":"todo_write","input":{}}`), `tool_result {"id":"t1.1","tool":"todo_write","status":"ok","output":{}}`},
			"  todo_write  ok\n", ""},
		"an edit": {[]string{asked(`{"id":"a","tool":"edit_file","input":{"path":"a.go","old_string":"x"}}`), `tool_result {"id":"a","tool":"edit_file","status":"ok","output":{"added":3,"removed":1}}`},
			"  edit_file   a.go +3 -1\n", ""},
		"a search": {[]string{asked(`{"id":"a","tool":"grep_search","input":{"path":"web","pattern":"Truncate("}}`), `tool_result {"id":"a","tool":"grep_search","status":"ok","output":{"matches":[{},{},{}]}}`},
			"  grep_search \"Truncate(\" 3 matches\n", ""},
		"a command": {[]string{asked(`{"id":"a","tool":"bash","input":{"command":"go test ./...\necho"}}`), `tool_call {"id":"a","tool":"bash","input":{"command":"go test ./..."}}`,
			`tool_result {"id":"a","tool":"bash","status":"ok","output":{"text":"x"}}`}, "  bash        go test ./... …\n  bash        ok 1s\n", ""},
		"a command that fails": {[]string{asked(`{"id":"a","tool":"bash","input":{"command":"false"}}`), `tool_call {"id":"a","tool":"bash","input":{"command":"false"}}`,
			`tool_result {"id":"a","tool":"bash","status":"error","output":{},"error":{"code":"exit_status","message":"the command exited with status 1"}}`},
			"  bash        false\n  bash        error 1s: the command exited with status 1\n", ""},
		"a command that is denied": {[]string{asked(`{"id":"a","tool":"bash","input":{"command":"rm -rf /"}}`),
			`tool_result {"id":"a","tool":"bash","status":"denied","output":{},"error":{"code":"denied","message":"bash is denied: no"}}`},
			"  bash        rm -rf / denied: bash is denied: no\n", ""},
		"a call of an earlier process": {[]string{`tool_call {"id":"a","tool":"write_file","input":{"path":"/ws/b"}}`, `tool_result {"id":"a","tool":"write_file","status":"ok","output":{"added":1,"removed":0}}`},
			"  write_file  /ws/b +1 -0 1s\n", ""},
		"one that did not run": {[]string{`tool_result {"id":"a","tool":"write_file","status":"denied","decision":{"points":[{"effect":"write","resource":"b"}]},"error":{"message":"no"}}`},
			"  write_file  b denied: no\n", ""},
		"what is not understood": {[]string{`text 7`, `tool_result 7`, `compaction {}`, `approval {}`}, "  ⏸ waiting for approval   kx approve allow \n", ""},
	} {
		if c.show == "" {
			c.show = c.live
		}
		if got := told(t, true, c.events...); got != c.live {
			t.Errorf("%s, live:\n%swant\n%s", name, got, c.live)
		}
		if got := told(t, false, c.events...); got != c.show {
			t.Errorf("%s, shown:\n%swant\n%s", name, got, c.show)
		}
	}
}

func TestCut(t *testing.T) {
	long := strings.Repeat("ä", 101)
	for in, want := range map[string]string{"a": "a", "a\nb": "a …", "a\n": "a", long: strings.Repeat("ä", 100) + "…"} {
		if got := cut(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
