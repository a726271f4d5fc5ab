package client

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kxtools/kx/pkg/policy/catalogue"
)

// record is what a client tells, in the fields that it was seen to send.
func record(client, tool, input string) []byte {
	switch client {
	case "claude":
		return []byte(`{"session_id":"s1","transcript_path":"/t.jsonl","cwd":"/ws","prompt_id":"p1","permission_mode":"default","effort":{"level":"high"},"hook_event_name":"PreToolUse","tool_name":"` + tool + `","tool_input":` + input + `,"tool_use_id":"toolu_1"}`)
	case "codex":
		return []byte(`{"session_id":"s1","turn_id":"1","transcript_path":null,"cwd":"/ws","hook_event_name":"PreToolUse","model":"m","permission_mode":"default","tool_name":"` + tool + `","tool_input":` + input + `,"tool_use_id":"call_1"}`)
	}
	return []byte(`{"session_id":"s1","transcript_path":"/t.json","cwd":"/ws","hook_event_name":"BeforeTool","timestamp":"2026-11-01T00:00:00Z","tool_name":"` + tool + `","tool_input":` + input + `}`)
}

const aPatch = `*** Begin Patch\n*** Add File: docs/a\n+$x\n*** End Patch`

func TestCall(t *testing.T) {
	for _, tt := range []struct{ client, tool, input, want string }{
		{"claude", "Bash", `{"command":"ls","timeout":5,"description":"d"}`, `bash {"command":"ls","description":"d","timeout_ms":5}`},
		{"claude", "Bash", `{"command":"ls","dangerouslyDisableSandbox":true}`, `bash {"command":"ls","dangerouslyDisableSandbox":true} unproven`},
		{"claude", "Bash", `{"command":"ls","dangerouslyDisableSandbox":false}`, `bash {"command":"ls","dangerouslyDisableSandbox":false}`},
		{"claude", "Bash", `{"command":"ls","cwd":"docs"}`, "error"},
		{"claude", "Bash", `{"command":"ls","timeout":5,"timeout_ms":6}`, "error"},
		{"claude", "Monitor", `{"command":"tail -f x"}`, `bash {"command":"tail -f x"}`},
		{"claude", "Read", `{"file_path":"a","limit":3}`, `read_file {"limit":3,"path":"a"}`},
		{"claude", "Read", `{"file_path":"a","path":"b"}`, "error"},
		{"claude", "Write", `{"file_path":"/ws/a","content":"x"}`, `write_file {"content":"x","path":"/ws/a"}`},
		{"claude", "NotebookEdit", `{"notebook_path":"n.ipynb","new_source":"x"}`, `edit_file {"new_source":"x","path":"n.ipynb"}`},
		{"claude", "Grep", `{"pattern":"x"}`, `grep_search {"pattern":"x"} search grep -r -e x -- '.'`},
		{"claude", "Grep", `{"pattern":"x","path":"it's"}`, `grep_search {"path":"it's","pattern":"x"} search grep -r -e x -- 'it'\''s'`},
		{"claude", "Glob", `{"pattern":"**/*.go"}`, `glob_search {"path":".","pattern":"**/*.go"}`},
		{"claude", "Glob", `{"pattern":"/etc/s*/x"}`, `glob_search {"path":"/etc/","pattern":"/etc/s*/x"}`},
		{"claude", "Glob", `{"pattern":"../x/*","path":"a"}`, `glob_search {"path":"a/../x/","pattern":"../x/*"}`},
		{"claude", "Glob", `{"pattern":"*/../../../etc/*"}`, `glob_search {"path":"/","pattern":"*/../../../etc/*"}`},
		{"claude", "Glob", `{"pattern":"{/etc,x}/*"}`, `glob_search {"path":"/","pattern":"{/etc,x}/*"}`},
		{"claude", "Glob", `{"pattern":"a/{x,~}/*"}`, `glob_search {"path":"/","pattern":"a/{x,~}/*"}`},
		{"claude", "mcp__git__push", `{"branch":"main"}`, `mcp__git__push {"branch":"main"}`},
		{"claude", "Workflow", `{"script":"x","path":"y"}`, `claude__Workflow {"path":"y","script":"x"}`},
		{"claude", "Newer", `{}`, `claude__Newer {}`},
		{"claude", "bash", `{"command":"ls"}`, `claude__bash {"command":"ls"}`},
		{"claude", "not a name", `{}`, "error"},
		{"codex", "Bash", `{"command":"ls"}`, `bash {"command":"ls"}`},
		{"codex", "shell", `{"command":["bash","-lc","ls | wc"],"workdir":"sub"}`, `bash {"command":"ls | wc","cwd":"sub"}`},
		{"codex", "shell", `{"command":["/bin/sh","-c","ls"]}`, `bash {"command":"ls"}`},
		{"codex", "shell", `{"command":["./bash","-c","ls"]}`, `bash {"command":"'./bash' '-c' 'ls'"}`},
		{"codex", "shell", `{"command":["bash","--norc","ls"]}`, `bash {"command":"'bash' '--norc' 'ls'"}`},
		{"codex", "shell", `{"command":["ls","a b"]}`, `bash {"command":"'ls' 'a b'"}`},
		{"codex", "exec_command", `{"cmd":"ls","sandbox_permissions":"require_escalated"}`, `bash {"command":"ls","sandbox_permissions":"require_escalated"} unproven`},
		{"codex", "exec_command", `{"cmd":"ls","sandbox_permissions":"use_default"}`, `bash {"command":"ls","sandbox_permissions":"use_default"}`},
		{"codex", "apply_patch", `{"command":"` + aPatch + `"}`, `apply_patch {"patch":"` + aPatch + `"}`},
		{"codex", "apply_patch", `{"command":["apply_patch","` + aPatch + `"]}`, `apply_patch {"patch":"` + aPatch + `"}`},
		{"codex", "Bash", `{"command":"apply_patch <<'EOF'\n` + aPatch + `\nEOF\n"}`, `apply_patch {"patch":"` + aPatch + `\n"}`},
		{"codex", "Bash", `{"command":"apply_patch '` + aPatch + `'"}`, `apply_patch {"patch":"` + aPatch + `"}`},
		{"codex", "Bash", `{"command":"./apply_patch '` + aPatch + `'"}`, `bash {"command":"./apply_patch '` + aPatch + `'"} with write_file {"path":"docs/a"}`},
		{"codex", "Bash", `{"command":"cd sub && apply_patch <<'EOF'\n` + aPatch + `\nEOF"}`, `bash {"command":"cd sub && apply_patch <<'EOF'\n` + aPatch + `\nEOF"} with write_file {"path":"sub/docs/a"}`},
		{"codex", "Bash", `{"command":"ls; /usr/bin/apply_patch '` + aPatch + `'"}`, `bash {"command":"ls; /usr/bin/apply_patch '` + aPatch + `'"} with write_file {"path":"docs/a"}`},
		{"codex", "Bash", `{"command":"apply_patch <<EOF\n` + aPatch + `\nEOF"}`, `bash {"command":"apply_patch <<EOF\n` + aPatch + `\nEOF"} unproven`},
		{"codex", "Bash", `{"command":"apply_patch \"$(cat p)\""}`, `bash {"command":"apply_patch \"$(cat p)\""} unproven`},
		{"codex", "write_stdin", `{"chars":"rm x\n"}`, `codex__write_stdin {"chars":"rm x\n"}`},
		{"gemini", "run_shell_command", `{"command":"ls","dir_path":"sub"}`, `bash {"command":"ls","cwd":"sub"}`},
		{"gemini", "read_file", `{"file_path":"a","absolute_path":"/b"}`, "error"},
		{"gemini", "replace", `{"file_path":"a","old_string":"x","new_string":"y"}`, `edit_file {"new_string":"y","old_string":"x","path":"a"}`},
		{"gemini", "web_fetch", `{"prompt":"see https://a.org/x and http://b.org"}`, `web_fetch {"prompt":"see https://a.org/x and http://b.org","url":"https://a.org/x"} with web_fetch {"url":"http://b.org"}`},
		{"gemini", "web_fetch", `{"url":"https://a.org/","prompt":"read https://b.org/"}`, `web_fetch {"prompt":"read https://b.org/","url":"https://a.org/"} with web_fetch {"url":"https://b.org/"}`},
		{"gemini", "web_fetch", `{"prompt":"nothing"}`, `web_fetch {"prompt":"nothing"}`},
		{"gemini", "mcp_git_push", `{}`, `mcp__git__push {}`},
		{"gemini", "mcp_a_b_c", `{}`, `mcp__a__b_c {} with mcp__a_b__c {}`},
		{"gemini", "read_many_files", `{"include":["**"]}`, `gemini__read_many_files {"include":["**"]}`},
	} {
		got := "error"
		c, _ := Of(tt.client)
		r, err := c.Read(record(tt.client, tt.tool, tt.input))
		if err != nil {
			t.Errorf("%s %s: %v", tt.client, tt.tool, err)
			continue
		}
		if call, err := c.Call(r); err == nil {
			got = call.Tool + " " + string(call.Input)
			for _, w := range call.With {
				got += " with " + w.Tool + " " + string(w.Input)
			}
			if call.Search != "" {
				got += " search " + call.Search
			}
			if call.Unproven != "" {
				got += " unproven"
			}
		}
		if got != tt.want {
			t.Errorf("%s %s %s:\n got %s\nwant %s", tt.client, tt.tool, tt.input, got, tt.want)
		}
	}
}

