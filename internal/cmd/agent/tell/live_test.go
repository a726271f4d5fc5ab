package tell

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/pkg/wire"
)

// told is what a Live prints of events, each "event data", a second apart.
func told(t *testing.T, footed bool, events ...string) string {
	t.Helper()
	s, _, printed, _ := term.Test()
	p := out.New(s, out.Table, false)
	l := NewLive(func() time.Time { return time.Unix(0, 0) })
	l.Footed = footed
	for i, text := range events {
		if err := p.Text(func(t *out.Text) { l.Event(t, event(text, i)) }); err != nil {
			t.Fatal(err)
		}
	}
	return printed.String()
}

// event makes one of "event data", at a second.
func event(text string, second int) wire.Event {
	name, data, _ := strings.Cut(text, " ")
	return wire.Event{Session: "a3fk", Event: name, Data: json.RawMessage(data), At: time.Unix(int64(second), 0)}
}

func TestLive(t *testing.T) {
	asked := func(calls string) string { return `model_call {"turn":1,"calls":[` + calls + `]}` }
	for name, c := range map[string]struct {
		events       []string
		live, footed string // where there is a status line, if that is something else
	}{
		"a prompt":        {[]string{`turn_start {"turn":1,"prompt":"go\n"}`}, "", ""},
		"words":           {[]string{`text {"text":"a\nb\n"}`}, "a\nb\n", ""},
		"an escape":       {[]string{`text {"text":"\u001b[2J"}`}, "\\x1b[2J\n", ""},
		"the end, said":   {[]string{`text {"text":"x"}`, `done {"state":"completed","exit":0,"output":"x"}`}, "x\n", ""},
		"the end, unsaid": {[]string{`text {"text":"x"}`, `done {"state":"completed","exit":0,"output":"y\n"}`}, "x\ny\n", ""},
		"pieces": {[]string{`text {"text":"a ","more":true}`, `text {"text":"b\n\n","more":true}`, `text {"text":"c\n"}`, `done {"state":"completed","exit":0,"output":"a b\n\nc\n"}`},
			"a b\n\nc\n", ""},
		"pieces without an end": {[]string{`text {"text":"a\n","more":true}`, `model_call {"turn":1,"error":{"code":"x","message":"torn"}}`, `text {"text":"b"}`}, "a\nb\n", ""},
		"an answer that was cut": {[]string{`text {"text":"a,"}`, `model_call {"turn":1,"say":"a,","end":"length"}`, `text {"text":"b"}`, `done {"state":"completed","exit":0,"output":"a,b"}`},
			"a,\nb\n", ""},
		"what the model does not see": {[]string{`turn_start {"turn":1,"context":[{"source":"AGENTS.md","lost":"it is cut\u001b"},{"source":"x"}]}`, `turn_start {"turn":2,"context":[{"source":"AGENTS.md","lost":"it is cut\u001b"}]}`},
			"  ! AGENTS.md: it is cut\\x1b\n", ""},
		"a failure": {[]string{`error {"code":"x","message":"it broke"}`, `done {"state":"failed","exit":1}`}, "", ""},
		"a request": {[]string{`approval {"id":"7k2q","call_id":"t1.1","tool":"bash","state":"pending"}`, `parked {"pending":["7k2q"]}`},
			"  ⏸ waiting for approval   kx approve allow 7k2q\n", ""},
		"a question": {[]string{`approval {"id":"7k2q","call_id":"t1.1","tool":"ask_user_question","state":"pending"}`},
			"  ⏸ waiting for an answer   kx approve answer 7k2q --option 1\n", ""},
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
			`tool_result {"id":"a","tool":"bash","status":"ok","output":{"text":"x"}}`}, "  bash        go test ./... …\n  bash        ok 1s\n", "  bash        go test ./... … 1s\n"},
		"a command that fails": {[]string{asked(`{"id":"a","tool":"bash","input":{"command":"false"}}`), `tool_call {"id":"a","tool":"bash","input":{"command":"false"}}`,
			`tool_result {"id":"a","tool":"bash","status":"error","output":{"exit_code":1},"error":{"code":"exit_status","message":"the command exited with status 1"}}`},
			"  bash        false\n  bash        error 1s: the command exited with status 1\n", "  bash        false exit 1 1s\n"},
		"a command that is denied": {[]string{asked(`{"id":"a","tool":"bash","input":{"command":"rm -rf /"}}`),
			`tool_result {"id":"a","tool":"bash","status":"denied","output":{},"error":{"code":"denied","message":"bash is denied: no"}}`},
			"  bash        rm -rf / denied: bash is denied: no\n", ""},
		"a call of an earlier process": {[]string{`tool_call {"id":"a","tool":"write_file","input":{"path":"/ws/b"}}`, `tool_result {"id":"a","tool":"write_file","status":"ok","output":{"added":1,"removed":0}}`},
			"  write_file  /ws/b +1 -0 1s\n", ""},
		"one that did not run": {[]string{`tool_result {"id":"a","tool":"write_file","status":"denied","decision":{"points":[{"effect":"write","resource":"b"}]},"error":{"message":"no"}}`},
			"  write_file  b denied: no\n", ""},
		"what is not understood": {[]string{`text 7`, `tool_result 7`, `tool_call 7`, `turn_start 7`, `model_call 7`, `compaction {}`, `approval {}`}, "  ⏸ waiting for approval   kx approve allow \n", ""},
	} {
		if c.footed == "" {
			c.footed = c.live
		}
		if got := told(t, false, c.events...); got != c.live {
			t.Errorf("%s, live:\n%swant\n%s", name, got, c.live)
		}
		if got := told(t, true, c.events...); got != c.footed {
			t.Errorf("%s, with a status line:\n%swant\n%s", name, got, c.footed)
		}
	}
}

