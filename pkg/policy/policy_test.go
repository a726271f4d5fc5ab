package policy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/policy/mode"
	"github.com/kxtools/kx/pkg/policy/rulefile"
	"github.com/kxtools/kx/pkg/wire"
)

// testEnv has its workspace at /ws, with a link /ws/link that leads to /etc and
// a link /ws/dotenv that leads to /ws/.env.
var testEnv = &policy.Env{Workspace: "/ws", Cwd: "/ws", Home: "/home/u", Resolver: fakeFiles{
	links: map[string]string{"/ws/link": "/etc", "/ws/dotenv": "/ws/.env"},
	files: []string{"/ws/a.go", "/ws/b.go", "/ws/.env", "/ws/sub", "/ws/sub/x", "/ws/src", "/ws/src/x.go", "/ws/out", "/ws/out/x"},
}}

type fakeFiles struct {
	links map[string]string
	files []string
}

func (f fakeFiles) Resolve(p string) (string, error) {
	p = filepath.Clean(p)
	for from, to := range f.links {
		if p == from {
			return to, nil
		}
		if rest, ok := strings.CutPrefix(p, from+"/"); ok {
			return to + "/" + rest, nil
		}
	}
	return p, nil
}

func (f fakeFiles) Glob(pattern string) (out []string, err error) {
	for _, name := range f.files {
		if ok, _ := filepath.Match(pattern, name); ok {
			out = append(out, name)
		}
	}
	return out, nil
}

// rules parses TOML of the user's scope, and behind a line "---" of the project's.
func rules(t testing.TB, text string) *policy.Set {
	t.Helper()
	var all []policy.Rule
	for i, part := range strings.SplitN(text, "\n---\n", 2) {
		f, err := rulefile.Parse([]byte(part), []string{"user.toml", "project.toml"}[i], []policy.Scope{policy.User, policy.Project}[i])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f.Rules...)
	}
	s, err := policy.Compile(all)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ruleText writes a [[rule]] from "key=value" words.
func ruleText(list ...string) string {
	var b strings.Builder
	for _, r := range list {
		if r == "---" {
			b.WriteString("\n---\n")
			continue
		}
		b.WriteString("[[rule]]\n")
		for _, kv := range strings.Split(r, "; ") {
			k, v, _ := strings.Cut(kv, "=")
			if v != "true" {
				v = fmt.Sprintf("%q", v)
			}
			fmt.Fprintf(&b, "%s = %s\n", k, v)
		}
	}
	return b.String()
}

func input(kv ...string) []byte {
	m := map[string]any{}
	for i := 0; i+1 < len(kv); i += 2 {
		m[kv[i]] = kv[i+1]
	}
	b, _ := json.Marshal(m)
	return b
}

