package gate

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/gate/hook"
	"github.com/kxtools/kx/pkg/wire"
)

// answers is a hook that answers with a line of JSON.
func answers(event, answer string) string {
	return "[[hooks." + event + "]]\ncommand = '''cat >/dev/null; echo '" + answer + "' '''\n"
}

func withHooks(t *testing.T, toml ...string) *world {
	w := newWorld(t, nil)
	w.HookEnv = func() []string { return []string{"PATH=/usr/bin:/bin"} }
	w.config(strings.Join(toml, ""))
	return w
}

// How the say of hooks meets that of rules and modes.
func TestHooksAndModes(t *testing.T) {
	const allows, asks, blocks = `{"permission":"allow"}`, `{"permission":"ask"}`, `{"decision":"block"}`
	mandatory := "[[rule]]\ntool = \"bash\"\ncommand = \"rm *\"\ndecision = \"deny\"\n"
	for name, tt := range map[string]struct {
		hooks, policy, mode, tool, input string
		want                             wire.Status
		by, effect                       string
	}{
		"allows what would be asked":   {answers("permission_request", allows), "", "", "write_file", `{"path":"a","content":"x"}`, wire.StatusOK, "hook", ""},
		"is not asked of an allow":     {answers("permission_request", blocks), "", "", "list_files", `{}`, wire.StatusOK, "rule", ""},
		"never lifts a deny":           {answers("permission_denied", allows) + answers("permission_request", allows), mandatory, "", "bash", `{"command":"rm x"}`, wire.StatusDenied, "rule", ""},
		"never gives a mandatory one":  {answers("permission_request", allows), mandatory, "", "bash", `{"command":"python3 -c 'x'"}`, wire.StatusPending, "rule", "kept_mandatory_approval"},
		"denies a mandatory one":       {answers("permission_request", blocks), mandatory, "", "bash", `{"command":"python3 -c 'x'"}`, wire.StatusDenied, "hook", ""},
		"has a person asked":           {answers("pre_tool_use", asks), "", "", "list_files", `{}`, wire.StatusPending, "rule", ""},
		"which bypass does not lift":   {answers("pre_tool_use", asks), "", "bypassPermissions", "list_files", `{}`, wire.StatusPending, "rule", "kept_mandatory_approval"},
		"nor another hook":             {answers("pre_tool_use", asks) + answers("permission_request", allows), "", "", "list_files", `{}`, wire.StatusPending, "rule", "kept_mandatory_approval"},
		"and dontAsk denies":           {answers("pre_tool_use", asks), "", "dontAsk", "list_files", `{}`, wire.StatusDenied, "mode", "dont_ask_denied_approval"},
		"denies under bypass":          {answers("pre_tool_use", blocks), "", "bypassPermissions", "write_file", `{"path":"a","content":"x"}`, wire.StatusDenied, "hook", "bypass_permissions_auto_allowed_approval"},
		"does not undo what plan says": {answers("permission_request", allows), "", "plan", "write_file", `{"path":"a","content":"x"}`, wire.StatusDenied, "mode", "plan_mode_denied_non_whitelisted_tool"},
	} {
		w := withHooks(t, "[experimental]\nunsandboxed_bash = true\n", tt.hooks)
		w.policy(tt.policy)
		w.opts.Mode = tt.mode
		r := w.call(tt.tool, tt.input)
		if r.Status != tt.want || r.Decision.ModeEffect != tt.effect {
			t.Errorf("%s: %s, effect %q, %+v", name, r.Status, r.Decision.ModeEffect, r.Error)
		}
		if by := w.lines()[0].DecidedBy; by == nil || by.Kind != tt.by {
			t.Errorf("%s: decided by %+v", name, by)
		}
	}
}

