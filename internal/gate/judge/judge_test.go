package judge

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/gate/scope"
	"github.com/kxtools/kx/internal/record/config"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/internal/record/trust"
	"github.com/kxtools/kx/pkg/policy/mode"
	"github.com/kxtools/kx/pkg/wire"
)

// place makes a workspace and a state directory for it.
func place(t testing.TB) Options {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(root, "home")
	o := Options{Workspace: filepath.Join(home, "ws"), Cwd: filepath.Join(home, "ws")}
	o.Dirs = paths.Dirs{UID: os.Getuid(), Home: home, State: filepath.Join(root, "state"), Config: filepath.Join(root, "config"), Runtime: filepath.Join(root, "run")}
	write(t, filepath.Join(o.Workspace, "real/f"), "")
	write(t, filepath.Join(o.Dirs.Config, "config.toml"), "")
	if o.State, err = state.Open(o.Dirs.State); err != nil {
		t.Fatal(err)
	}
	return o
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, o Options) *Judge {
	t.Helper()
	j, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// The session's mode is the first that is given, under every ceiling; what asks
// for more is refused, what is only a default gives way.
func TestEffectiveMode(t *testing.T) {
	for _, tt := range []struct{ max, user, project, session, asked, want string }{
		{"", "", "", "", "", "default"},
		{"", "plan", "", "", "", "plan"},
		{"", "plan", "", "", "default", "default"}, // the user's mode is no ceiling
		{"", "plan", "", "dontAsk", "", "dontAsk"},
		{"", "", "", "", "bypassPermissions", "bypassPermissions"},
		{"default", "", "", "", "acceptEdits", "widening"},
		{"default", "", "", "", "plan", "plan"},
		{"default", "bypassPermissions", "", "", "", "default"},
		{"acceptEdits", "", "", "bypassPermissions", "", "acceptEdits"},
		{"plan", "", "", "", "dontAsk", "widening"},
		{"dontAsk", "", "", "", "plan", "widening"}, // plan would ask
		{"", "", "", "default", "bypassPermissions", "widening"},
		{"", "", "", "default", "plan", "plan"},
		{"", "", "", "plan", "default", "widening"},
		{"", "", "plan", "", "", "plan"},
		{"", "", "dontAsk", "", "", "dontAsk"},
		{"", "", "dontAsk", "", "plan", "widening"},
		{"", "", "plan", "", "default", "widening"},
		{"", "", "plan", "bypassPermissions", "", "plan"},
		// Ceilings that leave nothing: each would ask or do what the other
		// forbids.
		{"dontAsk", "", "plan", "", "", "widening"},
		{"", "", "dontAsk", "plan", "", "widening"},
		{"dontAsk", "", "", "plan", "", "widening"},
	} {
		cfg := &config.Config{MaxMode: "bypassPermissions", Mode: "default", ProjectMode: tt.project}
		if tt.max != "" {
			cfg.MaxMode = tt.max
		}
		if tt.user != "" {
			cfg.Mode = tt.user
		}
		got, err := effectiveMode(cfg, Options{Mode: tt.asked, Session: tt.session})
		if err != nil {
			if fail.Exit(err) != 2 || got != "" {
				t.Errorf("%+v: %q, %v", tt, got, err)
			}
			got = fail.As(err).Code
		}
		if got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
		if tt.asked != "" {
			if m, err := effectiveMode(cfg, Options{Mode: tt.asked, Session: tt.session, AnyMode: true}); m != tt.asked || err != nil {
				t.Errorf("%+v can't be explained: %q, %v", tt, m, err)
			}
		}
	}
}

// Whatever the ceilings are, a mode that comes out lies below each of them.
func TestEffectiveModeHolds(t *testing.T) {
	all := append([]string{""}, mode.All...)
	for _, max := range mode.All {
		for _, project := range []string{"", mode.Plan, mode.DontAsk} {
			for _, session := range all {
				for _, asked := range all {
					cfg := &config.Config{MaxMode: max, Mode: mode.AcceptEdits, ProjectMode: project}
					m, err := effectiveMode(cfg, Options{Mode: asked, Session: session})
					if err != nil {
						continue
					}
					for _, ceiling := range []string{max, project, session} {
						if ceiling != "" && !mode.Narrows(ceiling, m) {
							t.Errorf("max %s, project %s, session %s, asked %s: %s", max, project, session, asked, m)
						}
					}
				}
			}
		}
	}
}

func TestNarrow(t *testing.T) {
	j := &Judge{Mode: mode.Default}
	for asked, want := range map[string]string{"": "default", "default": "default", "plan": "plan", "dont-ask": "dontAsk", "acceptEdits": "widening", "bypass-permissions": "widening", "yolo": "usage"} {
		got, err := j.Narrow(asked)
		if err != nil {
			got = fail.As(err).Code
		}
		if got != want || err != nil && fail.Exit(err) != 2 {
			t.Errorf("%q: %q, %v", asked, got, err)
		}
	}
	if _, err := j.Narrow(strings.Repeat("x", 9000)); len(err.Error()) > 200 {
		t.Error("the message has all of it")
	}
}

// A trusted project speaks, under the user's ceiling; a damaged record of trust
// may have held a deny, so nothing is judged.
func TestTrust(t *testing.T) {
	o := place(t)
	write(t, filepath.Join(o.Workspace, ".kx/config.toml"), "mode = \"plan\"\n[limits]\nmax_calls_per_turn = 7\n")
	write(t, filepath.Join(o.Workspace, ".kx/policy.toml"), "[[rule]]\ntool = \"todo_write\"\ndecision = \"deny\"\n")
	input := json.RawMessage(`{}`)
	if j := open(t, o); j.Mode != mode.Default || j.Config.Limits.MaxCallsPerTurn != 256 || j.Explain("todo_write", input, j.Mode, true).Decision != wire.Allow {
		t.Errorf("a project that is not trusted has spoken: %+v", j)
	}
	store := trust.New(o.State, time.Now)
	seen, err := trust.Read(o.Workspace)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Add(o.Workspace, trust.LevelFiles, seen); err != nil {
		t.Fatal(err)
	}
	if j := open(t, o); j.Mode != mode.Plan || j.Config.Limits.MaxCallsPerTurn != 7 || j.Explain("todo_write", input, j.Mode, true).Decision != wire.Deny {
		t.Errorf("a trusted project has not spoken: %+v", j)
	}
	records, _ := filepath.Glob(filepath.Join(o.Dirs.State, "trust", "*.json"))
	if len(records) != 1 {
		t.Fatal(records)
	}
	write(t, records[0], "{}")
	if _, err := Open(o); fail.Exit(err) != 2 || fail.As(err).Hint != "kx trust add" {
		t.Errorf("got %v", err)
	}
}

func TestOpen(t *testing.T) {
	o := place(t)
	o.Cwd = o.Dirs.Home // outside the workspace: calls start at its root
	if j := open(t, o); j.Cwd != o.Workspace {
		t.Errorf("cwd %s", j.Cwd)
	}
	for file, bad := range map[string]string{"config.toml": "x = 1\n", "policy.toml": "[[rule]]\n"} {
		write(t, filepath.Join(o.Dirs.Config, file), bad)
		if _, err := Open(o); fail.Exit(err) != 2 {
			t.Errorf("%s: %v", file, err)
		}
		write(t, filepath.Join(o.Dirs.Config, file), "")
	}
}

func TestCanonical(t *testing.T) {
	o := place(t)
	if err := os.Symlink("real", filepath.Join(o.Workspace, "link")); err != nil {
		t.Fatal(err)
	}
	j := open(t, o)
	for _, tt := range []struct{ tool, input, want string }{
		{"read_file", `{"path":"link/f","limit":1}`, `{"limit":1,"path":"WS/real/f"}`},
		{"read_file", `{"path":"~/ws/new"}`, `{"path":"WS/new"}`},
		{"read_file", `{}`, `{}`},
		{"list_files", `{}`, `{"path":"WS"}`},
		{"glob_search", `{"pattern":"../*"}`, `{"path":"WS","pattern":"../*"}`},
		{"bash", `{"command":"cd link","cwd":"link"}`, `{"command":"cd link","cwd":"WS/real"}`},
		{"bash", `{"command":"ls"}`, `{"command":"ls"}`},
		{"todo_write", `{"path":"link"}`, `{"path":"link"}`},
		{"read_file", `{"path":1}`, "read_file: path is not a string"},
		{"read_file", `{"path":"a\u0000"}`, "read_file: the path has a NUL byte"},
		{"read_file", `[]`, "read_file: the input is not a JSON object"},
		{"apply_patch", `{"patch":"*** Begin Patch\n*** Delete File: link/f\n*** End Patch"}`, `{"patch":"*** Begin Patch\n*** Delete File: link/f\n*** End Patch"}`},
		{"apply_patch", `{"patch":"x"}`, "apply_patch: it names no file: it is neither a *** Begin Patch nor a unified diff"},
		{"apply_patch", `{"patch":1}`, "apply_patch: the input is not an object with a patch"},
	} {
		got, err := j.Canonical(tt.tool, json.RawMessage(tt.input))
		if err != nil {
			if fail.Exit(err) != 2 {
				t.Errorf("%s: exit %d", tt.input, fail.Exit(err))
			}
			got = json.RawMessage(err.Error())
		}
		if string(got) != strings.ReplaceAll(tt.want, "WS", o.Workspace) {
			t.Errorf("%s %s: %s", tt.tool, tt.input, got)
		}
	}
}

// A symlink that moves between the decision and the call changes neither.
func TestOnce(t *testing.T) {
	o := place(t)
	link := filepath.Join(o.Workspace, "link")
	write(t, filepath.Join(o.Dirs.Home, "outside/f"), "")
	point := func(to string) {
		os.Remove(link)
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	input := json.RawMessage(`{"path":"link/f"}`)
	j := open(t, o)
	point("real")
	once := j.Once()
	before, err := once.Canonical("read_file", input)
	if err != nil {
		t.Fatal(err)
	}
	point(filepath.Join(o.Dirs.Home, "outside"))
	d := once.Explain("read_file", input, j.Mode, true)
	if d.Decision != wire.Allow || d.Points[0].Resource != "real/f" || string(before) != `{"path":"`+o.Workspace+`/real/f"}` {
		t.Errorf("%s is what the tool gets, %+v what was decided", before, d.Points)
	}
	if d := j.Once().Explain("read_file", input, j.Mode, true); d.Decision != wire.Ask {
		t.Errorf("the next call is %s", d.Decision)
	}
	if got, _ := j.Canonical("read_file", input); string(got) == string(before) {
		t.Error("the judge itself remembers")
	}
}

// The tool gets each path of a patch as it was judged, even if a link moves.
func TestJudged(t *testing.T) {
	o := place(t)
	link := filepath.Join(o.Workspace, "link")
	if err := os.Symlink("real", link); err != nil {
		t.Fatal(err)
	}
	input := json.RawMessage(`{"patch":"*** Begin Patch\n*** Update File: link/f\n*** Move to: ../g\n*** Add File: ~/h\n+x\n*** End Patch"}`)
	once := open(t, o).Once()
	d := once.Explain("apply_patch", input, mode.Default, true)
	if len(d.Points) != 3 || d.Points[0].Resource != "real/f" || d.Decision != wire.Deny {
		t.Errorf("%+v", d)
	}
	write(t, filepath.Join(o.Dirs.Home, "outside/f"), "")
	if err := errors.Join(os.Remove(link), os.Symlink(filepath.Join(o.Dirs.Home, "outside"), link)); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"link/f": o.Workspace + "/real/f", "../g": filepath.Dir(o.Workspace) + "/g", "~/h": o.Dirs.Home + "/h"}
	if got := once.Judged("apply_patch", input); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := once.Judged("write_file", input); got != nil {
		t.Errorf("got %v", got)
	}
}

// Who may write a file may not see it for that.
func TestMayReadOfWriters(t *testing.T) {
	o := place(t)
	write(t, filepath.Join(o.Dirs.Config, "policy.toml"), "[[rule]]\neffect = \"read\"\npath = \"**/.env\"\ndecision = \"deny\"\n")
	j := open(t, o)
	for _, name := range []string{"apply_patch", "edit_file"} {
		may := j.MayRead(name, &wire.Decision{EffectiveMode: mode.Default, BaseDecision: wire.Allow})
		if may(o.Workspace+"/.env") || !may(o.Workspace+"/f") {
			t.Errorf("%s: .env %t, f %t", name, may(o.Workspace+"/.env"), may(o.Workspace+"/f"))
		}
	}
}

// What a tool changes without being told so is decided file by file.
func TestMayWrite(t *testing.T) {
	o := place(t)
	write(t, filepath.Join(o.Dirs.Config, "policy.toml"), `
[[rule]]
effect = "write"
path = "gen/**"
decision = "deny"
[[rule]]
effect = "write"
path = "docs/**"
decision = "ask"
[[rule]]
effect = "write"
path = "free/**"
decision = "allow"
[[rule]]
tool = "lsp_rename"
path = "named/**"
input.new_name = "evil"
decision = "deny"
`)
	j := open(t, o)
	input := func(name string) json.RawMessage {
		return json.RawMessage(`{"path":"` + o.Workspace + `/a.go","new_name":"` + name + `"}`)
	}
	asked := func(m string, in json.RawMessage) func(string) bool {
		return j.MayWrite("lsp_rename", in, j.Explain("lsp_rename", in, m, true))
	}
	for _, tt := range []struct {
		what string
		may  func(string) bool
		want string // the letters of the files that may be written
	}{
		{"allowed by a person", asked(mode.Default, input("b")), "afn"},
		{"whose answer is of one name", asked(mode.Default, input("evil")), "af"},
		{"in bypassPermissions", asked(mode.Bypass, input("b")), "adfn"},
		{"not asked for", j.MayWrite("lsp_rename", input("b"), &wire.Decision{EffectiveMode: mode.Default, BaseDecision: wire.Allow}), "f"},
		{"an input that can't be read", j.MayWrite("lsp_rename", json.RawMessage(`[`), j.Explain("lsp_rename", input("b"), mode.Default, true)), ""},
	} {
		got := ""
		for _, f := range []string{"a.go", "docs/d", "free/f", "gen/g", ".git/hooks/h", "named/n", "../outside"} {
			if tt.may(filepath.Join(o.Workspace, f)) {
				got += string(filepath.Base(f)[0])
			}
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.what, got, tt.want)
		}
	}
}

