package tell

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/pkg/wire"
)

// story writes what became of a session of these events, a second apart; it began at
// the first.
func story(t *testing.T, state string, write func(*Story, *out.Text) error, events ...string) (string, error) {
	t.Helper()
	began := time.Unix(0, 0)
	answered := began.Add(7 * time.Second)
	s := &Story{
		Session: wire.Session{ID: "a3fk", State: state, Model: "exec", Mode: "plan", Workspace: "/ws", CreatedAt: began, Turns: 2, Pending: []string{"open"}},
		Now:     began.Add(time.Minute),
		Approval: func(id string) (*wire.Approval, error) {
			a := map[string]*wire.Approval{
				"open": {ID: id, Tool: "ask_user_question", State: wire.ApprovalPending},
				"tty":  {ID: id, State: wire.ApprovalSpent, Scope: "once", DecidedAt: &answered, DecidedBy: &wire.Decider{Kind: "human", TTY: "/dev/pts/3\x1b"}, Note: "a\nb", InputEdited: true},
				"hook": {ID: id, State: wire.ApprovalDenied, DecidedBy: &wire.Decider{Kind: "hook", Via: "x"}},
				"old":  {ID: id, State: wire.ApprovalExpired},
			}[id]
			if a == nil {
				return nil, errors.New("no")
			}
			return a, nil
		},
		Events: func(yield func(wire.Event, error) bool) {
			for i, text := range events {
				var err error
				if strings.HasPrefix(text, "damage") {
					err = errors.New(text)
				}
				if !yield(event(text, i), err) {
					return
				}
			}
		},
	}
	io, _, printed, _ := term.Test()
	var err error
	if failed := out.New(io, out.Table, false).Text(func(t *out.Text) { err = write(s, t) }); failed != nil {
		t.Fatal(failed)
	}
	return printed.String(), err
}

// body is what stands below the head of a story.
func body(text string) string {
	_, text, _ = strings.Cut(text, "\n")
	_, text, _ = strings.Cut(text, "\n")
	return text
}

