package gate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/scope"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/pkg/wire"
)

func TestAllowed(t *testing.T) {
	w := newWorld(t, nil)
	w.file("a.txt", "a")
	r := w.do(wire.Call{ID: "c1", Tool: "read_file", Input: json.RawMessage(`{"path":"a.txt","limit":3.0}`), Extra: wire.Extra{"x": json.RawMessage("1")}})
	w.wants(r, wire.StatusOK, 0, 1)
	if r.Type != "result" || r.V != 1 || r.ID != "c1" || r.Tool != "read_file" || r.Output.Text() != "done" || string(r.Extra["x"]) != "1" {
		t.Errorf("got %+v", r)
	}
	d := r.Decision
	if d.ID != "c1" || d.Decision != wire.Allow || !d.Loaded || d.EffectiveMode != "default" || d.Rule == nil || d.HooksEvaluated || d.HookPolicy != "none_configured" || d.Guard != nil {
		t.Errorf("decision %+v", d)
	}
	if got, want := w.last.Load(), `{"limit":3,"path":"`+w.ws+`/a.txt"}`; got != want {
		t.Errorf("the tool got %s, want %s", got, want)
	}
	if got := w.trail(); got != "audit:allow:rule outcome:ok" {
		t.Errorf("audit: %s", got)
	}
	// A call without an id gets one, and every call stands in its session.
	if r := w.call("get_goal", ""); r.ID != "call-1" || r.Status != wire.StatusOK {
		t.Errorf("got %+v", r)
	}
	var events []string
	for e, err := range w.Journal.(log).store.Events(w.Session) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e.Event)
	}
	if got := strings.Join(events, " "); got != "tool_call tool_result tool_call tool_result" {
		t.Errorf("session: %s", got)
	}
}

func TestResolve(t *testing.T) {
	w := newWorld(t, nil)
	w.policy("[[rule]]\ntool = \"web_search\"\ndecision = \"deny\"\nreason = \"offline\"\n")
	w.opts.Scope = scope.Scope{Capability: scope.Capability{ToolDeny: scope.List{"bash"}}}
	for _, tt := range []struct {
		tool, input string
		status      wire.Status
		exit        int
		says, hint  string
	}{
		// Hidden is as if absent, in every word.
		{"bash", `{"command":"ls"}`, wire.StatusNotFound, 8, `there is no tool "bash"`, "kx tool list"},
		{"nothing_like_it", `{}`, wire.StatusNotFound, 8, `there is no tool "nothing_like_it"`, "kx tool list"},
		{"bahs", `{}`, wire.StatusNotFound, 8, `there is no tool "bahs"`, "kx tool list"}, // would be bash
		{"raed_file", `{}`, wire.StatusNotFound, 8, `there is no tool "raed_file"; did you mean read_file?`, "kx tool show read_file"},
		{"", `{}`, wire.StatusNotFound, 8, `there is no tool ""`, "kx tool list"},
		{strings.Repeat("x", 9000), `{}`, wire.StatusNotFound, 8, `there is no tool "` + strings.Repeat("x", 80) + `"`, "kx tool list"},
		{"web_fetch", `{"url":"https://example.org/"}`, wire.StatusUnavailable, 5, "the tool web_fetch is not available here", "kx tool list --all"},
		{"mcp__s__t", `{}`, wire.StatusUnavailable, 5, "the tool mcp__s__t is not available here", "kx tool list --all"},
		{"web_search", `{"query":"x"}`, wire.StatusDenied, 3, "web_search is denied: offline", "kx audit show call-9"},
		{"read_file", `{}`, wire.StatusError, 2, `read_file: "path" is missing`, "kx tool show read_file"},
		{"read_file", `{"path":1}`, wire.StatusError, 2, "read_file: path is a number, not a string", "kx tool show read_file"},
		{"read_file", `{"path":"a","Path":"/etc/passwd"}`, wire.StatusError, 2, `read_file: there is no field "Path"`, "kx tool show read_file"},
		{"read_file", `{"path":"a\u0000b"}`, wire.StatusError, 2, "read_file: the path has a NUL byte", ""},
	} {
		r := w.call(tt.tool, tt.input)
		w.wants(r, tt.status, tt.exit, 0)
		if r.Error.Message != tt.says || r.Error.Hint != tt.hint || r.Output.Text() != tt.says {
			t.Errorf("%.40s %s: %+v, text %q", tt.tool, tt.input, r.Error, r.Output.Text())
		}
		if r.Decision != nil && r.Decision.Loaded {
			t.Errorf("%s counts as loaded", tt.tool)
		}
	}
}

