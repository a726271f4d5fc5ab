package gate

import (
	"encoding/json"
	"testing"

	"github.com/kxtools/kx/internal/gate/judge"
	"github.com/kxtools/kx/internal/record/config"
	"github.com/kxtools/kx/pkg/wire"
)

// A call may narrow the mode of its session and never widen it; of a call that
// would, nothing runs.
func TestCallMode(t *testing.T) {
	w := newWorld(t, nil)
	reach := map[string]string{ // by session, what a call may ask for
		"bypassPermissions": "default acceptEdits bypassPermissions plan dontAsk",
		"acceptEdits":       "default acceptEdits plan dontAsk",
		"default":           "default plan dontAsk",
		"plan":              "plan",
		"dontAsk":           "dontAsk",
	}
	for session, may := range reach {
		w.opts.Mode = session
		for _, m := range []string{"default", "acceptEdits", "bypassPermissions", "plan", "dontAsk"} {
			before := w.ran.Load()
			r := w.do(wire.Call{Tool: "list_files", Mode: m})
			if fits(may, m) {
				w.wants(r, wire.StatusOK, 0, before+1)
				if r.Decision.EffectiveMode != m {
					t.Errorf("%s under %s ran in %s", m, session, r.Decision.EffectiveMode)
				}
				continue
			}
			w.wants(r, wire.StatusError, 2, before)
			if r.Error.Code != "widening" {
				t.Errorf("%s under %s: %+v", m, session, r.Error)
			}
		}
	}
	w.opts.Mode = ""
	before := w.ran.Load()
	r := w.do(wire.Call{Tool: "list_files", Mode: "accept-edits"})
	w.wants(r, wire.StatusError, 2, before)
	r = w.do(wire.Call{Tool: "list_files", Mode: "dont-ask"})
	w.wants(r, wire.StatusOK, 0, before+1)
	r = w.do(wire.Call{Tool: "list_files", Mode: "yolo"})
	w.wants(r, wire.StatusError, 2, before+1)
}

func fits(list, m string) bool {
	for len(list) >= len(m) {
		if list[:len(m)] == m {
			return true
		}
		list = list[1:]
	}
	return false
}

// The mode decides over what the rules ask for, and the audit says that it did.
func TestModes(t *testing.T) {
	w := newWorld(t, nil)
	w.policy("[[rule]]\ntool = \"edit_file\"\ndecision = \"deny\"\n")
	for _, tt := range []struct {
		mode, tool string
		status     wire.Status
		effect     string
		by         string
	}{
		{"default", "write_file", wire.StatusPending, "", "rule"},
		{"acceptEdits", "write_file", wire.StatusOK, "accept_edits_auto_allowed_edit_approval", "mode"},
		{"bypassPermissions", "write_file", wire.StatusOK, "bypass_permissions_auto_allowed_approval", "mode"},
		{"bypassPermissions", "edit_file", wire.StatusDenied, "", "rule"},
		{"plan", "write_file", wire.StatusDenied, "plan_mode_denied_non_whitelisted_tool", "mode"},
		{"plan", "read_file", wire.StatusOK, "plan_mode_allowed_read_only_or_coordination_tool", "rule"},
		{"dontAsk", "write_file", wire.StatusDenied, "dont_ask_denied_approval", "mode"},
	} {
		w.opts.Mode = tt.mode
		r := w.call(tt.tool, `{"path":"a"}`)
		if r.Status != tt.status || r.Decision.ModeEffect != tt.effect || r.Decision.ModeApplied != (tt.effect != "") {
			t.Errorf("%s in %s: %s, %+v", tt.tool, tt.mode, r.Status, r.Decision)
		}
		for _, e := range w.lines() {
			if e.Type == "audit" && e.CallID == r.ID && e.DecidedBy.Kind != tt.by {
				t.Errorf("%s in %s was decided by %s", tt.tool, tt.mode, e.DecidedBy.Kind)
			}
		}
	}
	r := w.call("write_file", `{"path":"a"}`)
	if r.Error.Message != "write_file is denied: mode dontAsk does not allow it" {
		t.Errorf("says %q", r.Error.Message)
	}
}

// Commands have no sandbox here, so a person is asked whatever mode and rules
// say, until the user's configuration says otherwise.
func TestBash(t *testing.T) {
	w := newWorld(t, nil)
	call := func() *wire.Result { return w.call("bash", `{"command":"ls"}`) }
	w.policy("[[rule]]\ntool = \"bash\"\ndecision = \"allow\"\n")
	for _, tt := range []struct {
		mode   string
		status wire.Status
		effect string
	}{
		{"default", wire.StatusPending, ""},
		{"acceptEdits", wire.StatusPending, ""},
		{"bypassPermissions", wire.StatusPending, "kept_mandatory_approval"},
		{"plan", wire.StatusDenied, "plan_mode_denied_non_whitelisted_tool"},
		{"dontAsk", wire.StatusDenied, "dont_ask_denied_approval"},
	} {
		w.opts.Mode = tt.mode
		r := call()
		w.wants(r, tt.status, Exit(r), 0)
		if d := r.Decision; !d.Mandatory || d.BaseDecision != wire.Ask || d.ModeEffect != tt.effect || d.Reason != judge.NoSandbox {
			t.Errorf("%s: %+v", tt.mode, d)
		}
	}
	list, _ := w.Approvals.List("")
	if len(list) != 1 || !list[0].Mandatory || list[0].Reason != judge.NoSandbox {
		t.Errorf("requests %+v", list)
	}

	w.opts.Mode = "bypassPermissions"
	w.config("[experimental]\nunsandboxed_bash = true\n")
	w.wants(call(), wire.StatusOK, 0, 1)

	// A narrower profile is taken; one that a rule asks for and may not have is a limit.
	for _, profile := range config.Profiles {
		before := w.ran.Load()
		w.config("[experimental]\nunsandboxed_bash = true\n[limits]\nmax_sandbox = \"" + profile + "\"\n")
		w.wants(call(), wire.StatusOK, 0, before+1)
	}
	w.config("[limits]\nmax_sandbox = \"network_enabled\"\n")
	w.policy("[[rule]]\ntool = \"bash\"\ndecision = \"allow\"\nsandbox = \"host\"\n")
	before := w.ran.Load()
	r := call()
	w.wants(r, wire.StatusLimit, 6, before)
	if got, _ := json.Marshal(r.Output); string(got) != `{"actual_profile":"host","error":"quota_exceeded","limit_profile":"network_enabled","quota":"sandbox",`+
		`"text":"bash needs the sandbox profile host, the limit max_sandbox is network_enabled","tool":"bash"}` {
		t.Errorf("output %s", got)
	}
	for i, text := range []string{"[limits]\nmax_sandbox = \"host\"\n", ""} {
		w.config(text)
		w.wants(call(), wire.StatusOK, 0, before+1+int64(i))
	}

	// A deny stays a deny, and an ask that was mandatory already says why.
	w.config("")
	w.policy("[[rule]]\ntool = \"bash\"\ncommand = \"ls\"\ndecision = \"deny\"\n")
	w.wants(call(), wire.StatusDenied, 3, before+2)
	r = w.call("bash", `{"command":"$(echo ls)"}`)
	if r.Status != wire.StatusPending || !r.Decision.Mandatory || r.Decision.Reason == judge.NoSandbox {
		t.Errorf("%+v", r.Decision)
	}
}