// A rename that is not made shows a file to whom its own rules would.
func TestMayReadOfADryRun(t *testing.T) {
	o := place(t)
	write(t, filepath.Join(o.Dirs.Config, "policy.toml"), "[[rule]]\ntool = \"lsp_*\"\npath = \"secret/**\"\ndecision = \"deny\"\n")
	j := open(t, o)
	for dry, guarded := range map[string]bool{"true": false, "false": true} {
		d := j.Explain("lsp_rename", json.RawMessage(`{"path":".git/hooks/h.py","dry_run":`+dry+`}`), mode.Default, true)
		if (d.Guard != nil) != guarded {
			t.Errorf("dry_run %s: %+v", dry, d.Guard)
		}
	}
	for _, m := range []string{mode.Default, mode.Plan, mode.DontAsk} {
		may := j.MayRead("lsp_rename", j.Explain("lsp_rename", json.RawMessage(`{"symbol":"a","dry_run":true}`), m, true))
		if may(o.Workspace+"/secret/f") || may(filepath.Dir(o.Workspace)+"/f") || !may(o.Workspace+"/f") {
			t.Errorf("in %s: secret/f %t, f %t", m, may(o.Workspace+"/secret/f"), may(o.Workspace+"/f"))
		}
	}
}

func TestAction(t *testing.T) {
	for _, tt := range []struct{ tool, input, want string }{
		{"bash", `{"timeout_ms":5,"description":"d","command":"ls","cwd":"/"}`, `{"command":"ls","cwd":"/"}`},
		{"write_file", `{"path":"a","description":"d"}`, `{"path":"a","description":"d"}`},
	} {
		if got, err := Action(tt.tool, json.RawMessage(tt.input)); err != nil || string(got) != tt.want {
			t.Errorf("%s: %s, %v", tt.tool, got, err)
		}
	}
}