func TestExplain(t *testing.T) {
	bashOK := "tool=bash; decision=allow"
	for _, tt := range []struct {
		name  string
		rules []string
		tool  string
		input []byte
		mode  string
		want  string // decision, "!" if mandatory, reason in parentheses if it matters
	}{
		// The cases that show how scopes, effects and conditions work together.
		{"project denies writes below dist", []string{bashOK, "---", "effect=write; path=dist/**; decision=deny"}, "bash", input("command", "echo a>dist/x"), "", "deny"},
		{"a write elsewhere is judged as write_file", []string{bashOK, "---", "effect=write; path=dist/**; decision=deny"}, "bash", input("command", "echo a>x"), "", "ask"},
		{"ls stays allowed", []string{bashOK, "---", "effect=write; path=dist/**; decision=deny"}, "bash", input("command", "ls"), "", "allow"},
		{"a condition beats a bare name", []string{"tool=write_file; decision=deny", "effect=write; path=docs/**; decision=allow"}, "write_file", input("path", "docs/x", "content", ""), "", "allow"},
		{"elsewhere the name decides", []string{"tool=write_file; decision=deny", "effect=write; path=docs/**; decision=allow"}, "write_file", input("path", "src/x", "content", ""), "", "deny"},
		{"reading is not copying out", []string{"effect=read; decision=allow"}, "bash", input("command", "cp a /tmp/b"), "", "ask"},
		{"reading is not all that an MCP tool does", []string{"effect=read; decision=allow"}, "mcp__s__t", input("a", "b"), "", "ask"},
		{"only linear: linear", []string{"tool=mcp__*; decision=deny", "---", "tool=mcp__linear__*; decision=allow"}, "mcp__linear__get", input(), "", "allow"},
		{"only linear: others", []string{"tool=mcp__*; decision=deny", "---", "tool=mcp__linear__*; decision=allow"}, "mcp__git__push", input(), "", "deny"},
		{"final deny", []string{"effect=read; path=**/.env*; decision=deny; final=true", "tool=read_file; decision=allow"}, "read_file", input("path", ".env"), "", "deny"},
		{"final deny by scope", []string{"effect=read; path=**/.env*; decision=deny; final=true", "---", "tool=read_file; path=.env; decision=allow"}, "read_file", input("path", ".env"), "", "deny"},
		{"a plain deny gives way to a higher scope", []string{"effect=read; path=**/.env*; decision=deny", "---", "tool=read_file; path=.env; decision=allow"}, "read_file", input("path", ".env"), "", "allow"},

		// Built-in rules.
		{"read", nil, "read_file", input("path", "a"), "", "allow"},
		{"write", nil, "write_file", input("path", "a"), "", "ask"},
		{"bash", nil, "bash", input("command", "ls"), "", "ask"},
		{"mcp", nil, "mcp__a__b", nil, "", "ask"},
		{"browser", nil, "browser_click", nil, "", "ask"},
		{"unknown", nil, "raed_file", nil, "", "deny (unknown_tool)"},
		{"bad mcp name", nil, "mcp__a", nil, "", "deny (unknown_tool)"},
		{"todo", nil, "todo_write", input(), "", "allow"},

		// A dry run of a rename reads.
		{"rename", nil, "lsp_rename", []byte(`{"path":"a","new_name":"b"}`), "", "ask"},
		{"rename by symbol", nil, "lsp_rename", []byte(`{"symbol":"a","new_name":"b"}`), "acceptEdits", "ask"},
		{"rename: not dry", nil, "lsp_rename", []byte(`{"path":"a","dry_run":false}`), "", "ask"},
		{"rename: no boolean", nil, "lsp_rename", []byte(`{"path":"a","dry_run":"true"}`), "", "ask"},
		{"rename: in plan mode", nil, "lsp_rename", []byte(`{"path":"a"}`), "plan", "deny"},
		{"dry run", nil, "lsp_rename", []byte(`{"path":"a","dry_run":true}`), "", "allow"},
		{"dry run by symbol", nil, "lsp_rename", []byte(`{"symbol":"a","dry_run":true}`), "dontAsk", "allow"},
		{"dry run in plan mode", nil, "lsp_rename", []byte(`{"path":"a","dry_run":true}`), "plan", "allow"},
		{"dry run outside", nil, "lsp_rename", []byte(`{"path":"/etc/a","dry_run":true}`), "", "ask (outside_workspace)"},
		{"dry run of what may not be read", []string{"effect=read; path=.env; decision=deny"}, "lsp_rename", []byte(`{"path":".env","dry_run":true}`), "bypassPermissions", "deny"},
		{"dry run of what may not be written", []string{"effect=write; decision=deny"}, "lsp_rename", []byte(`{"path":"a","dry_run":true}`), "", "allow"},
		{"dry run, denied by name", []string{"tool=lsp_*; decision=deny"}, "lsp_rename", []byte(`{"path":"a","dry_run":true}`), "", "deny"},
		{"nothing else has a dry run", nil, "write_file", []byte(`{"path":"a","dry_run":true}`), "", "ask"},

		// Paths.
		{"read outside", nil, "read_file", input("path", "/etc/passwd"), "", "ask (outside_workspace)"},
		{"read outside needs a rule that says where", []string{"tool=read_file; decision=allow"}, "read_file", input("path", "/etc/passwd"), "", "ask (outside_workspace)"},
		{"read outside by an absolute rule", []string{"tool=read_file; path=/etc/**; decision=allow"}, "read_file", input("path", "/etc/passwd"), "", "allow"},
		{"anywhere means the workspace in an allow", []string{"tool=read_file; path=**/passwd; decision=allow"}, "read_file", input("path", "/etc/passwd"), "", "ask"},
		{"anywhere means anywhere in a deny", []string{"tool=read_file; path=**/passwd; decision=deny"}, "read_file", input("path", "/etc/passwd"), "", "deny"},
		{"write outside", []string{"tool=write_file; decision=allow", "effect=write; path=/tmp/**; decision=allow"}, "write_file", input("path", "/tmp/x"), "bypassPermissions", "deny (outside_workspace)"},
		{"dotdot", nil, "read_file", input("path", "a/../../etc/passwd"), "", "ask (outside_workspace)"},
		{"link outside", nil, "read_file", input("path", "link/passwd"), "", "ask (outside_workspace)"},
		{"link to a denied file", []string{"effect=read; path=.env; decision=deny"}, "read_file", input("path", "dotenv"), "", "deny"},
		{"an allow needs both forms", []string{"tool=write_file; path=dotenv; decision=allow"}, "write_file", input("path", "dotenv"), "", "ask"},
		{"an ask in one form does not outrank a deny", []string{"effect=read; path=.env; decision=deny", "tool=read_file; path=dotenv; input.path=dotenv; decision=ask"}, "read_file", input("path", "dotenv"), "", "deny"},
		{"home", []string{"effect=read; path=~/.ssh/**; decision=deny"}, "read_file", input("path", "/home/u/.ssh/id"), "", "deny"},
		{"a folder with its slash", []string{"effect=write; path=docs/; decision=allow"}, "write_file", input("path", "docs/a/b"), "", "allow"},
		{"the folder itself", []string{"effect=read; path=secret/**; decision=deny"}, "list_files", input("path", "secret"), "", "deny"},
		{"default path", []string{"effect=read; path=.; decision=deny"}, "list_files", input(), "", "deny"},
		{"nul", nil, "read_file", []byte(`{"path":"a\u0000b"}`), "", "ask"},
		{"effect does not lift the name", []string{"tool=edit_file; decision=deny", "effect=write; decision=allow"}, "edit_file", input("path", "a"), "", "allow"},
		{"patch: all files count", []string{"effect=write; path=docs/**; decision=allow"}, "apply_patch", input("patch", "*** Begin Patch\n*** Add File: docs/a\n+x\n*** Update File: src/b\n*** End Patch"), "", "ask"},
		{"patch: allowed", []string{"effect=write; path=docs/**; decision=allow"}, "apply_patch", input("patch", "--- a/docs/a\n+++ b/docs/a\n@@ -1 +1 @@"), "", "allow"},
		{"patch: denied", []string{"effect=write; path=.env; decision=deny"}, "apply_patch", input("patch", "*** Move to: .env"), "", "deny"},
		{"patch: unreadable", []string{"tool=apply_patch; decision=allow"}, "apply_patch", input("patch", "x"), "", "ask"},

		// Bash.
		{"every leaf needs an allow", []string{"tool=bash; command=git status *; decision=allow"}, "bash", input("command", "git status && rm x"), "", "ask"},
		{"no rest", []string{"tool=bash; command=git status *; decision=allow"}, "bash", input("command", "git status"), "", "allow"},
		{"exact", []string{"tool=bash; command=git status; decision=allow"}, "bash", input("command", "git status -s"), "", "ask"},
		{"deny in any leaf", []string{bashOK, "tool=bash; command=touch *; decision=deny"}, "bash", input("command", "echo $(touch x)"), "", "deny"},
		{"deny by any path", []string{bashOK, "tool=bash; command=touch *; decision=deny"}, "bash", input("command", "/usr/bin/touch x"), "", "deny"},
		{"allow as written only", []string{"tool=bash; command=ls *; decision=allow"}, "bash", input("command", "/tmp/ls"), "", "ask"},
		{"deny through a wrapper", []string{bashOK, "tool=bash; command=touch *; decision=deny"}, "bash", input("command", "timeout 5 touch x"), "", "deny"},
		{"deny of the wrapper", []string{bashOK, "tool=bash; command=timeout *; decision=deny"}, "bash", input("command", "timeout 5 ls"), "", "deny"},
		{"computed command", []string{bashOK, "tool=bash; command=touch *; decision=deny"}, "bash", input("command", "$(echo touch) x"), "", "ask!"},
		{"computed command in bypass", []string{bashOK, "tool=bash; command=touch *; decision=deny"}, "bash", input("command", "$(echo touch) x"), "bypassPermissions", "ask!"},
		{"computed word of a deny", []string{bashOK, "tool=bash; command=git push *; decision=deny"}, "bash", input("command", "git $x"), "", "ask!"},
		{"opaque without denies", []string{bashOK}, "bash", input("command", "python3 -c 1"), "", "allow"},
		{"opaque with denies", []string{bashOK, "tool=bash; command=touch *; decision=deny"}, "bash", input("command", "python3 -c 1"), "", "ask!"},
		{"not understood", []string{bashOK}, "bash", input("command", "echo 'a"), "", "ask"},
		{"not understood with denies", []string{bashOK, "tool=bash; command=touch *; decision=deny"}, "bash", input("command", "echo 'a"), "", "ask!"},
		{"read outside", []string{bashOK}, "bash", input("command", "cat /etc/shadow"), "", "ask"},
		{"read inside", []string{bashOK}, "bash", input("command", "cat a.go"), "", "allow"},
		{"read through a link", []string{bashOK}, "bash", input("command", "cat link/shadow"), "", "ask"},
		{"glob inside", []string{bashOK}, "bash", input("command", "cat *.go"), "", "allow"},
		{"glob that meets a deny", []string{bashOK, "effect=read; path=**/.env; decision=deny"}, "bash", input("command", "cat .e*"), "", "deny"},
		{"recursive read above a deny", []string{bashOK, "effect=read; path=**/.env; decision=deny"}, "bash", input("command", "grep -r x ."), "", "ask!"},
		{"redirect from a denied file", []string{bashOK, "effect=read; path=**/.env; decision=deny"}, "bash", input("command", "while read l; do echo $l; done < .env"), "", "deny"},
		{"operand of an unknown program", []string{bashOK, "effect=read; path=**/.env; decision=deny"}, "bash", input("command", "frob .env"), "", "deny"},
		{"write deny of an unknown program", []string{bashOK, "effect=write; path=dist/**; decision=deny"}, "bash", input("command", "frob dist/x"), "", "ask!"},
		{"write outside", []string{bashOK, "effect=write; decision=allow"}, "bash", input("command", "echo a > /var/tmp/x"), "", "ask"},
		{"write outside by an absolute rule", []string{bashOK, "effect=write; path=/var/tmp/**; decision=allow"}, "bash", input("command", "echo a > /var/tmp/x"), "", "allow"},
		{"net", []string{bashOK}, "bash", input("command", "curl https://x.org/a"), "", "ask"},
		{"net by web_fetch", []string{bashOK, "tool=web_fetch; url=https://x.org/**; decision=allow"}, "bash", input("command", "curl https://x.org/a"), "", "allow"},
		{"cd counts", []string{bashOK, "effect=write; path=web/out; decision=deny"}, "bash", input("command", "cd web && echo a > out"), "", "deny"},
		{"neutral alone", nil, "bash", input("command", "cd . && true"), "", "allow"},
		{"neutral is visible to denies", []string{"tool=bash; command=cd *; decision=deny"}, "bash", input("command", "cd ."), "", "deny"},
		{"redirect without a command", []string{"tool=bash; command=echo *; decision=allow", "effect=write; decision=allow"}, "bash", input("command", "> x"), "", "ask"},
		{"cwd", []string{bashOK, "effect=write; path=sub/x; decision=deny"}, "bash", input("command", "echo a > x", "cwd", "sub"), "", "deny"},
		{"cwd outside", []string{bashOK}, "bash", input("command", "ls", "cwd", "/etc"), "", "ask"},
		{"acceptEdits does not lift a redirect", []string{bashOK}, "bash", input("command", "echo a > x"), "acceptEdits", "ask"},
		{"a bare star speaks for what bash writes", []string{"tool=*; decision=allow"}, "bash", input("command", "echo a > x"), "", "allow"},
		{"effect exec", []string{"effect=exec; decision=deny"}, "bash", input("command", "ls"), "", "deny"},

		// Other conditions.
		{"input", []string{"tool=mcp__git__push; input.branch=main; decision=deny", "tool=mcp__git__*; decision=allow"}, "mcp__git__push", input("branch", "main"), "", "deny"},
		{"input elsewhere", []string{"tool=mcp__git__push; input.branch=main; decision=deny", "tool=mcp__git__*; decision=allow"}, "mcp__git__push", input("branch", "x"), "", "allow"},
		{"input rest", []string{"tool=mcp__git__push; input.branch=rel*; decision=deny", "tool=mcp__git__*; decision=allow"}, "mcp__git__push", input("branch", "release"), "", "deny"},
		{"path anywhere in an MCP input", []string{"tool=mcp__*; decision=allow", "effect=read; path=**/.env; decision=deny"}, "mcp__f__read", []byte(`{"a":[{"b":"file:///ws/%2eenv"}]}`), "", "deny"},
		{"url", []string{"tool=web_fetch; url=https://*.example.com/**; decision=deny"}, "web_fetch", input("url", "https://a.example.com/x?y"), "", "deny"},
		{"url host is not a path", []string{"tool=web_fetch; decision=ask", "tool=web_fetch; url=https://*.example.com/**; decision=allow"}, "web_fetch", input("url", "https://evil.org/.example.com/x"), "", "ask"},
		{"url user", []string{"tool=web_fetch; decision=ask", "tool=web_fetch; url=https://example.com/**; decision=allow"}, "web_fetch", input("url", "https://example.com@evil.org/"), "", "ask"},
		{"url port", []string{"tool=web_fetch; decision=ask", "tool=web_fetch; url=https://example.com/**; decision=allow"}, "web_fetch", input("url", "https://EXAMPLE.com:443/a"), "", "allow"},

		// Modes.
		{"plan reads", nil, "read_file", input("path", "a"), "plan", "allow"},
		{"plan does not run", []string{bashOK}, "bash", input("command", "ls"), "plan", "deny"},
		{"bypass", nil, "bash", input("command", "ls"), "bypassPermissions", "allow"},
		{"bypass keeps denies", []string{"tool=bash; decision=deny"}, "bash", input("command", "ls"), "bypassPermissions", "deny"},
		{"dontAsk", nil, "write_file", input("path", "a"), "dontAsk", "deny"},
		{"acceptEdits", nil, "edit_file", input("path", "a"), "acceptEdits", "allow"},
		{"plan mode keeps asking to leave", nil, "exit_plan_mode", input(), "plan", "ask"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := tt.mode
			if m == "" {
				m = mode.Default
			}
			d := rules(t, ruleText(tt.rules...)).Explain(policy.Call{Tool: tt.tool, Input: tt.input}, m, testEnv)
			got := string(d.Decision)
			if d.Mandatory {
				got += "!"
			}
			if strings.Contains(tt.want, "(") {
				got += " (" + d.Reason + ")"
			}
			if got != tt.want {
				b, _ := json.MarshalIndent(d, "", "  ")
				t.Errorf("got %s, want %s\n%s", got, tt.want, b)
			}
		})
	}
}