// A hook that denies does so after a person has allowed, too.
func TestHookAfterPerson(t *testing.T) {
	w := withHooks(t)
	r := w.call("write_file", `{"path":"a","content":"x"}`)
	w.wants(r, wire.StatusPending, 4, 0)
	w.answer(r.ApprovalID, wire.ApprovalAllowed)
	w.config(answers("pre_tool_use", `{"permission":"deny"}`))
	w.wants(w.call("write_file", `{"path":"a","content":"x"}`), wire.StatusDenied, 3, 0)
	w.config("")
	w.wants(w.call("write_file", `{"path":"a","content":"x"}`), wire.StatusOK, 0, 1)
}

// A server that is a hook gets the same document, and its answer counts as much.
func TestServer(t *testing.T) {
	w := withHooks(t, "[[hooks.permission_request]]\nurl = \"http://127.0.0.1:9/x\"\n")
	var got struct {
		Event   string
		Payload struct{ Input struct{ Path string } }
	}
	w.Post = func(_ context.Context, url string, doc []byte) ([]byte, error) {
		if err := json.Unmarshal(doc, &got); err != nil || url != "http://127.0.0.1:9/x" {
			t.Errorf("%s: %s, %v", url, doc, err)
		}
		return []byte(`{"permission":"allow","updated_permissions":[{"scope":"session","rule":{"tool":"edit_file","decision":"deny"}}]}`), nil
	}
	var kept []hook.Rule
	w.KeepRules = func(rules []hook.Rule) error { kept = rules; return nil }
	w.wants(w.call("write_file", `{"path":"a","content":"x"}`), wire.StatusOK, 0, 1)
	if got.Event != "permission_request" || got.Payload.Input.Path != w.ws+"/a" {
		t.Errorf("it was told %+v", got)
	}
	if len(kept) != 1 || kept[0].Tool != "edit_file" || kept[0].Hook != "permission_request 1" {
		t.Errorf("kept %+v", kept)
	}
}

// A rule of a hook that can't be kept may have been a deny: it lets nothing through.
func TestLostRules(t *testing.T) {
	const rule = `"updated_permissions":[{"scope":"session","rule":{"tool":"edit_file","decision":"deny"}}]`
	for event, want := range map[string]wire.Status{"pre_tool_use": wire.StatusDenied, "permission_request": wire.StatusPending} {
		w := withHooks(t, answers(event, `{"permission":"allow",`+rule+`}`))
		w.KeepRules = func([]hook.Rule) error { return errors.New("the disk is full") }
		r := w.call("write_file", `{"path":"a","content":"x"}`)
		if r.Status != want || w.ran.Load() != 0 || len(r.Decision.Hooks) == 0 || !strings.Contains(r.Decision.Hooks[0].Error, "the disk is full") {
			t.Errorf("%s: %s, %d runs, %+v", event, r.Status, w.ran.Load(), r.Decision.Hooks)
		}
	}
}

// Hooks hear of what another program's call does besides, and an answer to the call
// alone does not allow that.
func TestHooksBesides(t *testing.T) {
	patched := Foreign{Call: call("bash", `{"command":"ls"}`), With: []wire.Call{call("write_file", `{"path":"src/a"}`)}}
	for hooks, want := range map[string]wire.Status{
		"[[hooks.pre_tool_use]]\nmatcher = { tool = \"write_file\" }\ncommand = \"exit 1\"\n":                               wire.StatusDenied,
		"[[hooks.pre_tool_use]]\nmatcher = { tool = \"edit_file\" }\ncommand = \"exit 1\"\n":                                wire.StatusPending,
		"[[hooks.permission_request]]\nmatcher = { tool = \"bash\" }\ncommand = '''echo '{\"permission\":\"allow\"}' '''\n": wire.StatusPending,
	} {
		w := withHooks(t, hooks)
		b, err := w.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if r := b.Permit(context.Background(), patched); r.Status != want {
			t.Errorf("%s: %s, want %s, %+v", hooks, r.Status, want, r.Decision.Hooks)
		}
	}
}

