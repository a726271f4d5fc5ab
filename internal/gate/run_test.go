package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/pkg/wire"
)

// How a tool ends is how its call ends, and the audit has it.
func TestEnds(t *testing.T) {
	var out wire.Output
	var end error
	w := newWorld(t, handlers{"get_goal": func(context.Context, *tool.Env, json.RawMessage) (wire.Output, error) {
		if end == errPanic {
			panic("on purpose")
		}
		return out, end
	}})
	for _, tt := range []struct {
		name   string
		out    wire.Output
		end    error
		status wire.Status
		exit   int
		code   string
		text   string
	}{
		{"ok", wire.Output{"text": "a"}, nil, wire.StatusOK, 0, "", "a"},
		{"nothing", nil, nil, wire.StatusOK, 0, "", ""},
		{"plain error", nil, errors.New("bad"), wire.StatusError, 1, "failed", "bad"},
		{"error with output", wire.Output{"text": "out", "exit_code": 3}, fail.Failed("exit_status", "exit 3"), wire.StatusError, 1, "exit_status", "out"},
		{"denied", nil, fail.Denied("wall", "no"), wire.StatusDenied, 3, "wall", "no"},
		{"unavailable", nil, fail.Unavailable("gone", "no"), wire.StatusUnavailable, 5, "gone", "no"},
		{"limit", nil, fail.Limit("big", "no"), wire.StatusLimit, 6, "big", "no"},
		{"conflict", nil, fail.Conflict("stale", "no"), wire.StatusConflict, 7, "stale", "no"},
		{"not found", nil, fail.NotFound("no_file", "no"), wire.StatusNotFound, 8, "no_file", "no"},
		{"timeout", nil, fail.Timeout("no"), wire.StatusTimeout, 124, "timeout", "no"},
		{"deadline", nil, fmt.Errorf("x: %w", context.DeadlineExceeded), wire.StatusTimeout, 124, "timeout", "it took too long"},
		{"cancelled", nil, context.Canceled, wire.StatusError, 130, "interrupted", "interrupted"},
		{"panic", nil, errPanic, wire.StatusError, 1, "tool_broke", "get_goal broke: on purpose"},
		{"not JSON", wire.Output{"text": make(chan int)}, nil, wire.StatusError, 1, "tool_broke", "the output of get_goal can't be encoded: json: unsupported type: chan int"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, end = tt.out, tt.end
			before := w.ran.Load()
			r := w.call("get_goal", "{}")
			w.wants(r, tt.status, tt.exit, before+1)
			code := ""
			if r.Error != nil {
				code = r.Error.Code
			}
			if code != tt.code || r.Output.Text() != tt.text {
				t.Errorf("code %q, text %q", code, r.Output.Text())
			}
			if _, err := json.Marshal(r); err != nil {
				t.Error(err)
			}
			list := w.lines()
			if last := list[len(list)-1]; last.Type != "outcome" || last.Status != tt.status || last.CallID != r.ID {
				t.Errorf("last line %s", last.Raw)
			}
		})
	}
}

var errPanic = errors.New("panic")

// A call that is interrupted before it runs leaves nothing behind; one that runs
// is told.
func TestInterrupted(t *testing.T) {
	begun := make(chan bool)
	w := newWorld(t, handlers{"get_goal": func(ctx context.Context, _ *tool.Env, _ json.RawMessage) (wire.Output, error) {
		close(begun)
		<-ctx.Done()
		return wire.Output{"text": "half"}, ctx.Err()
	}})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan *wire.Result)
	go func() { done <- w.begin().Do(ctx, wire.Call{Tool: "get_goal"}) }()
	<-begun
	cancel()
	r := <-done
	w.wants(r, wire.StatusError, 130, 1)
	if r.Error.Code != "interrupted" || r.Output.Text() != "half" || w.trail() != "audit:allow:rule outcome:error" {
		t.Errorf("%+v, %s", r, w.trail())
	}
	w.wants(w.begin().Do(ctx, wire.Call{Tool: "todo_write"}), wire.StatusError, 130, 1)
	w.wants(w.begin().Do(ctx, wire.Call{Tool: "write_file", Input: json.RawMessage(`{"path":"a"}`)}), wire.StatusError, 130, 1)
	if list, _ := w.Approvals.List(""); len(list) != 0 || len(w.lines()) != 2 {
		t.Errorf("requests %v, audit %s", list, w.trail())
	}
}

