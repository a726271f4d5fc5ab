package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestServers(t *testing.T) {
	no := false
	d := setup(t, "")
	path := write(t, d, UserConfig, `[lsp_servers.clangd]
command = ["clangd", "--background-index=false"]
extensions = { ".c" = "c", "Makefile.in" = "makefile" }
env = ["TOKEN=secret", "A="]
runs_code = false
[lsp_servers.clangd.options]
fallback.flags = ["-std=c99"]
[[lsp_servers.clangd.options.list]]
a = 1
[[lsp_servers.clangd.options.list]]
a = 2
[lsp_servers.clangd.settings.clangd]
deep = true
[lsp_servers.gopls]
command = ["/opt/gopls"]
[limits]
max_calls_per_turn = 3
`)
	c, err := Load(d, "/w", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []LanguageServer{
		{
			Name: "clangd", Command: []string{"clangd", "--background-index=false"}, Extensions: map[string]string{".c": "c", "Makefile.in": "makefile"},
			Options: map[string]any{
				"fallback": map[string]any{"flags": []any{"-std=c99"}},
				"list":     []any{map[string]any{"a": int64(1)}, map[string]any{"a": int64(2)}},
			},
			Settings: map[string]any{"clangd": map[string]any{"deep": true}}, Env: []string{"TOKEN=secret", "A="}, RunsCode: &no, Source: path + ":1",
		},
		{Name: "gopls", Command: []string{"/opt/gopls"}, Source: path + ":14"},
	}
	if d := cmp.Diff(want, c.LanguageServers); d != "" || c.Limits.MaxCallsPerTurn != 3 {
		t.Errorf("%d\n%s", c.Limits.MaxCallsPerTurn, d)
	}
	shown := map[string]any{}
	for _, v := range c.Values {
		if strings.HasPrefix(v.Key, "lsp_servers.") {
			shown[v.Key] = v.Value
		}
	}
	for key, want := range map[string]any{
		"lsp_servers.clangd.env": []string{"TOKEN=...", "A=..."}, "lsp_servers.clangd.runs_code": false,
		`lsp_servers.clangd.extensions.".c"`: "c", "lsp_servers.gopls.command": []string{"/opt/gopls"}, "lsp_servers.clangd.settings.clangd.deep": true,
	} {
		if d := cmp.Diff(want, shown[key]); d != "" {
			t.Errorf("%s: %s", key, d)
		}
	}
}

func TestServersRefuse(t *testing.T) {
	const head = "[lsp_servers.x]\ncommand = [\"x\"]\n"
	for text, want := range map[string]string{
		"lsp_servers = 1":                       "c.toml:1: lsp_servers: expected [lsp_servers.NAME]",
		"[[lsp_servers]]\n":                     "c.toml:1: lsp_servers: expected [lsp_servers.NAME]",
		"[lsp_servers]\nx = 1":                  "c.toml:2: lsp_servers.x: expected [lsp_servers.NAME]",
		"[[lsp_servers.x]]":                     "c.toml:1: lsp_servers.x: expected [lsp_servers.NAME]",
		"[lsp_servers.\"a/b\"]":                 `c.toml:1: lsp_servers."a/b": a name has`,
		"[lsp_servers.x]":                       "c.toml:1: lsp_servers.x: a server has a command",
		head:                                    "c.toml:1: lsp_servers.x: a server has extensions",
		head + "commands = 1":                   "c.toml:3: lsp_servers.x.commands: unknown key",
		head + "env.A = \"1\"":                  "c.toml:3: lsp_servers.x.env.A: unknown key",
		head + "env = { A = \"1\" }":            "c.toml:3: lsp_servers.x.env: it is no table",
		head + "env = [\"A\"]":                  "c.toml:3: lsp_servers.x.env: expected a list of",
		head + "env = [\"=A\"]":                 "c.toml:3: lsp_servers.x.env: expected a list of",
		head + "runs_code = \"no\"":             "c.toml:3: lsp_servers.x.runs_code: expected true or false",
		head + "options = 1":                    "c.toml:3: lsp_servers.x.options: expected a table",
		head + "options.a = inf":                "c.toml:3: lsp_servers.x.options.a: it can't be said in JSON",
		head + "extensions = \".c\"":            "c.toml:3: lsp_servers.x.extensions: expected a table",
		head + "extensions.c.d = 1":             "c.toml:3: lsp_servers.x.extensions.c.d: expected what",
		head + "extensions.\".c\"=\"\"":         `c.toml:3: lsp_servers.x.extensions.".c": expected what`,
		head + "extensions.\"*.c\"=\"c\"":       `c.toml:3: lsp_servers.x.extensions."*.c": expected the end`,
		"[lsp_servers.x]\ncommand = []":         "c.toml:2: lsp_servers.x.command: expected a list",
		"[lsp_servers.x]\ncommand = \"x\"":      "c.toml:2: lsp_servers.x.command: expected a list",
		"[lsp_servers.x]\ncommand = [\"./x\"]":  "c.toml:2: lsp_servers.x.command: expected a program on PATH",
		"[lsp_servers.x]\ncommand = [\"x\", 1]": "c.toml:2: lsp_servers.x.command: expected a list",
		"[lsp_server.x]\ncommand = [\"x\", 1]":  `c.toml:1: unknown key "lsp_server.x"; did you mean`,
	} {
		f := &File{Path: "c.toml", Data: []byte(text)}
		err := builtIn().apply(f, setup(t, ""))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s:\n got %v\nwant %s", text, err, want)
		}
	}
}

// A project does not say what is run.
func TestProjectNamesNoServer(t *testing.T) {
	for text, at := range map[string]string{
		"[lsp_servers.gopls]\ncommand = [\"./evil\"]\n":             ":1: a project may not set lsp_servers.gopls",
		"mode = \"plan\"\nlsp_servers.gopls.command = [\"./evil\"]": ":2: a project may not set lsp_servers.gopls.command",
	} {
		_, err := Load(setup(t, ""), "/w", map[string][]byte{ProjectConfig: []byte(text)})
		if err == nil || !strings.Contains(err.Error(), ProjectConfig+at) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
