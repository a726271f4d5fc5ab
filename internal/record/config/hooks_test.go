package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestHooks(t *testing.T) {
	f := &File{Path: "c.toml", Data: []byte(`mode = "default"
[[hooks.permission_request]]
name = "docs"
matcher = { tool = "write_file", input.path = "docs/*" }
command = "check"
[[hooks.pre_tool_use]]
url = "http://127.0.0.1:8080/x"
timeout_ms = 500
[[hooks.permission_request]]
command = "other"
[hooks.permission_request.matcher]
tool = "mcp__*"
[limits]
max_calls_per_turn = 3
`)}
	entries, err := parse(f)
	if err != nil {
		t.Fatal(err)
	}
	got, rest, err := takeHooks(f, entries)
	want := []Hook{
		{Event: "permission_request", Name: "docs", Tool: "write_file", Input: map[string]string{"path": "docs/*"}, Command: "check", Timeout: 10 * time.Second, Source: "c.toml:2"},
		{Event: "pre_tool_use", Name: "pre_tool_use 1", Tool: "*", URL: "http://127.0.0.1:8080/x", Timeout: time.Second / 2, Source: "c.toml:6"},
		{Event: "permission_request", Name: "permission_request 2", Tool: "mcp__*", Command: "other", Timeout: 10 * time.Second, Source: "c.toml:9"},
	}
	if d := cmp.Diff(want, got); err != nil || d != "" || len(rest) != 3 {
		t.Errorf("%v, %d other entries\n%s", err, len(rest), d)
	}
}

func TestHooksRefuse(t *testing.T) {
	for text, want := range map[string]string{
		"[[hooks.stop]]\ncommand = \"x\"":             "c.toml:1: hooks.stop: expected [[hooks.EVENT]]",
		"[hooks.pre_tool_use]\ncommand = \"x\"":       "c.toml:1: hooks.pre_tool_use: expected [[hooks.pre_tool_use]]",
		"[hooks]\npre_tool_use = [{command = \"x\"}]": "c.toml:2: hooks.pre_tool_use: expected [[hooks.pre_tool_use]]",
		"hooks = 1":                  "c.toml:1: hooks: expected [[hooks.EVENT]]",
		"[[hooks]]\ncommand = \"x\"": "c.toml:1: hooks: expected [[hooks.EVENT]]",
		"[[hooks.pre_tool_use]]":     "c.toml:1: hooks.pre_tool_use: a hook has a command or a url",
		"[[hooks.pre_tool_use]]\ncommand = \"x\"\nurl = \"http://a\"":                 "c.toml:1: hooks.pre_tool_use: a hook has a command or a url",
		"[[hooks.pre_tool_use]]\ncommand = \"x\"\nshell = \"y\"":                      "c.toml:3: hooks.pre_tool_use.shell: unknown key",
		"[[hooks.pre_tool_use]]\ncommand = 7":                                         "c.toml:2: hooks.pre_tool_use.command: expected text",
		"[[hooks.pre_tool_use]]\ncommand = \"\"":                                      "c.toml:2: hooks.pre_tool_use.command: expected text",
		"[[hooks.pre_tool_use]]\nurl = \"file:///x\"":                                 "c.toml:2: hooks.pre_tool_use.url: expected an http",
		"[[hooks.pre_tool_use]]\nurl = \"http://u:p@a\"":                              "c.toml:2: hooks.pre_tool_use.url: expected an http",
		"[[hooks.pre_tool_use]]\ncommand = \"x\"\ntimeout_ms = 0":                     "c.toml:3: hooks.pre_tool_use.timeout_ms: expected a number",
		"[[hooks.pre_tool_use]]\ncommand = \"x\"\ntimeout_ms = 60001":                 "c.toml:3: hooks.pre_tool_use.timeout_ms: expected a number",
		"[[hooks.pre_tool_use]]\ncommand = \"x\"\nmatcher = \"bash\"":                 "c.toml:3: hooks.pre_tool_use.matcher: expected a table",
		"[[hooks.pre_tool_use]]\ncommand = \"x\"\nmatcher = { tool = \"a*b\" }":       "c.toml:3: hooks.pre_tool_use.matcher.tool: a * stands",
		"[[hooks.pre_tool_use]]\ncommand = \"x\"\nmatcher = { tools = \"a\" }":        "c.toml:3: hooks.pre_tool_use.matcher.tools: unknown key",
		"[[hooks.pre_tool_use]]\ncommand = \"x\"\nmatcher = { input = \"a\" }":        "c.toml:3: hooks.pre_tool_use.matcher.input: expected a table",
		"[[hooks.pre_tool_use]]\ncommand = \"x\"\nmatcher = { input.path = \"a*b\" }": "c.toml:3: hooks.pre_tool_use.matcher.input.path: a * stands",
		"[[hooks.pre_tool_use]]\ncommand = \"x\"\nmatcher = { input.a.b = \"x\" }":    "c.toml:3: hooks.pre_tool_use.matcher.input.a.b: unknown key",
		"[[hooks.pre_tool_use]]\ncommand = \"x\"\n[hooks.post_tool_use.x]\ny = \"1\"": "c.toml:3: hooks.post_tool_use.x: expected [[hooks.post_tool_use]]",
	} {
		f := &File{Path: "c.toml", Data: []byte(text)}
		entries, err := parse(f)
		if err == nil {
			_, _, err = takeHooks(f, entries)
		}
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s:\n got %v\nwant %s", text, err, want)
		}
	}
}
