package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/agent/prompt"
	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/gate"
	"github.com/kxtools/kx/internal/gate/judge"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/internal/record/session"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/wire"
)

// house is a state directory with one session and the real gate around tools that
// only write down that they ran. What it is made of lies in dir, so that another
// process can open it again.
type house struct {
	t         testing.TB
	dir, ws   string
	store     *session.Store
	approvals *approval.Store
	log       *audit.Log
	opts      judge.Options
	handlers  map[string]tool.Handler // instead of writing down that they ran
	moment    func(string)            // told of every step of a tool

	events []wire.Event // of the last run
}

const sessionID = "run"

// policy lets bash run what begins with "run", and denies a file.
const policyFile = `
[[rule]]
tool = "bash"
command = "run *"
decision = "allow"
[[rule]]
effect = "read"
path = "secret/**"
decision = "deny"
reason = "it is secret"
`

func newHouse(t testing.TB) *house { t.Helper(); return newHouseIn(t, t.TempDir()) }

func newHouseIn(t testing.TB, dir string) *house {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"home/ws", "config"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"config.toml": "[experimental]\nunsandboxed_bash = true\n", "policy.toml": policyFile} {
		if err := os.WriteFile(filepath.Join(dir, "config", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h := openHouse(t, dir)
	if _, err := h.store.Create(session.Meta{Session: wire.Session{ID: sessionID, Workspace: h.ws, Mode: "default", State: session.Running}}); err != nil {
		t.Fatal(err)
	}
	return h
}

func openHouse(t testing.TB, dir string) *house {
	t.Helper()
	st, err := state.Open(filepath.Join(dir, "state"))
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, dir: dir, ws: filepath.Join(dir, "home/ws"), moment: func(string) {}}
	h.store, h.approvals, h.log = session.New(st, time.Now), approval.New(st, time.Now), audit.New(st, time.Now)
	h.opts = judge.Options{
		Dirs:      paths.Dirs{UID: os.Getuid(), Home: filepath.Join(dir, "home"), State: st.Dir(), Config: filepath.Join(dir, "config"), Runtime: filepath.Join(dir, "run")},
		Workspace: h.ws, Cwd: h.ws, State: st,
	}
	return h
}

var schemas = map[string]string{
	"read_file":   `{"type":"object","additionalProperties":false,"required":["path"],"properties":{"path":{"type":"string"}}}`,
	"write_file":  `{"type":"object","additionalProperties":false,"required":["path"],"properties":{"path":{"type":"string"}}}`,
	"bash":        `{"type":"object","additionalProperties":false,"required":["command"],"properties":{"command":{"type":"string"}}}`,
	"todo_write":  `{"type":"object","additionalProperties":false,"properties":{"n":{"type":"integer"}}}`,
	"emit_output": `{"type":"object","additionalProperties":false,"properties":{"content":{"type":"string"}}}`,
}

func (h *house) tools() *tool.Registry {
	h.t.Helper()
	var list []tool.Tool
	for name, schema := range schemas {
		run := func(ctx context.Context, env *tool.Env, input json.RawMessage) (wire.Output, error) {
			if own := h.handlers[name]; own != nil {
				return own(ctx, env, input)
			}
			h.moment("before " + name)
			f, err := os.OpenFile(filepath.Join(h.dir, "ran"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return nil, err
			}
			defer f.Close()
			if _, err := fmt.Fprintf(f, "%s %s\n", name, strings.ReplaceAll(string(input), h.ws+"/", "")); err != nil {
				return nil, err
			}
			h.moment("after " + name)
			var in struct{ Content, Command string }
			json.Unmarshal(input, &in)
			switch {
			case name == "emit_output":
				return wire.Output{"text": in.Content}, nil
			case in.Command == "run badly":
				return wire.Output{"text": "it went badly"}, fail.Failed("exit_status", "the command exited with status 1")
			}
			return wire.Output{"text": name + " is done"}, nil
		}
		list = append(list, tool.Tool{Run: run, Spec: tool.Spec{
			Name: name, Schema: json.RawMessage(schema), Description: "the tool " + name, Timeout: time.Minute, Serial: name == "bash",
		}})
	}
	reg, err := tool.NewRegistry(list)
	if err != nil {
		h.t.Fatal(err)
	}
	return reg
}

// ran returns what the tools wrote down, a line a call.
func (h *house) ran() []string {
	b, _ := os.ReadFile(filepath.Join(h.dir, "ran"))
	if len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// play runs the session as a process would: with a writer, a gate and a model of
// its own.
func (h *house) play(ctx context.Context, script string, change ...func(*Options)) (*Outcome, error) {
	h.t.Helper()
	w, err := h.store.OpenWriter(sessionID)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	m, err := model.ParseScript([]byte(script), "script")
	if err != nil {
		h.t.Fatal(err)
	}
	h.events = nil
	o := Options{
		Session: sessionID, Log: w, Past: h.store.Events(sessionID), Model: m, Prompt: func() (*prompt.Task, error) { return &prompt.Task{Prompt: "go"}, nil },
		Emit: func(e wire.Event) error { h.events = append(h.events, e); return nil },
		Gate: &gate.Gate{
			Tools: h.tools(), Audit: h.log, Approvals: h.approvals, Now: time.Now,
			Session: sessionID, Caller: "agent", Home: h.opts.Dirs.Home, Run: true, Await: h.await,
			Reload: func() (*judge.Judge, error) { return judge.Open(h.opts) },
		},
	}
	for _, c := range change {
		c(&o)
	}
	return Run(ctx, o)
}

// await looks at the files until a request is answered.
func (h *house) await(ctx context.Context, id string) error {
	for {
		if a, err := h.approvals.Get(id); err != nil || a.State != wire.ApprovalPending {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (h *house) answer(id, verdict, note string) {
	h.t.Helper()
	if _, err := h.approvals.Decide(id, approval.Answer{Allow: verdict == wire.ApprovalAllowed, Note: note}, wire.Decider{Kind: "human", PID: 7}); err != nil {
		h.t.Fatal(err)
	}
}

// ends checks how a run ended.
func (h *house) ends(end *Outcome, err error, state string, exit int) {
	h.t.Helper()
	if end == nil {
		h.t.Fatalf("there is no outcome: %v", err)
	}
	if end.Run.State != state || end.Run.Exit != exit || fail.Exit(err) != exit {
		h.t.Errorf("the run ended %s (%d) with %v, want %s (%d)", end.Run.State, end.Run.Exit, err, state, exit)
	}
}

// trail is the events as "event data", with only the essence of results.
func trail(events []wire.Event) []string {
	var list []string
	for _, e := range events {
		data := took.ReplaceAllString(string(e.Data), "")
		if e.Event == evToolResult {
			var r wire.Result
			json.Unmarshal(e.Data, &r)
			data = fmt.Sprintf("%s %s %s %q", r.ID, r.Tool, r.Status, r.Output.Text())
		}
		list = append(list, e.Event+" "+data)
	}
	return list
}

// recorded returns the events in the session.
func (h *house) recorded() []wire.Event {
	h.t.Helper()
	var list []wire.Event
	for e, err := range h.store.Events(sessionID) {
		if err != nil {
			h.t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

// same compares two lists and shows where they part.
func same(t testing.TB, what string, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		g, w := "nothing", "nothing"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("%s, number %d:\n got %s\nwant %s\nof\n%s", what, i+1, g, w, strings.Join(got, "\n"))
			return
		}
	}
}

// listener is a model that writes down what it is asked.
type listener struct {
	model.Model
	asked []*model.Request
}

func (l *listener) Turn(ctx context.Context, r *model.Request) (*model.Turn, error) {
	c := *r
	c.Messages = append([]model.Message{}, r.Messages...)
	l.asked = append(l.asked, &c)
	return l.Model.Turn(ctx, r)
}

func listen(l *listener) func(*Options) {
	return func(o *Options) { l.Model, o.Model = o.Model, l }
}

// said is the conversation as a model sees it, a line a message.
func (l *listener) said() []string {
	var list []string
	for _, m := range l.asked[len(l.asked)-1].Messages {
		s := strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s", m.Role, m.CallID, m.Tool, m.Status, m.Content))
		list = append(list, strings.Join(strings.Fields(s), " "))
	}
	return list
}

// took is how long a model took, which differs.
var took = regexp.MustCompile(`,"duration_ms":\d+`)

var errBroken = errors.New("broken")