// The status line after each event, 90 s after the last of them.
func TestStatus(t *testing.T) {
	long := strings.Repeat("世界", 50)
	now := time.Unix(0, 0)
	live := NewLive(func() time.Time { return now })
	for _, c := range []struct {
		event string
		cells int
		want  string
	}{
		{`turn_start {"turn":3}`, 80, "1m30s · turn 3 · model 1m30s"},
		{`model_call {"turn":3,"calls":[{"id":"a","tool":"bash","input":{"command":"go test ./..."}},{"id":"b","tool":"write_file","input":{"path":"b"}},{"id":"c","tool":"web_fetch","input":{"url":"` + long + `"}}]}`, 80, "1m31s · turn 3"},
		{`approval {"id":"7k2q","call_id":"b","tool":"write_file"}`, 80, "1m32s · turn 3 · 1 waiting 1m30s (kx approve)"},
		{`tool_call {"id":"c","tool":"web_fetch","input":{}}`, 80, "1m33s · turn 3 · web_fetch 世界世界世界世… 1m30s · 1 waiting 1m31s (kx approve)"},
		{`tool_call {"id":"a","tool":"bash","input":{}}`, 200, "1m34s · turn 3 · bash go test ./... 1m30s +1 · 1 waiting 1m32s (kx approve)"},
		{`tool_result {"id":"a","tool":"bash","status":"ok"}`, 30, "1m35s · turn 3 · web_fetch 世界世界… 1m32s · 1 waiting 1m33s (kx approve)"},
		{`tool_call {"id":"b","tool":"write_file","input":{}}`, 200, "1m36s · turn 3 · write_file b 1m30s +1"},
		{`tool_result {"id":"b","tool":"write_file","status":"ok"}`, 60, "1m37s · turn 3 · web_fetch 世界世界世界世界世界世界世… 1m34s"},
		{`tool_result {"id":"c","tool":"web_fetch","status":"ok"}`, 60, "1m38s · turn 3"},
	} {
		told := &out.Text{}
		live.Event(told, event(c.event, int(now.Unix())))
		shown := now
		now = now.Add(90 * time.Second)
		if got := live.Status(c.cells, false); got != c.want || c.cells >= 60 && term.Cells(got) > c.cells {
			t.Errorf("after %.60s: %q of %d cells, want %q", c.event, got, term.Cells(got), c.want)
		}
		now = shown.Add(time.Second)
	}
	if got, want := live.Status(80, true), "9s · turn 3 · stopping; Ctrl-C again to kill"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The line of a call is cut where it would not fit.
func TestLiveFits(t *testing.T) {
	l := NewLive(func() time.Time { return time.Unix(0, 0) })
	l.Footed = true
	l.Status(60, false)
	s, _, printed, _ := term.Test()
	p := out.New(s, out.Table, false)
	for i, text := range []string{
		`model_call {"calls":[{"id":"a","tool":"bash","input":{"command":"` + strings.Repeat("x", 90) + `"}}]}`, `tool_call {"id":"a","tool":"bash"}`,
		`tool_result {"id":"a","tool":"bash","status":"error","output":{"exit_code":2},"error":{"code":"exit_status"}}`,
	} {
		if err := p.Text(func(t *out.Text) { l.Event(t, event(text, i)) }); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.TrimSuffix(printed.String(), "\n"); term.Cells(got) > 60 || !strings.HasSuffix(got, "… exit 2 1s") {
		t.Errorf("%q of %d cells", got, term.Cells(got))
	}
}

func TestSpans(t *testing.T) {
	for d, want := range map[time.Duration][2]string{
		-time.Second: {"0s", "0s ago"}, 59 * time.Second: {"59s", "59s ago"}, 61 * time.Second: {"1m01s", "1m ago"}, 90 * time.Minute: {"1h30m", "1h ago"}, 50 * time.Hour: {"50h00m", "2d ago"},
	} {
		if got := [2]string{span(d), Age(d)}; got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	long := strings.Repeat("ä", 101)
	for in, want := range map[string]string{"a": "a", "a\nb": "a …", "a\n": "a", long: strings.Repeat("ä", 99) + "…"} {
		if got := cut(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