// What is raised is asked for in every mode that asks; a deny stays one.
func TestRaise(t *testing.T) {
	o := place(t)
	write(t, filepath.Join(o.Dirs.Config, "policy.toml"), "[[rule]]\ntool = \"todo_write\"\ndecision = \"deny\"\n")
	o.Scope = scope.Scope{Credential: scope.Credential{MCPServerDeny: scope.List{"git"}}}
	j := open(t, o)
	for _, tt := range []struct {
		tool, mode string
		want       wire.Verdict
		reason     string
		mandatory  bool
	}{
		{"get_goal", mode.Default, wire.Ask, "why", true},
		{"get_goal", mode.Bypass, wire.Ask, "why", true},
		{"get_goal", mode.DontAsk, wire.Deny, "why", true},
		{"write_file", mode.AcceptEdits, wire.Ask, "why", true},
		{"write_file", mode.Plan, wire.Deny, "why", true},
		{"todo_write", mode.Bypass, wire.Deny, "deny by ", false},
		{"mcp__git__push", mode.Bypass, wire.Deny, ReasonCredential, false},
	} {
		d := j.Explain(tt.tool, json.RawMessage(`{"path":"a"}`), tt.mode, true)
		Raise(d, "why")
		if d.Decision != tt.want || !strings.HasPrefix(d.Reason, tt.reason) || d.Mandatory != tt.mandatory || d.ApprovalRequired != (tt.want == wire.Ask) {
			t.Errorf("%s in %s: %+v", tt.tool, tt.mode, d)
		}
	}
	d := &wire.Decision{Tool: "get_goal", Decision: wire.Ask, BaseDecision: wire.Ask, Mandatory: true, Reason: "first"}
	if Raise(d, "why"); d.Reason != "first" {
		t.Errorf("the reason is %q", d.Reason)
	}
}