// What another program runs is judged, and asked for, and not run.
func TestPermit(t *testing.T) {
	w := newWorld(t, nil)
	w.Tools = nil
	w.policy("[[rule]]\ntool = \"write_file\"\npath = \"docs/**\"\ndecision = \"allow\"\n[[rule]]\neffect = \"read\"\npath = \"**/.env\"\ndecision = \"deny\"\n[[rule]]\ntool = \"bash\"\ncommand = \"ls *\"\ndecision = \"allow\"\n")
	for name, tt := range map[string]struct {
		f    Foreign
		want wire.Status
	}{
		"allowed":                 {Foreign{Call: call("write_file", `{"path":"docs/a"}`)}, wire.StatusOK},
		"asked for":               {Foreign{Call: call("write_file", `{"path":"src/a"}`)}, wire.StatusPending},
		"guarded":                 {Foreign{Call: call("write_file", `{"path":".git/config"}`)}, wire.StatusDenied},
		"outside":                 {Foreign{Call: call("write_file", `{"path":"/etc/x"}`)}, wire.StatusDenied},
		"fields that we lack":     {Foreign{Call: call("write_file", `{"path":"docs/a","more":[1]}`)}, wire.StatusOK},
		"no path":                 {Foreign{Call: call("write_file", `{}`)}, wire.StatusPending},
		"a path that is none":     {Foreign{Call: call("write_file", `{"path":7}`)}, wire.StatusError},
		"a tool that we lack":     {Foreign{Call: call("claude__X", `{}`)}, wire.StatusPending},
		"no tool":                 {Foreign{Call: call("nonsense", `{}`)}, wire.StatusNotFound},
		"a command":               {Foreign{Call: call("bash", `{"command":"ls"}`)}, wire.StatusOK},
		"without its walls":       {Foreign{Call: call("bash", `{"command":"ls"}`), Unproven: "no walls"}, wire.StatusPending},
		"with what is allowed":    {Foreign{Call: call("bash", `{"command":"ls"}`), With: []wire.Call{call("write_file", `{"path":"docs/a"}`)}}, wire.StatusOK},
		"with what is asked for":  {Foreign{Call: call("bash", `{"command":"ls"}`), With: []wire.Call{call("write_file", `{"path":"src/a"}`)}}, wire.StatusPending},
		"with what is guarded":    {Foreign{Call: call("bash", `{"command":"ls"}`), With: []wire.Call{call("write_file", `{"path":".git/config"}`)}}, wire.StatusDenied},
		"a search past a deny":    {Foreign{Call: call("grep_search", `{"pattern":"x"}`), Search: "grep -r x ."}, wire.StatusPending},
		"a search of one file":    {Foreign{Call: call("grep_search", `{"pattern":"x","path":"a.go"}`), Search: "grep -r x a.go"}, wire.StatusOK},
		"a search of a deny":      {Foreign{Call: call("grep_search", `{"pattern":"x","path":".env"}`), Search: "grep -r x .env"}, wire.StatusDenied},
		"a question is not asked": {Foreign{Call: call("ask_user_question", `{}`)}, wire.StatusOK},
	} {
		w.file("a.go", "")
		r := w.begin().Permit(t.Context(), tt.f)
		if r.Status != tt.want || w.ran.Load() != 0 {
			t.Errorf("%s: %s, want %s, %+v, %+v", name, r.Status, tt.want, r.Error, r.Decision)
		}
	}
	f := Foreign{Call: call("write_file", `{"path":"src/b"}`)}
	r := w.begin().Permit(t.Context(), f)
	w.answer(r.ApprovalID, wire.ApprovalAllowed)
	for _, want := range []wire.Status{wire.StatusOK, wire.StatusPending} {
		if r := w.begin().Permit(t.Context(), f); r.Status != want {
			t.Errorf("after the answer: %s, want %s, %+v", r.Status, want, r.Error)
		}
	}
}

func call(tool, input string) wire.Call { return wire.Call{Tool: tool, Input: json.RawMessage(input)} }