// Hook updates and approvals stand in the session but never lift a deny.
func TestDynamicRules(t *testing.T) {
	for _, tt := range []struct{ static, want wire.Verdict }{{wire.Deny, wire.Deny}, {wire.Ask, wire.Allow}} {
		s, err := policy.Compile([]policy.Rule{
			{Tool: "bash", Decision: tt.static, Scope: policy.User},
			{Tool: "bash", Command: "ls", Decision: wire.Allow, Scope: policy.Session, Origin: policy.Approval},
		})
		if err != nil {
			t.Fatal(err)
		}
		d := s.Explain(policy.Call{Tool: "bash", Input: input("command", "ls")}, mode.Default, testEnv)
		if d.Decision != tt.want {
			t.Errorf("static %s: got %s, want %s", tt.static, d.Decision, tt.want)
		}
	}
}

func TestSourceIsTheFirst(t *testing.T) {
	s := rules(t, ruleText("tool=bash; decision=deny", "tool=bash; decision=deny"))
	d := s.Explain(policy.Call{Tool: "bash", Input: input("command", "ls")}, mode.Default, testEnv)
	if d.Rule.Source != "user.toml:1" {
		t.Errorf("named %s", d.Rule.Source)
	}
}

func TestNarrows(t *testing.T) {
	want := map[string]string{
		"bypassPermissions": "default acceptEdits bypassPermissions plan dontAsk",
		"acceptEdits":       "default acceptEdits plan dontAsk",
		"default":           "default plan dontAsk",
		"plan":              "plan",
		"dontAsk":           "dontAsk",
	}
	for _, from := range mode.All {
		var got []string
		for _, to := range mode.All {
			if mode.Narrows(from, to) {
				got = append(got, to)
			}
		}
		if strings.Join(got, " ") != want[from] {
			t.Errorf("from %s: %v", from, got)
		}
	}
}