// A deny of a scope's credentials is a deny, whatever the mode would lift.
func TestCredentialScope(t *testing.T) {
	w := newWorld(t, nil)
	w.opts.Mode = "bypassPermissions"
	w.opts.Scope = scope.Scope{Credential: scope.Credential{MCPServerDeny: scope.List{"git"}}}
	r := w.call("mcp__git__push", `{}`)
	w.wants(r, wire.StatusDenied, 3, 0)
	if r.Error.Message != "mcp__git__push is denied: credential_scope" || w.trail() != "audit:deny:scope" {
		t.Errorf("%s, %s", r.Error.Message, w.trail())
	}
	w.wants(w.call("mcp__files__list", `{}`), wire.StatusUnavailable, 5, 0)
}

// An invalid policy or configuration denies every call until it is mended.
func TestInvalid(t *testing.T) {
	w := newWorld(t, nil)
	for _, broken := range []struct{ config, policy string }{
		{"mode = \n", ""}, {"moed = \"plan\"\n", ""}, {"", "[[rule]]\ndecision = \"alow\"\n"}, {"", "[[rule]"},
	} {
		w.config(broken.config)
		w.policy(broken.policy)
		if _, err := w.Begin(); fail.Exit(err) != 2 || fail.As(err).Hint != "kx config validate" {
			t.Errorf("%+v: %v", broken, err)
		}
	}
	w.config("")
	w.policy("")
	w.wants(w.call("get_goal", "{}"), wire.StatusOK, 0, 1)
}

// What was decided is on disk before the tool runs.
func TestDecisionFirst(t *testing.T) {
	var w *world
	w = newWorld(t, handlers{"get_goal": func(context.Context, *tool.Env, json.RawMessage) (wire.Output, error) {
		all, err := os.ReadFile(filepath.Join(w.dirs.State, "audit", start.Format("2006-01-02")+".jsonl"))
		if err != nil || !bytes.Contains(all, []byte(`"call_id":"own"`)) || bytes.Count(all, []byte("\n")) != 1 {
			return nil, fmt.Errorf("%s, %v", all, err)
		}
		events, err := os.ReadFile(filepath.Join(w.dirs.State, "sessions", w.Session, "events.jsonl"))
		if err != nil || !bytes.Contains(events, []byte(`"id":"own"`)) {
			return nil, fmt.Errorf("%s, %v", events, err)
		}
		return wire.Output{"text": "seen"}, nil
	}})
	r := w.do(wire.Call{ID: "own", Tool: "get_goal"})
	if r.Output.Text() != "seen" {
		t.Errorf("got %+v", r)
	}
}

// An audit line has all that a replay needs: the exact input is in its blob.
func TestAuditLine(t *testing.T) {
	w := newWorld(t, nil)
	w.policy(allowAll)
	big := strings.Repeat("x", maxView)
	w.call("todo_write", `{"text":"`+big+`"}`)
	w.call("read_file", `{"path":"./b/../a"}`)
	var d audit.Decision
	list := w.lines()
	if err := json.Unmarshal(list[0].Raw, &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Input) > 200 {
		t.Errorf("the line has %d bytes of input", len(d.Input))
	}
	if blob, err := w.Audit.ReadBlob(d.InputBlob); err != nil || string(blob) != `{"text":"`+big+`"}` {
		t.Errorf("blob of %d bytes, %v", len(blob), err)
	}
	if err := json.Unmarshal(list[2].Raw, &d); err != nil {
		t.Fatal(err)
	}
	if d.Session != w.Session || d.Caller != "cli" || d.Workspace != w.ws || d.Cwd != w.ws || d.ActionHash == "" || d.PolicyDigest != w.begin().judge.Rules.Digest ||
		string(d.Input) != `{"limit":10,"path":"./b/../a"}` || d.Decision.Points[0].Resource != "a" || d.V != 1 {
		t.Errorf("line %s", list[2].Raw)
	}
}