func TestStory(t *testing.T) {
	const open = "⏸ open waiting for an answer   kx approve answer open --option 1\n"
	for name, c := range map[string]struct {
		state  string
		events []string
		want   string
		damage string
	}{
		"nothing": {"failed", nil, open, ""},
		"a task": {"running", []string{`turn_start {"turn":1,"prompt":"one\n\ntwo\u001b[2J\n"}`, `text {"text":"Well.\n"}`},
			open + "\n> one\n> \n> two\\x1b[2J\n\nturn 1 +0s\nWell.\n", ""},
		"answers": {"parked", []string{`approval {"id":"tty","call_id":"t1.1"}`, `approval {"id":"hook","call_id":"t1.2"}`, `approval {"id":"tty","call_id":"t1.1"}`, `approval {"id":"old","call_id":"t1.3"}`, `approval {"id":"lost","call_id":"t1.4"}`},
			open + "  t1.1   ⏸ tty allowed on /dev/pts/3\\x1b +7s, with another input: a …\n  t1.2   ⏸ hook denied by hook x\n  t1.3   ⏸ old expired\n  t1.4   ⏸ lost: its record can't be read\n", ""},
		"parked and resumed": {"parked", []string{`parked {"pending":[]}`, `tool_call {"id":"a","tool":"bash","input":{"command":"true"}}`, `tool_result {"id":"a","tool":"bash","status":"ok"}`, `parked {}`},
			open + "⏸ parked +0s\n▸ resumed +1s\n  a      bash        true 1s\n⏸ parked +3s\n", ""},
		"failed and resumed": {"completed", []string{`error {"message":"no luck"}`, `done {"state":"failed","exit":1}`, `turn_start {"turn":2}`, `done {"state":"completed","output":"x"}`},
			open + "failed +0s: no luck\n▸ resumed +2s\n\nturn 2 +2s\nx\ncompleted +3s\n", ""},
		"a command that fails": {"failed", []string{`tool_result {"id":"a","tool":"bash","status":"error","output":{"exit_code":1,"stdout":"1\n2\n3\n4\n5","stderr":"6\n\n8\u001b\n"},"error":{"code":"exit_status"}}`},
			open + "  a      bash        exit 1\n" + inset + "… 3 lines before: kx agent show a3fk a\n" + inset + "4\n" + inset + "5\n" + inset + "6\n" + inset + "8\\x1b\n", ""},
		"a call that runs": {"running", []string{`tool_call {"id":"a","tool":"bash","input":{"command":"true"}}`}, open + "  a      bash        true runs for 1m00s\n", ""},
		"a call that died": {"failed", []string{`tool_call {"id":"a","tool":"bash","input":{"command":"true"}}`}, open + "  a      bash        true ended with kx: nobody knows how far it came\n", ""},
		"damage":           {"failed", []string{`damage one`, `stopped`, `text 7`, `approval 7`, `tool_result 7`, `done 7`, `done {"state":"stopped"}`}, open + "stopped +6s\n", "damage one"},
	} {
		got, err := story(t, c.state, (*Story).Write, c.events...)
		if diff := cmp.Diff(c.want, body(got)); diff != "" {
			t.Errorf("%s, -want +got\n%s", name, diff)
		}
		if said := ""; err != nil || c.damage != "" {
			if err != nil {
				said = err.Error()
			}
			if said != c.damage {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	got, _ := story(t, "parked", (*Story).Write, `turn_start {"turn":1}`, `tool_result {"status":"ok"}`, `tool_result {"status":"denied"}`, `tool_result {"status":"ok"}`)
	if want := "a3fk  parked  exec  mode plan  /ws\n" + time.Unix(0, 0).Format(time.DateTime) + " · 3s · 2 turns · 3 calls: 1 denied, 2 ok\n"; !strings.HasPrefix(got, want) {
		t.Errorf("the head is\n%swant\n%s", got, want)
	}
}

func TestCall(t *testing.T) {
	for name, c := range map[string]struct {
		events []string
		want   string
	}{
		"one that ran": {[]string{`tool_call {"id":"a","tool":"bash","input":{"command":"one\ntwo","timeout_ms":5}}`, `tool_result {"id":"a","tool":"bash","status":"ok","output":{"text":"x\n\u001b\n"}}`},
			"bash +0s\n  command     one\n              two\n  timeout_ms  5\nok +1s after 1s\n\nx\n\\x1b\n"},
		"one that did not":   {[]string{`tool_result {"id":"a","tool":"bash","status":"denied","output":{"text":"no"},"error":{"message":"no"}}`}, "bash +0s\ndenied +0s\n\nno\n"},
		"one that died":      {[]string{`tool_call {"id":"a","tool":"bash","input":{}}`}, "bash +0s\n  a      bash         ended with kx: nobody knows how far it came\n"},
		"what can't be read": {[]string{`tool_call {"id":"a","tool":"bash","input":7}`, `tool_call 7`, `tool_result 7`}, "bash +0s\n  a      bash         ended with kx: nobody knows how far it came\n"},
	} {
		got, err := story(t, "failed", (*Story).Call, c.events...)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v, -want +got\n%s", name, err, diff)
		}
	}
}

func TestSpent(t *testing.T) {
	for data, want := range map[string]string{
		`{}`: "", `{"usage":{"input":999,"output":7}}`: "999 tokens in, 7 out",
		`{"usage":{"input":100,"cache_read":850,"cache_write":50,"output":1200},"cost_usd":0.0123}`: "1.0k tokens in (85 % of it cached), 1.2k out, 0.0123 USD",
		`{"usage":{"input":1250000}}`: "1.25M tokens in, 0 out", `{"usage":3}`: "",
	} {
		var s Spent
		s.Take(wire.Event{Event: "text", Data: json.RawMessage(data)})
		s.Take(wire.Event{Event: "model_call", Data: json.RawMessage(data)})
		if got := s.String(); got != want {
			t.Errorf("%s: %q, want %q", data, got, want)
		}
	}
}