// Gemini says apart which server a tool is of.
func TestContext(t *testing.T) {
	c, _ := Of("gemini")
	r, err := c.Read([]byte(`{"cwd":"/ws","hook_event_name":"BeforeTool","tool_name":"mcp_a_b_c","tool_input":{},"mcp_context":{"server_name":"a_b","tool_name":"c"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if call, err := c.Call(r); err != nil || call.Tool != "mcp__a_b__c" || call.With != nil {
		t.Errorf("got %+v, %v", call, err)
	}
}

func TestReadRefuses(t *testing.T) {
	good := string(record("claude", "Bash", `{}`))
	c, _ := Of("claude")
	for _, bad := range []string{
		"", "nonsense", "[]", "null", good + good, strings.Replace(good, "PreToolUse", "PostToolUse", 1), strings.Replace(good, `"Bash"`, `""`, 1),
		strings.Replace(good, `"Bash"`, `7`, 1), strings.Replace(good, `"cwd"`, `"CWD"`, 1), strings.Replace(good, `"/ws"`, `"ws"`, 1),
		strings.Replace(good, `"tool_input":{}`, `"tool_input":[]`, 1), strings.Replace(good, `"tool_input":{},`, ``, 1), strings.Replace(good, `"tool_input":{}`, `"tool_input":null`, 1), good[:len(good)-1],
	} {
		if r, err := c.Read([]byte(bad)); err == nil {
			t.Errorf("%s: %+v", bad, r)
		}
	}
}

// What each client hears for each verdict; its own words are measured.
func TestSay(t *testing.T) {
	for _, tt := range []struct{ client, event, verdict, want string }{
		{"claude", preToolUse, Allow, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":"why"}}` + "\n"},
		{"claude", preToolUse, Deny, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"why"}}` + "\n"},
		{"claude", preToolUse, Defer, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"defer","permissionDecisionReason":"why"}}` + "\n"},
		{"claude", permissionRequest, Allow, `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}` + "\n"},
		{"claude", permissionRequest, Deny, `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"why"}}}` + "\n"},
		{"claude", permissionRequest, Defer, `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"why"}}}` + "\n"},
		{"codex", preToolUse, Allow, ""},
		{"codex", preToolUse, Deny, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"why"}}` + "\n"},
		{"codex", preToolUse, Defer, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"why"}}` + "\n"},
		{"codex", permissionRequest, Allow, `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}` + "\n"},
		{"gemini", beforeTool, Allow, `{"decision":"allow","reason":"why"}` + "\n"},
		{"gemini", beforeTool, Deny, `{"decision":"deny","reason":"why"}` + "\n"},
		{"gemini", beforeTool, Defer, `{"decision":"deny","reason":"why"}` + "\n"},
	} {
		c, _ := Of(tt.client)
		if got, err := c.Say(tt.event, Answer{tt.verdict, "why"}); err != nil || string(got) != tt.want {
			t.Errorf("%s %s %s: %q, %v", tt.client, tt.event, tt.verdict, got, err)
		}
	}
}