// broken is a journal that can't write.
type broken struct{ started, ended error }

func (b broken) Started(string, string, json.RawMessage) error { return b.started }
func (b broken) Ended(*wire.Result) error                      { return b.ended }

// What can't be recorded does not run; what has run says that its record is not
// complete.
func TestRecordFails(t *testing.T) {
	w := newWorld(t, nil)
	full := fmt.Errorf("no space left")
	w.Journal = broken{started: full}
	w.wants(w.call("get_goal", "{}"), wire.StatusError, 1, 0)
	w.Journal = broken{ended: full}
	r := w.call("get_goal", "{}")
	w.wants(r, wire.StatusError, 1, 1)
	if r.Error.Code != "not_recorded" || r.Output.Text() != "done" {
		t.Errorf("got %+v", r)
	}
	w.Journal = broken{}
	// The audit is a file where a folder should be: no line can be written.
	dir := filepath.Join(w.dirs.State, "audit")
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	w.file(dir, "")
	w.wants(w.call("get_goal", "{}"), wire.StatusError, 1, 1)
	w.wants(w.call("write_file", `{"path":"a"}`), wire.StatusError, 1, 1)
	w.opts.Mode = "plan"
	w.wants(w.call("write_file", `{"path":"a"}`), wire.StatusError, 1, 1)
}

// spoils is a journal that leaves the audit a file where a folder should be.
type spoils struct{ dir string }

func (s spoils) Started(string, string, json.RawMessage) error {
	if err := os.Rename(s.dir, s.dir+".away"); err != nil {
		return err
	}
	return os.WriteFile(s.dir, nil, 0o600)
}

func (s spoils) Ended(*wire.Result) error { return nil }

// The answers of a person are used up when they are given: an outcome that can't
// be written must not lose them.
func TestOutcomeOfAnswersFails(t *testing.T) {
	w := newWorld(t, nil)
	w.Run = true
	w.Journal = spoils{filepath.Join(w.dirs.State, "audit")}
	r := &run{Batch: w.begin(), call: wire.Call{ID: "c1", Tool: "ask_user_question"}}
	r.judge, r.decision = r.Batch.judge.Once(), &wire.Decision{}
	res, err := r.reply(&wire.Approval{
		ID: "abcd", State: wire.ApprovalAnswered, Kind: approval.KindQuestion,
		Questions: []wire.Question{{ID: "q1", Question: "which?"}}, Answers: []wire.QuestionAnswer{{QuestionID: "q1", FreeformAnswer: "the blue one"}},
	})
	if err != nil || res.Error.Code != "not_recorded" || !strings.Contains(res.Output.Text(), "the blue one") {
		t.Errorf("%+v, %v", res, err)
	}
}

// An outcome that can't be written is told of, and so the tool must not spoil
// the audit unseen.
func TestOutcomeFails(t *testing.T) {
	var w *world
	var once sync.Once
	w = newWorld(t, handlers{"get_goal": func(context.Context, *tool.Env, json.RawMessage) (wire.Output, error) {
		once.Do(func() {
			dir := filepath.Join(w.dirs.State, "audit")
			os.Rename(dir, dir+".away")
			os.WriteFile(dir, nil, 0o600)
		})
		return wire.Output{"text": "done"}, nil
	}})
	r := w.call("get_goal", "{}")
	w.wants(r, wire.StatusError, 1, 1)
	if r.Error.Code != "not_recorded" || r.Output.Text() != "done" {
		t.Errorf("got %+v", r)
	}
}