// The published matrix, over every name of the catalogue and the classes that
// it speaks of.
func TestMatrixGolden(t *testing.T) {
	s, _ := policy.Compile(nil)
	var b strings.Builder
	names := append(catalogue.Names(), "mcp__server__tool")
	for _, row := range s.Matrix(names, func(string) bool { return false }, testEnv) {
		fmt.Fprintf(&b, "%-30s", row.Tool)
		for _, m := range mode.All {
			c := row.Modes[m]
			star := ""
			if c.Conditional {
				star = "*"
			}
			fmt.Fprintf(&b, " %-6s", string(c.Decision)+star)
			e := c.ModeEffect
			if e == "" {
				e = "-"
			}
			fmt.Fprintf(&b, " %-48s", e)
		}
		fmt.Fprintf(&b, " %s\n", row.Rule.Tool)
	}
	golden := filepath.Join("testdata", "matrix.golden")
	if os.Getenv("KX_UPDATE") != "" {
		os.WriteFile(golden, []byte(b.String()), 0o644)
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Error(diff)
	}
}

// The classes of the published table, so that the golden file is not its own
// judge.
func TestMatrixClasses(t *testing.T) {
	s, _ := policy.Compile(nil)
	deny, _ := policy.Compile([]policy.Rule{{Tool: "bash", Decision: wire.Deny, Scope: policy.User}})
	for _, tt := range []struct {
		set   *policy.Set
		tools string
		want  string // default acceptEdits bypassPermissions plan dontAsk
	}{
		{deny, "bash", "deny deny deny deny deny"},
		{s, "bash", "ask ask allow deny deny"},
		{s, "write_file edit_file apply_patch", "ask allow allow deny deny"},
		{s, "mcp__x__y", "ask ask allow deny deny"},
		{s, "list_mcp_resources list_mcp_resource_templates read_mcp_resource", "ask ask allow ask deny"},
		{s, "read_file list_files glob_search grep_search schedule_list schedule_get get_goal web_fetch web_search", "allow allow allow allow allow"},
		{s, "exit_plan_mode", "ask ask allow ask deny"},
		{s, "store_asset task_create wake_after create_goal update_goal use_skill notify_operator", "allow allow allow deny allow"},
	} {
		for _, tool := range strings.Fields(tt.tools) {
			var got []string
			for _, m := range mode.All {
				v := tt.set.Decide(tool, m)
				got = append(got, string(v))
				if d := tt.set.Explain(policy.Call{Tool: tool}, m, testEnv); d.Decision != v {
					t.Errorf("%s in %s: Decide says %s, Explain %s", tool, m, v, d.Decision)
				}
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("%s: got %v, want %s", tool, got, tt.want)
			}
		}
	}
}

