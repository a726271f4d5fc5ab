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
	"sync/atomic"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/gate/judge"
	"github.com/kxtools/kx/internal/gate/scope"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/internal/record/session"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/wire"
)

// world is a gate on real records, with fake tools, a clock that stands still
// and ids that count.
type world struct {
	testing.TB
	*Gate
	dirs  paths.Dirs
	ws    string
	st    *state.State
	opts  judge.Options
	clock atomic.Int64 // nanoseconds since start
	ids   atomic.Int64
	ran   atomic.Int64 // how often a fake tool ran
	last  atomic.Value // the input of the last one
}

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// log is a journal in a real session.
type log struct {
	store *session.Store
	id    string
}

func (l log) Started(id, tool string, input json.RawMessage) error {
	_, err := l.store.AppendShared(l.id, "tool_call", map[string]any{"id": id, "tool": tool, "input": input}, true)
	return err
}

func (l log) Ended(r *wire.Result) error {
	_, err := l.store.AppendShared(l.id, "tool_result", r, false)
	return err
}

// schemas of the fake tools.
var schemas = map[string]string{
	"read_file":  `{"type":"object","additionalProperties":false,"required":["path"],"properties":{"path":{"type":"string","minLength":1},"limit":{"type":"integer","default":10}}}`,
	"list_files": `{"type":"object","additionalProperties":false,"properties":{"path":{"type":"string"}}}`,
	"write_file": `{"type":"object","additionalProperties":false,"required":["path"],"properties":{"path":{"type":"string"},"content":{"type":"string"}}}`,
	"edit_file":  `{"type":"object","additionalProperties":false,"required":["path"],"properties":{"path":{"type":"string"}}}`,
	"bash":       `{"type":"object","additionalProperties":false,"required":["command"],"properties":{"command":{"type":"string"},"cwd":{"type":"string"},"description":{"type":"string"},"timeout_ms":{"type":"integer"}}}`,
	"todo_write": `{"type":"object","additionalProperties":false,"properties":{"n":{"type":"integer"},"text":{"type":"string"}}}`,
	"get_goal":   `{"type":"object"}`,
}

type handlers map[string]tool.Handler

// newWorld returns a world with the tools of schemas. Those that are not in h
// say "done".
func newWorld(t testing.TB, h handlers) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(root, "home")
	w := &world{TB: t, ws: filepath.Join(home, "ws")}
	w.dirs = paths.Dirs{UID: os.Getuid(), Home: home, State: filepath.Join(root, "state"), Config: filepath.Join(root, "config"), Runtime: filepath.Join(root, "run")}
	for _, dir := range []string{w.ws, w.dirs.Config} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if w.st, err = state.Open(w.dirs.State); err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return start.Add(time.Duration(w.clock.Load())) }
	store := session.New(w.st, now)
	id, err := store.EnsureWorkspace(w.ws)
	if err != nil {
		t.Fatal(err)
	}
	w.opts = judge.Options{Dirs: w.dirs, Workspace: w.ws, Cwd: w.ws, State: w.st}
	w.Gate = &Gate{
		Tools: w.registry(h, "bash"), Audit: audit.New(w.st, now), Approvals: approval.New(w.st, now), Journal: log{store, id}, Now: now,
		NewID:   func() string { return fmt.Sprintf("call-%d", w.ids.Add(1)) },
		Session: id, Caller: "cli", Home: home,
		Reload: func() (*judge.Judge, error) { return judge.Open(w.opts) },
	}
	return w
}

// registry makes the fake tools; the named ones are serial.
func (w *world) registry(h handlers, serial ...string) *tool.Registry {
	var list []tool.Tool
	for name, schema := range schemas {
		run := h[name]
		if run == nil {
			run = func(context.Context, *tool.Env, json.RawMessage) (wire.Output, error) {
				return wire.Output{"text": "done"}, nil
			}
		}
		s := tool.Spec{Name: name, Schema: json.RawMessage(schema), Timeout: time.Minute, Serial: strings.Contains(strings.Join(serial, " "), name)}
		list = append(list, tool.Tool{Spec: s, Run: func(ctx context.Context, env *tool.Env, input json.RawMessage) (wire.Output, error) {
			w.ran.Add(1)
			w.last.Store(string(input))
			return run(ctx, env, input)
		}})
	}
	reg, err := tool.NewRegistry(list)
	if err != nil {
		w.Fatal(err)
	}
	return reg
}

func (w *world) file(path, content string) string {
	w.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(w.ws, path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		w.Fatal(err)
	}
	return path
}

func (w *world) config(toml string) {
	w.Helper()
	w.file(filepath.Join(w.dirs.Config, "config.toml"), toml)
}

func (w *world) policy(toml string) {
	w.Helper()
	w.file(filepath.Join(w.dirs.Config, "policy.toml"), toml)
}

func (w *world) pass(d time.Duration) { w.clock.Add(int64(d)) }

func (w *world) begin() *Batch {
	w.Helper()
	b, err := w.Begin()
	if err != nil {
		w.Fatal(err)
	}
	return b
}

// call takes one call through the gate, in a batch of its own.
func (w *world) call(tool, input string) *wire.Result {
	w.Helper()
	return w.do(wire.Call{Tool: tool, Input: json.RawMessage(input)})
}

func (w *world) do(c wire.Call) *wire.Result {
	w.Helper()
	return w.begin().Do(context.Background(), c)
}

// wants checks the status of a result, its exit status, and how often a tool has
// run by now.
func (w *world) wants(r *wire.Result, status wire.Status, exit int, ran int64) {
	w.Helper()
	if r.Status != status || Exit(r) != exit || w.ran.Load() != ran {
		w.Fatalf("status %s, exit %d, %d runs, error %+v; want %s, %d, %d", r.Status, Exit(r), w.ran.Load(), r.Error, status, exit, ran)
	}
}

// lines returns the audit, which must hold together.
func (w *world) lines() []audit.Entry {
	w.Helper()
	if _, err := w.Audit.Verify(); err != nil {
		w.Fatal(err)
	}
	var list []audit.Entry
	for e, err := range w.Audit.List(audit.Filter{}) {
		if err != nil {
			w.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

// trail returns the audit as words: type, then decision, state or status.
func (w *world) trail() string {
	w.Helper()
	var list []string
	for _, e := range w.lines() {
		by := ""
		if e.DecidedBy != nil {
			by = ":" + e.DecidedBy.Kind
		}
		list = append(list, e.Type+":"+string(e.Decision)+e.State+string(e.Status)+by)
	}
	return strings.Join(list, " ")
}

const allowAll = "[[rule]]\ntool = \"*\"\ndecision = \"allow\"\n"

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
		{"web_search", `{"query":"x"}`, wire.StatusDenied, 3, "web_search is denied: offline", "kx policy check --tool web_search"},
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

// answer decides a request as a person does.
func (w *world) answer(id, verdict string) {
	w.Helper()
	uid := os.Getuid()
	if _, err := w.Approvals.Decide(id, verdict, "so be it", wire.Decider{Kind: "human", UID: &uid}); err != nil {
		w.Fatal(err)
	}
}