func TestAsked(t *testing.T) {
	for name, want := range map[string]string{"claude": Deny, "codex": Wait, "gemini": Deny} {
		c, err := Of(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.Asked(""); err != nil || got != want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
		_, err = c.Asked(Defer)
		if (err == nil) != (name == "claude") {
			t.Errorf("%s defers: %v", name, err)
		}
		if _, err := c.Asked("ask"); err == nil {
			t.Errorf("%s asks itself", name)
		}
	}
	if _, err := Of("cursor"); err == nil {
		t.Error("there is a client cursor")
	}
}

// The tables cover the tools of the versions that were looked at, and name nothing
// that kx does not know.
func TestTables(t *testing.T) {
	for _, c := range clients {
		if !slices.Contains(catalogue.Clients, c.Name) {
			t.Errorf("the catalogue does not know %s", c.Name)
		}
		f, err := os.Open("testdata/" + c.Name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		for s := bufio.NewScanner(f); s.Scan(); {
			if name := s.Text(); !strings.HasPrefix(name, "#") && !c.Covers(name) {
				t.Errorf("%s: the table lacks %s", c.Name, name)
			}
		}
		f.Close()
		for name, l := range c.tools() {
			entry, known := catalogue.Lookup(l.tool)
			if l.tool != "" && !known {
				t.Errorf("%s %s: there is no tool %s", c.Name, name, l.tool)
			}
			for _, field := range []string{entry.Path, entry.URL} {
				if field != "" && l.does != "patch" && !slices.Contains(values(l.fields), field) {
					t.Errorf("%s %s: nothing is the %s of %s", c.Name, name, field, l.tool)
				}
			}
		}
	}
}

func values(m map[string]string) (list []string) {
	for _, v := range m {
		list = append(list, v)
	}
	return list
}

func FuzzRead(f *testing.F) {
	for _, c := range []string{"claude", "codex", "gemini"} {
		f.Add(record(c, "Bash", `{"command":"ls"}`))
		f.Add(record(c, "apply_patch", `{"input":"*** Begin Patch"}`))
		f.Add(record(c, "mcp_a_b", `{}`))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for i := range clients {
			r, err := clients[i].Read(raw)
			if err != nil {
				continue
			}
			call, err := clients[i].Call(r)
			if err != nil {
				continue
			}
			if call.Tool == "" || !json.Valid(call.Input) {
				t.Errorf("%s: %+v", raw, call)
			}
		}
	})
}
