package hook

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/proc"
	"github.com/kxtools/kx/internal/record/config"
	"github.com/kxtools/kx/pkg/wire"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"": "", " \n": "", `{}`: "",
		`{"contract_version":1,"permission":"allow","reason":"fine"}`: "allow fine",
		`{"decision":"approve"}`:                                                 "allow",
		`{"decision":"block","reason":"no"}`:                                     "deny no",
		`{"permission":"ask"}`:                                                   "ask",
		`{"decision":"approve","permission":"deny"}`:                             "deny",
		`{"permission":"allow","continue_execution":false,"stop_reason":"halt"}`: "deny halt",
		`{"permission":"allow","continue_execution":true}`:                       "allow",
		`{"permission":"allow","updated_permissions":[{"scope":"session","rule":{"tool":"write_file","path":"docs/**","decision":"allow"}}]}`: "allow write_file docs/** allow hook_update session",
		// None of these is an allow.
		`{"contract_version":2,"permission":"allow"}`: "error", `{"permission":"yes"}`: "error", `{"decision":"allow"}`: "error", `{"permission":true}`: "error",
		`allow`: "error", `"allow"`: "error", `[]`: "error", `null`: "error", `{"permission":"allow"`: "error", `{"permission":"allow"}{}`: "error", `{"permission":"allow"} x`: "error",
		`{"permission":"allow","updated_input":{}}`: "error", `{"permission":"allow","x":1}`: "error", "\xff": "error",
		`{"permission":"allow","updated_permissions":[{"scope":"user","rule":{"tool":"bash","decision":"allow"}}]}`:                     "error",
		`{"permission":"allow","updated_permissions":[{"rule":{"tool":"bash","decision":"allow"}}]}`:                                    "error",
		`{"permission":"allow","updated_permissions":[{"scope":"session","rule":{"decision":"allow"}}]}`:                                "error",
		`{"permission":"allow","updated_permissions":[{"scope":"session","rule":{"tool":"bash","decision":"allow","sandbox":"host"}}]}`: "error",
		`{"permission":"allow","updated_permissions":[{"scope":"session","rule":{"tool":"bash","decision":"maybe"}}]}`:                  "error",
		`{"permission":"allow","updated_permissions":[{"scope":"session","rule":{"tool":"a","decision":"deny"}},{"scope":"project"}]}`:  "error",
	} {
		got := "error"
		if a, err := parse([]byte(text)); err == nil {
			words := []string{string(a.verdict), a.reason}
			for _, r := range a.rules {
				words = append(words, r.Tool, r.When["path"], string(r.Decision), r.Origin, r.Scope)
			}
			got = strings.Join(strings.Fields(strings.Join(words, " ")), " ")
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// What hooks say together, each by its command: a word, or how it fails.
func TestRun(t *testing.T) {
	answers := map[string]string{"allow": `{"permission":"allow"}`, "ask": `{"permission":"ask"}`, "deny": `{"permission":"deny","reason":"no"}`, "none": "", "garbage": "ok!", "large": strings.Repeat("x", MaxAnswer+1)}
	var told string
	command := func(ctx context.Context, line string, input []byte) ([]byte, error) {
		told = string(input)
		switch line {
		case "fail":
			return nil, errors.New("it exited with status 1: oh")
		case "slow":
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return []byte(answers[line]), nil
	}
	for _, tt := range []struct {
		event, hooks string
		want         wire.Verdict
		runs         int
	}{
		{config.PermissionRequest, "allow", wire.Allow, 1},
		{config.PermissionRequest, "none", "", 1},
		{config.PermissionRequest, "none allow", wire.Allow, 2},
		{config.PermissionRequest, "allow deny allow", wire.Deny, 2},
		{config.PermissionRequest, "allow ask", wire.Ask, 2},
		{config.PermissionRequest, "ask allow", wire.Ask, 2},
		{config.PermissionRequest, "allow garbage", wire.Ask, 2},
		{config.PermissionRequest, "large allow", wire.Ask, 2},
		{config.PermissionRequest, "fail allow", wire.Ask, 2},
		{config.PermissionRequest, "slow allow", wire.Ask, 2},
		{config.PermissionRequest, "fail deny", wire.Deny, 2},
		{config.PreToolUse, "allow", "", 1},
		{config.PreToolUse, "none", "", 1},
		{config.PreToolUse, "ask", wire.Ask, 1},
		{config.PreToolUse, "deny allow", wire.Deny, 1},
		{config.PreToolUse, "garbage", wire.Deny, 1},
		{config.PreToolUse, "large", wire.Deny, 1},
		{config.PreToolUse, "fail", wire.Deny, 1},
		{config.PreToolUse, "slow", wire.Deny, 1},
		{config.PermissionDenied, "allow deny fail", "", 3},
		{config.PostToolUse, "deny allow", "", 2},
	} {
		var hooks []config.Hook
		for _, h := range strings.Fields(tt.hooks) {
			hooks = append(hooks, config.Hook{Event: tt.event, Name: h, Tool: "*", Command: h, Timeout: 20 * time.Millisecond})
		}
		r := Runner{Hooks: append(hooks, config.Hook{Event: "other", Tool: "*", Command: "deny"}), Command: command}
		o := r.Run(t.Context(), tt.event, &Call{ID: "c1", Tool: "bash", Input: []byte(`{"command":"ls"}`), Session: "s", Caller: "me"})
		if o.Verdict != tt.want || len(o.Runs) != tt.runs || (o.Verdict == "") != (o.Reason == "") {
			t.Errorf("%s %s: %q (%s) after %d", tt.event, tt.hooks, o.Verdict, o.Reason, len(o.Runs))
		}
		for _, run := range o.Runs {
			_, understood := answers[run.Name]
			if failed := !understood || run.Name == "garbage" || run.Name == "large"; failed != (run.Error != "") {
				t.Errorf("%s %s: the run is %+v", tt.event, tt.hooks, run)
			}
		}
	}
	if want := `{"contract_version":1,"invocation_key":"c1/post_tool_use/allow","event":"post_tool_use","subject":"bash","session_id":"s","agent_id":"me","payload":{"tool":"bash","input":{"command":"ls"},"workspace":"","cwd":"","decision":"","base_decision":"","mode":"","mandatory":false,"reason":""}}` + "\n"; told != want {
		t.Errorf("a hook was told\n%swant\n%s", told, want)
	}
}

func TestFits(t *testing.T) {
	for _, tt := range []struct {
		tool, field, want string
		call, input       string
		fits              bool
	}{
		{"*", "", "", "bash", `{}`, true},
		{"write_*", "", "", "bash", `{}`, false},
		{"write_file", "path", "docs/*", "write_file", `{"path":"/ws/docs/a"}`, true},
		{"write_file", "path", "/ws/docs/*", "write_file", `{"path":"/ws/docs/a"}`, true},
		{"write_file", "path", "docs/*", "write_file", `{"path":"/ws/src/a"}`, false},
		{"write_file", "path", "docs/*", "write_file", `{"path":"/docs/a"}`, false},
		{"write_file", "path", "docs/*", "write_file", `{}`, false},
		{"bash", "command", "git *", "bash", `{"command":"git status"}`, true},
		{"bash", "command", "git", "bash", `{"command":"git status"}`, false},
		{"mcp__*", "n", "*", "mcp__a__b", `{"n":7}`, false},
	} {
		h := &config.Hook{Tool: tt.tool}
		if tt.field != "" {
			h.Input = map[string]string{tt.field: tt.want}
		}
		if got := fits(h, &Call{Tool: tt.call, Input: []byte(tt.input), Workspace: "/ws"}); got != tt.fits {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

func TestAnswer(t *testing.T) {
	for _, tt := range []struct {
		res  proc.Result
		err  error
		fine bool
	}{
		{proc.Result{Stdout: []byte("{}")}, nil, true},
		{proc.Result{Stdout: []byte(`{"permission":"allow"}`), ExitCode: 1}, nil, false},
		{proc.Result{Stdout: []byte(`{"permission":"allow"}`)}, context.DeadlineExceeded, false},
		{proc.Result{Stdout: make([]byte, MaxAnswer), Truncated: true}, nil, false},
	} {
		if _, err := Answer(tt.res, tt.err); (err == nil) != tt.fine {
			t.Errorf("%+v: %v", tt.res, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"permission":"allow","updated_permissions":[{"scope":"session","rule":{"tool":"bash","decision":"allow"}}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, err := parse(raw)
		if err != nil {
			return
		}
		for _, r := range a.rules {
			if r.Scope != "session" || r.Origin != "hook_update" || r.Tool == "" {
				t.Errorf("%s: %+v", raw, r)
			}
		}
	})
}
