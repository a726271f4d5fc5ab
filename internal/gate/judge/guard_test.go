package judge

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kxtools/kx/internal/gate/scope"
	"github.com/kxtools/kx/pkg/policy/mode"
	"github.com/kxtools/kx/pkg/wire"
)

func input(t testing.TB, fields map[string]string) json.RawMessage {
	t.Helper()
	b, err := wire.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func command(t testing.TB, c string) json.RawMessage {
	return input(t, map[string]string{"command": c})
}

// guarded are calls that run into each kind of protection.
var guarded = []struct{ tool, field, value, name string }{
	{"bash", "command", "cat ~/.ssh/id_rsa", "credentials"},
	{"bash", "command", "cp x .git/hooks/pre-commit", "git"},
	{"bash", "command", "rm -rf ~", "mass"},
	{"bash", "command", "mkfs.ext4 /dev/x", "disk"},
	{"bash", "command", "kx approve allow x", "human"},
	{"bash", "command", "kx call read_file '{\"path\":\"~/.ssh/id\"}'", "credentials"},
	{"bash", "command", "echo x > .kx/policy.toml", "project"},
	{"read_file", "path", "~/.aws/credentials", "credentials"},
	{"write_file", "path", ".git/config", "git"},
	{"edit_file", "path", ".claude/settings.json", "clients"},
	{"apply_patch", "patch", "*** Begin Patch\n*** Add File: .mcp.json\n+x\n*** End Patch", "project"},
	{"mcp__fs__get", "uri", "file:///root/.ssh/id", "credentials"},
}

// No rule of any scope, no mode and no grant lifts a protection, and what the
// rules say of the call is still told.
func TestNothingLifts(t *testing.T) {
	rules := map[string]string{
		"none":     "",
		"all":      "[[rule]]\ndecision = \"allow\"\n",
		"tool":     "[[rule]]\ntool = \"bash\"\ndecision = \"allow\"\n[[rule]]\ntool = \"mcp__*\"\ndecision = \"allow\"\n",
		"command":  "[[rule]]\ntool = \"bash\"\ncommand = \"*\"\ndecision = \"allow\"\n",
		"literal":  "[[rule]]\ntool = \"bash\"\ncommand = \"cat ~/.ssh/id_rsa\"\ndecision = \"allow\"\nsandbox = \"host\"\n[[rule]]\ntool = \"bash\"\ncommand = \"rm -rf ~\"\ndecision = \"allow\"\n[[rule]]\ntool = \"bash\"\ncommand = \"kx approve *\"\ndecision = \"allow\"\n",
		"path":     "[[rule]]\neffect = \"read\"\npath = \"/**\"\ndecision = \"allow\"\n[[rule]]\neffect = \"write\"\npath = \"/**\"\ndecision = \"allow\"\n[[rule]]\neffect = \"read\"\npath = \"~/.ssh/**\"\ndecision = \"allow\"\n",
		"denied":   "[[rule]]\ndecision = \"deny\"\n",
		"writable": "",
	}
	for name, text := range rules {
		o := place(t)
		o.AnyMode = true
		write(t, filepath.Join(o.Dirs.Config, "policy.toml"), text)
		if name == "writable" {
			write(t, filepath.Join(o.Dirs.Config, "config.toml"), fmt.Sprintf("[sandbox]\nwritable = [%q]\n", o.Dirs.Home+"/.ssh"))
		}
		for _, m := range mode.All {
			o.Mode = m
			j := open(t, o)
			for _, g := range guarded {
				d := j.Explain(g.tool, input(t, map[string]string{g.field: g.value}), m, true)
				if d.Decision != wire.Deny || d.Guard == nil || d.Guard.Name != g.name || d.Reason != d.Guard.Reason || d.ApprovalRequired {
					t.Errorf("rules %s, mode %s: %s %s: %s %v", name, m, g.tool, g.value, d.Decision, d.Guard)
				}
				if name == "denied" && d.BaseDecision != wire.Deny || name == "none" && g.tool == "bash" && d.BaseDecision != wire.Ask {
					t.Errorf("rules %s: %s %s: the rules say %s", name, g.tool, g.value, d.BaseDecision)
				}
				Raise(d, "x")
				if d.Decision != wire.Deny {
					t.Errorf("%s %s: raised to %s", g.tool, g.value, d.Decision)
				}
			}
		}
	}
}

// What the guard says nothing of is decided as before.
func TestLeavesAlone(t *testing.T) {
	o := place(t)
	write(t, filepath.Join(o.Dirs.Config, "policy.toml"), "[[rule]]\ntool = \"bash\"\ndecision = \"allow\"\n[[rule]]\ntool = \"bash\"\neffect = \"write\"\npath = \"**\"\ndecision = \"allow\"\n[[rule]]\ntool = \"bash\"\neffect = \"read\"\npath = \"/**\"\ndecision = \"allow\"\n")
	j := open(t, o)
	for _, c := range []string{"cat /etc/os-release", "rm -rf build", "git commit -m x", "npm install", "cat .github/x .gitignore .npmrc", "go test ./... | tee out"} {
		if d := j.Explain("bash", command(t, c), mode.Default, true); d.Decision != wire.Allow || d.Guard != nil {
			t.Errorf("%s: %s %v %s", c, d.Decision, d.Guard, d.Reason)
		}
	}
}

// Commands that want a person, unless a rule names them.
func TestRaised(t *testing.T) {
	o := place(t)
	o.AnyMode = true
	file := filepath.Join(o.Dirs.Config, "policy.toml")
	write(t, file, "[[rule]]\ntool = \"bash\"\ndecision = \"allow\"\n")
	j := open(t, o)
	for _, tt := range []struct {
		command, mode string
		base, want    wire.Verdict
	}{
		{"git push --force", mode.Default, wire.Ask, wire.Ask}, {"ls && git reset --hard", mode.Default, wire.Ask, wire.Ask}, {"sudo ls", mode.Default, wire.Ask, wire.Ask},
		{"git push --force", mode.Bypass, wire.Ask, wire.Allow}, {"git push --force", mode.DontAsk, wire.Ask, wire.Deny}, {"git push", mode.Default, wire.Allow, wire.Allow}, {"git status", mode.Default, wire.Allow, wire.Allow},
	} {
		d := j.Explain("bash", command(t, tt.command), tt.mode, true)
		if d.BaseDecision != tt.base || d.Decision != tt.want || d.Mandatory || d.ApprovalRequired != (tt.want == wire.Ask) || d.Guard != nil {
			t.Errorf("%s in %s: %s, %s: %s", tt.command, tt.mode, d.BaseDecision, d.Decision, d.Reason)
		}
	}
	write(t, file, "[[rule]]\ntool = \"bash\"\ncommand = \"git push *\"\ndecision = \"allow\"\n")
	if d := open(t, o).Explain("bash", command(t, "git push --force"), mode.Default, true); d.Decision != wire.Allow {
		t.Errorf("a rule that names it: %s: %s", d.Decision, d.Reason)
	}
	write(t, file, "[[rule]]\ntool = \"bash\"\ncommand = \"git push *\"\ndecision = \"deny\"\n")
	if d := open(t, o).Explain("bash", command(t, "git push --force"), mode.Default, true); d.Decision != wire.Deny || d.Guard != nil {
		t.Errorf("a deny: %s: %s", d.Decision, d.Reason)
	}
}

// A call through kx inside a command counts as that call.
func TestCallInside(t *testing.T) {
	o := place(t)
	o.AnyMode = true
	write(t, filepath.Join(o.Dirs.Config, "policy.toml"), "[[rule]]\ntool = \"bash\"\ndecision = \"allow\"\n[[rule]]\ntool = \"edit_file\"\ndecision = \"deny\"\n")
	j := open(t, o)
	for c, want := range map[string][2]wire.Verdict{
		`kx call read_file '{"path":"f"}'`:             {wire.Allow, wire.Allow},
		`kx call write_file '{"path":"f"}'`:            {wire.Ask, wire.Allow},
		`ls; kx call edit_file '{"path":"f"}'`:         {wire.Deny, wire.Deny},
		`kx call write_file '{"path":"/f"}'`:           {wire.Deny, wire.Deny},
		`kx call bash '{"command":"ls"}'`:              {wire.Allow, wire.Allow},
		`kx call -`:                                    {wire.Ask, wire.Allow},
		`kx call read_file "$x"`:                       {wire.Ask, wire.Allow},
		`kx -C / call read_file '{}'`:                  {wire.Ask, wire.Allow},
		`kx call bash '{"command":"kx call -"}'`:       {wire.Ask, wire.Allow},
		`sh -c "kx call edit_file '{\"path\":\"f\"}'"`: {wire.Deny, wire.Deny},
	} {
		d := j.Explain("bash", command(t, c), mode.Default, true)
		b := j.Explain("bash", command(t, c), mode.Bypass, true)
		if d.Decision != want[0] || b.Decision != want[1] || d.Guard != nil {
			t.Errorf("%s: %s, bypassing %s: %s", c, d.Decision, b.Decision, d.Reason)
		}
	}
	d := j.Explain("bash", command(t, `kx call write_file '{"path":"f"}'`), mode.Default, true)
	if pts := d.Leaves[0].Points; len(pts) != 2 || pts[1].Resource != "kx call write_file" || pts[1].Decision != wire.Ask {
		t.Errorf("%+v", pts)
	}
	var s scope.Scope
	if err := json.Unmarshal([]byte(`{"tool_deny":["read_file"]}`), &s.Capability); err != nil {
		t.Fatal(err)
	}
	o.Scope = s
	if d := open(t, o).Explain("bash", command(t, `kx call read_file '{"path":"f"}'`), mode.Default, true); d.Decision != wire.Deny {
		t.Errorf("a hidden tool: %s", d.Decision)
	}
}

// A walk leaves out what the guard closes.
func TestWalkGuarded(t *testing.T) {
	o := place(t)
	write(t, filepath.Join(o.Dirs.Config, "policy.toml"), "[[rule]]\ndecision = \"allow\"\n")
	write(t, filepath.Join(o.Workspace, ".npmrc"), "_authToken=abc\n")
	write(t, filepath.Join(o.Workspace, "a/.npmrc"), "registry=x\n")
	if err := syscall.Mkfifo(filepath.Join(o.Workspace, "real/.npmrc"), 0o600); err != nil {
		t.Fatal(err)
	}
	j := open(t, o)
	may := j.MayRead("grep_search", j.Explain("grep_search", json.RawMessage(`{"pattern":"x"}`), mode.Bypass, true))
	for name, want := range map[string]bool{"real/f": true, ".git/HEAD": true, ".ssh/id": false, "a/b.p12": false, ".npmrc": false, "a/.npmrc": true, "real/.npmrc": true} {
		if may(filepath.Join(o.Workspace, name)) != want {
			t.Errorf("%s: not %v", name, want)
		}
	}
}

// Lines that rules allow word for word stay allowed.
func TestHarmlessLines(t *testing.T) {
	o := place(t)
	var rules strings.Builder
	for _, c := range []string{"echo *", "git status *", "git log *", "find *", "cat *"} {
		fmt.Fprintf(&rules, "[[rule]]\ntool = \"bash\"\ncommand = %q\ndecision = \"allow\"\n", c)
	}
	write(t, filepath.Join(o.Dirs.Config, "policy.toml"), rules.String())
	j := open(t, o)
	for _, c := range []string{
		"git status", "cd . && git status", "env git status", "echo '$(touch x)'", "git   status", "git status # && touch x", "for f in a b; do echo $f; done", "x=$(git status); echo $x", "time git status",
		"cat real/f", "find . -name f", "echo ~/.ssh/id", "git log -- .git", "cat .gitignore", "echo 'kx approve allow x'",
	} {
		if d := j.Explain("bash", command(t, c), mode.Default, true); d.Decision != wire.Allow {
			t.Errorf("%s: %s: %s", c, d.Decision, d.Reason)
		}
	}
}