func TestMatrixConditional(t *testing.T) {
	s := rules(t, ruleText("tool=write_file; path=docs/**; decision=allow"))
	row := s.Matrix([]string{"write_file"}, func(string) bool { return true }, testEnv)[0]
	var got []string
	for _, m := range mode.All {
		c := row.Modes[m]
		got = append(got, fmt.Sprintf("%s:%v", c.Decision, c.Conditional))
	}
	if want := "ask:true allow:false allow:false deny:false deny:true"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if len(row.Notes) != 1 || !strings.Contains(row.Notes[0], "docs/** is allowed by user.toml:1") {
		t.Errorf("notes %q", row.Notes)
	}
}

func TestCommandPatterns(t *testing.T) {
	for _, tt := range []struct {
		pattern, command string
		want             wire.Verdict
	}{
		{`echo "a b"`, `echo a\ b`, wire.Allow},
		{`echo 'x*'`, `echo 'x*'`, wire.Allow},
		{`echo 'x*'`, `echo x*`, wire.Ask},
		{`time ls`, `command time ls`, wire.Allow},
		{`echo *`, `echo $x "$y"`, wire.Allow},
		{`echo a *`, `echo $x`, wire.Ask},
		{`*`, `frob`, wire.Allow},
	} {
		s, err := policy.Compile([]policy.Rule{{Tool: "bash", Command: tt.pattern, Decision: wire.Allow, Scope: policy.User}, {Tool: "bash", Command: "ls", Decision: wire.Allow, Scope: policy.User}})
		if err != nil {
			t.Fatal(err)
		}
		d := s.Explain(policy.Call{Tool: "bash", Input: input("command", tt.command)}, mode.Default, testEnv)
		if d.Decision != tt.want {
			t.Errorf("%s / %s: %s (%s)", tt.pattern, tt.command, d.Decision, d.Reason)
		}
	}
}

