package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/gate/judge"
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
	"lsp_rename": `{"type":"object"}`,
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

// answer decides a request as a person does.
func (w *world) answer(id, verdict string) {
	w.Helper()
	uid := os.Getuid()
	if _, err := w.Approvals.Decide(id, approval.Answer{Allow: verdict == wire.ApprovalAllowed, Note: "so be it"}, wire.Decider{Kind: "human", UID: &uid}); err != nil {
		w.Fatal(err)
	}
}

const allowAll = "[[rule]]\ntool = \"*\"\ndecision = \"allow\"\n"