// A tool has the time that it declares, and never more than the limit.
func TestTimeout(t *testing.T) {
	var left time.Duration
	run := func(ctx context.Context, _ *tool.Env, _ json.RawMessage) (wire.Output, error) {
		deadline, _ := ctx.Deadline()
		left = time.Until(deadline)
		return nil, nil
	}
	w := newWorld(t, handlers{"get_goal": run})
	w.call("get_goal", "{}")
	if left > time.Minute || left < 50*time.Second {
		t.Errorf("the tool has %v of its minute", left)
	}
	w.config("[limits]\nmax_timeout_ms = 5000\n")
	w.call("get_goal", "{}")
	if left > 5*time.Second || left < time.Second {
		t.Errorf("the tool has %v of the 5 s that the limit gives", left)
	}
	w = newWorld(t, handlers{"get_goal": func(ctx context.Context, _ *tool.Env, _ json.RawMessage) (wire.Output, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	w.config("[limits]\nmax_timeout_ms = 1\n")
	w.wants(w.call("get_goal", "{}"), wire.StatusTimeout, 124, 1)
}

// What was judged is what the tool gets, through whatever symlinks; and a rule
// that speaks of the path as it was written counts as well.
func TestPaths(t *testing.T) {
	w := newWorld(t, nil)
	outside := filepath.Join(w.dirs.Home, "outside")
	w.file(filepath.Join(outside, "f"), "x")
	w.file("real/f", "x")
	w.file("real/secret", "x")
	for link, to := range map[string]string{"link": "real", "away": outside} {
		if err := os.Symlink(to, filepath.Join(w.ws, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(w.ws, "real"), filepath.Join(w.dirs.Home, "inward")); err != nil {
		t.Fatal(err)
	}
	w.policy(`
[[rule]]
tool = "read_file"
path = "real/secret"
decision = "deny"
[[rule]]
tool = "write_file"
path = "**"
decision = "allow"
[[rule]]
effect = "write"
path = "link/**"
decision = "deny"
`)
	for _, tt := range []struct {
		tool, path string
		status     wire.Status
		gets       string
	}{
		{"read_file", "link/f", wire.StatusOK, w.ws + "/real/f"},
		{"read_file", w.ws + "/link/../ws/a", wire.StatusOK, w.ws + "/ws/a"},
		{"read_file", "~/ws/real/f", wire.StatusOK, w.ws + "/real/f"},
		{"read_file", "link/secret", wire.StatusDenied, ""},
		{"read_file", "away/f", wire.StatusPending, ""},
		{"read_file", "../inward/f", wire.StatusPending, ""}, // written outside, though it leads inside
		{"read_file", "away/../ws/real/f", wire.StatusOK, w.ws + "/real/f"},
		{"write_file", "real/new", wire.StatusOK, w.ws + "/real/new"},
		{"write_file", "link/new", wire.StatusDenied, ""}, // as written
		{"write_file", "away/new", wire.StatusDenied, ""}, // outside
		{"list_files", "", wire.StatusOK, w.ws},
	} {
		before := w.ran.Load()
		input := `{}`
		if tt.path != "" {
			input = `{"path":"` + tt.path + `"}`
		}
		r := w.call(tt.tool, input)
		if r.Status != tt.status {
			t.Errorf("%s %s: %s, %+v", tt.tool, tt.path, r.Status, r.Error)
			continue
		}
		if ran := w.ran.Load() > before; ran != (tt.status == wire.StatusOK) {
			t.Errorf("%s %s: ran %v", tt.tool, tt.path, ran)
		}
		if tt.gets != "" && !strings.Contains(w.last.Load().(string), `"path":"`+tt.gets+`"`) {
			t.Errorf("%s %s: the tool got %s", tt.tool, tt.path, w.last.Load())
		}
	}
}

// While somebody moves a symlink, the tool gets what was decided of, every time.
func TestPathsRace(t *testing.T) {
	w := newWorld(t, nil)
	link := filepath.Join(w.ws, "link")
	for _, dir := range []string{"one", "two"} {
		w.file(dir+"/f", "")
	}
	if err := os.Symlink("one", link); err != nil {
		t.Fatal(err)
	}
	done := make(chan bool)
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			os.Symlink([]string{"one", "two"}[i%2], link+".new")
			os.Rename(link+".new", link)
		}
	})
	for range 300 {
		r := w.call("read_file", `{"path":"link/f"}`)
		if r.Status != wire.StatusOK || !strings.Contains(w.last.Load().(string), `"path":"`+w.ws+"/"+r.Decision.Points[0].Resource+`"`) {
			t.Errorf("decided of %+v, the tool got %s", r.Decision.Points, w.last.Load())
			break
		}
	}
	close(done)
	swapper.Wait()
}

// A tool that changes files which its input does not name asks for each of them.
func TestMayWrite(t *testing.T) {
	var may func(string) bool
	w := newWorld(t, handlers{"lsp_rename": func(_ context.Context, env *tool.Env, _ json.RawMessage) (wire.Output, error) {
		may = env.MayWrite
		return nil, nil
	}})
	w.policy("[[rule]]\neffect = \"write\"\npath = \"gen/**\"\ndecision = \"deny\"\n")
	const input = `{"path":"a","new_name":"b"}`
	r := w.call("lsp_rename", input)
	w.wants(r, wire.StatusPending, 4, 0)
	w.answer(r.ApprovalID, wire.ApprovalAllowed)
	w.wants(w.call("lsp_rename", input), wire.StatusOK, 0, 1)
	if !may(w.ws+"/other") || may(w.ws+"/gen/x") || may(w.ws+"/.git/hooks/pre-commit") || may(filepath.Join(w.dirs.Home, "x")) {
		t.Error("other, gen/x, .git/hooks/pre-commit, outside:", may(w.ws+"/other"), may(w.ws+"/gen/x"), may(w.ws+"/.git/hooks/pre-commit"), may(filepath.Join(w.dirs.Home, "x")))
	}
	w.wants(w.call("lsp_rename", `{"path":"a","new_name":"b","dry_run":true}`), wire.StatusOK, 0, 2)
}

// Files that a tool meets by itself are decided one by one: denied ones are left
// out, and ones that ask, unless a person was asked for the like and allowed it.
func TestMayRead(t *testing.T) {
	var may func(string) bool
	w := newWorld(t, handlers{"list_files": func(_ context.Context, env *tool.Env, _ json.RawMessage) (wire.Output, error) {
		may = env.MayRead
		return nil, nil
	}})
	outside := filepath.Join(w.dirs.Home, "outside")
	w.policy(`
[[rule]]
effect = "read"
path = "**/.env*"
decision = "deny"
final = true
[[rule]]
tool = "list_files"
path = "drafts/**"
decision = "ask"
[[rule]]
tool = "list_files"
path = "notes/**"
decision = "ask"
`)
	check := func(want map[string]bool) {
		t.Helper()
		for path, ok := range want {
			if may(path) != ok {
				t.Errorf("MayRead(%s) is %v", path, !ok)
			}
		}
	}
	w.wants(w.call("list_files", `{}`), wire.StatusOK, 0, 1)
	check(map[string]bool{w.ws + "/a": true, w.ws + "/.env": false, w.ws + "/drafts/a": false, outside + "/a": false})

	input := `{"path":"` + outside + `"}`
	r := w.call("list_files", input)
	w.wants(r, wire.StatusPending, 4, 1)
	w.answer(r.ApprovalID, wire.ApprovalAllowed)
	w.wants(w.call("list_files", input), wire.StatusOK, 0, 2)
	check(map[string]bool{outside + "/a": true, outside + "/.env": false, w.ws + "/drafts/a": false})

	r = w.call("list_files", `{"path":"drafts/sub"}`)
	w.wants(r, wire.StatusPending, 4, 2)
	w.answer(r.ApprovalID, wire.ApprovalAllowed)
	w.wants(w.call("list_files", `{"path":"drafts/sub"}`), wire.StatusOK, 0, 3)
	check(map[string]bool{w.ws + "/drafts/sub/a": true, w.ws + "/drafts/sub/.env": false, w.ws + "/notes/a": false, outside + "/a": false})

	w.opts.Mode = "bypassPermissions"
	w.wants(w.call("list_files", `{}`), wire.StatusOK, 0, 4)
	check(map[string]bool{w.ws + "/drafts/a": true, outside + "/a": true, w.ws + "/.env": false})
	w.opts.Mode = "dontAsk"
	w.wants(w.call("list_files", `{}`), wire.StatusOK, 0, 5)
	check(map[string]bool{w.ws + "/a": true, w.ws + "/drafts/a": false, outside + "/a": false})
}