func manyRules(n int) []policy.Rule {
	list := make([]policy.Rule, 0, n)
	for i := range n {
		list = append(list, policy.Rule{Tool: fmt.Sprintf("mcp__server%d__tool", i), Decision: wire.Allow, Scope: policy.User, File: "u", Line: i})
	}
	return list
}

func TestDecideAllocatesNothing(t *testing.T) {
	s, err := policy.Compile(manyRules(100_000))
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { s.Decide("mcp__server50000__tool", mode.Default); s.Decide("bash", mode.Plan) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkDecide100k(b *testing.B) {
	s, _ := policy.Compile(manyRules(100_000))
	b.ReportAllocs()
	for b.Loop() {
		s.Decide("mcp__server50000__tool", mode.Default)
	}
}

// hundred are 100 rules as a person writes them.
func hundred() []policy.Rule {
	var list []policy.Rule
	for i := range 50 {
		list = append(list, policy.Rule{Tool: "bash", Command: fmt.Sprintf("prog%d run *", i), Decision: wire.Allow, Scope: policy.User})
	}
	for i := range 25 {
		list = append(list, policy.Rule{Effect: catalogue.Write, Path: fmt.Sprintf("dir%d/**", i), Decision: wire.Deny, Scope: policy.User})
		list = append(list, policy.Rule{Effect: catalogue.Read, Path: fmt.Sprintf("**/secret%d*", i), Decision: wire.Deny, Scope: policy.User})
	}
	return list
}

func BenchmarkExplain100(b *testing.B) {
	s, err := policy.Compile(hundred())
	if err != nil {
		b.Fatal(err)
	}
	env := *testEnv
	env.Resolver = nil
	for _, bb := range []struct {
		name string
		call policy.Call
	}{
		{"bash", policy.Call{Tool: "bash", Input: input("command", "prog7 run x | tee out.log")}},
		{"write_file", policy.Call{Tool: "write_file", Input: input("path", "src/a.go", "content", "x")}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			for b.Loop() {
				s.Explain(bb.call, mode.Default, &env)
			}
		})
	}
}

// Whatever the words are: if a deny of everything is there, nothing is allowed.
func FuzzExplain(f *testing.F) {
	f.Add("bash", `{"command":"echo a > b"}`)
	f.Add("mcp__a__b", `{"x":["file:///a"]}`)
	f.Add("apply_patch", `{"patch":"*** Add File: x"}`)
	f.Add("read_file", `{"path":"~/x/../y"}`)
	all, _ := policy.Compile([]policy.Rule{{Tool: "*", Decision: wire.Deny, Scope: policy.User, Final: true}})
	open, _ := policy.Compile([]policy.Rule{{Tool: "*", Decision: wire.Allow, Scope: policy.User}, {Tool: "bash", Command: "touch *", Decision: wire.Deny, Scope: policy.User}, {Effect: catalogue.Read, Path: "**/.env", Decision: wire.Deny, Scope: policy.User}})
	f.Fuzz(func(t *testing.T, tool, in string) {
		if d := all.Explain(policy.Call{Tool: tool, Input: []byte(in)}, mode.Bypass, testEnv); d.Decision != wire.Deny {
			t.Errorf("%s %s: %s under a final deny of everything", tool, in, d.Decision)
		}
		open.Explain(policy.Call{Tool: tool, Input: []byte(in)}, mode.Default, testEnv)
	})
}
