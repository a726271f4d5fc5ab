//go:build clients

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// vendors are the clients as their makers publish them, in the versions that the
// tables of internal/gate/client cover, and how one prompt is given to each. SERVER
// stands for the address of the model.
var vendors = map[string]struct {
	pack, argv string
	env        string
	files      map[string]string // in the home
}{
	"claude": {
		pack: "@anthropic-ai/claude-code-linux-x64@2.1.332", argv: "package/claude -p hi",
		env: "ANTHROPIC_BASE_URL=SERVER ANTHROPIC_API_KEY=x DISABLE_TELEMETRY=1 CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	},
	"codex": {
		pack: "@openai/codex@0.171.0-linux-x64",
		// The hook is new here: nobody has trusted it yet.
		argv: "package/vendor/x86_64-unknown-linux-musl/bin/codex exec --skip-git-repo-check --dangerously-bypass-hook-trust -s danger-full-access hi",
		env:  "OPENAI_API_KEY=x",
		files: map[string]string{".codex/config.toml": "model = \"m\"\nmodel_provider = \"mock\"\n[model_providers.mock]\nname = \"mock\"\n" +
			"base_url = \"SERVER/v1\"\nwire_api = \"responses\"\nenv_key = \"OPENAI_API_KEY\"\n"},
	},
	"gemini": {
		pack: "@google/gemini-cli@0.61.0", argv: "node package/bundle/gemini.js -m gemini-2.5-flash -p hi -y --skip-trust",
		env:   "GEMINI_API_KEY=x GOOGLE_GEMINI_BASE_URL=SERVER",
		files: map[string]string{".gemini/settings.json": `{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false}}`},
	},
}

// clientPolicy is what the clients are held to.
const clientPolicy = `
[[rule]]
tool = "bash"
command = "touch ran"
decision = "allow"
[[rule]]
effect = "write"
path = "ran"
decision = "allow"
[[rule]]
tool = "bash"
command = "touch denied"
decision = "deny"
`

// TestClients gives the real clients a model that wants one command, and looks at
// whether it ran.
func TestClients(t *testing.T) {
	bin := t.TempDir()
	for _, name := range []string{"kx", "kxd"} {
		cmd := exec.Command("go", "build", "-tags", "urfave_cli_no_docs", "-o", filepath.Join(bin, name), "github.com/kxtools/kx/cmd/"+name)
		if b, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, b)
		}
	}
	for name, v := range vendors {
		t.Run(name, func(t *testing.T) {
			dir := fetch(t, v.pack)
			for _, tt := range []struct {
				what, command, policy string
				runs                  bool
				pending               int
			}{
				{"allow", "touch ran", clientPolicy, true, 0},
				{"block", "touch denied", clientPolicy, false, 0},
				{"ask", "touch asked", clientPolicy, false, 1},
				{"error", "touch ran", "[[rule]]\ndecision = \"alow\"\n", false, 0},
			} {
				home := t.TempDir()
				ws := filepath.Join(home, "ws")
				server := httptest.NewServer(mock(tt.command))
				defer server.Close()
				write := func(path, text string) {
					path = filepath.Join(home, path)
					if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "SERVER", server.URL)), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				write("ws/.git/HEAD", "ref: refs/heads/main\n")
				write(".config/kx/policy.toml", clientPolicy)
				for path, text := range v.files {
					write(path, text)
				}
				env := append(strings.Fields(strings.ReplaceAll(v.env, "SERVER", server.URL)), "HOME="+home, "PATH="+os.Getenv("PATH"), "TERM=dumb",
					"HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1")
				kx := func(args ...string) string {
					cmd := exec.Command(filepath.Join(bin, "kx"), args...)
					cmd.Dir, cmd.Env = ws, env
					out, err := cmd.Output()
					if err != nil {
						t.Fatalf("%s: kx %q: %v", tt.what, args, err)
					}
					return strings.TrimSpace(string(out))
				}
				install := []string{"policy", "install", "--client", name, "--key", kx("config", "path", "approver-key", "-o", "table")}
				if name == "codex" {
					install = append(install, "--on-ask", "deny")
				}
				kx(install...)
				kx("policy", "doctor", "--client", name)
				before := len(kx("audit", "list", "-o", "jsonl"))
				write(".config/kx/policy.toml", tt.policy)
				said := prompt(t, dir, v.argv, ws, env)
				_, err := os.Stat(filepath.Join(ws, strings.Fields(tt.command)[1]))
				if (err == nil) != tt.runs {
					t.Errorf("%s: the command ran: %v\n%s", tt.what, err == nil, said)
				}
				write(".config/kx/policy.toml", clientPolicy)
				if after := len(kx("audit", "list", "-o", "jsonl")); after == before && tt.what != "error" {
					t.Errorf("%s: the client did not ask kx\n%s", tt.what, said)
				}
				if list := kx("approve", "list", "-o", "jsonl"); strings.Count(list, "\"approval\"") != tt.pending {
					t.Errorf("%s: pending is %s", tt.what, list)
				}
			}
		})
	}
}

// fetch unpacks a package of npm and returns the folder.
func fetch(t *testing.T, pack string) string {
	t.Helper()
	dir := t.TempDir()
	for _, line := range []string{"npm pack --silent --ignore-scripts " + pack, "tar xzf *.tgz"} {
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir = dir
		if b, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, b)
		}
	}
	return dir
}

// prompt runs a client to its end.
func prompt(t *testing.T, dir, line, ws string, env []string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	argv := strings.Fields(strings.Replace(line, "package/", dir+"/package/", 1))
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var out bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = ws, env, &out, &out
	cmd.SysProcAttr, cmd.WaitDelay = &syscall.SysProcAttr{Setpgid: true}, time.Second
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	_ = cmd.Run() // how it exits is its own affair
	if ctx.Err() != nil {
		t.Errorf("it did not end\n%s", &out)
	}
	return out.Bytes()
}

// mock is a model of each vendor: it calls for one command, and is done when it sees
// a result.
func mock(command string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		has := func(s string) bool { return bytes.Contains(body, []byte(s)) }
		events := func(list ...string) {
			w.Header().Set("Content-Type", "text/event-stream")
			for _, e := range list {
				var kind struct{ Type string }
				_ = json.Unmarshal([]byte(e), &kind)
				fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind.Type, e)
			}
		}
		arguments := func(key string) string { // JSON in a JSON text
			inner, _ := json.Marshal(map[string]string{key: command, "description": "x"})
			outer, _ := json.Marshal(string(inner))
			return string(outer)
		}
		switch {
		case r.URL.Path == "/v1/messages":
			start, delta, stop := `{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}`, `{"type":"input_json_delta","partial_json":`+arguments("command")+`}`, "tool_use"
			if has(`"tool_result"`) || !has(`"tools":[{`) {
				start, delta, stop = `{"type":"text","text":""}`, `{"type":"text_delta","text":"done"}`, "end_turn"
			}
			events(`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"x","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}`,
				`{"type":"content_block_start","index":0,"content_block":`+start+`}`, `{"type":"content_block_delta","index":0,"delta":`+delta+`}`, `{"type":"content_block_stop","index":0}`,
				`{"type":"message_delta","delta":{"stop_reason":"`+stop+`","stop_sequence":null},"usage":{"output_tokens":1}}`, `{"type":"message_stop"}`)
		case r.URL.Path == "/v1/responses":
			item := `{"type":"function_call","id":"f1","call_id":"c1","name":"exec_command","arguments":` + arguments("cmd") + `}`
			if has("function_call_output") {
				item = `{"type":"message","id":"m1","role":"assistant","content":[{"type":"output_text","text":"done"}]}`
			}
			events(`{"type":"response.created","response":{"id":"r"}}`, `{"type":"response.output_item.done","item":`+item+`}`,
				`{"type":"response.completed","response":{"id":"r","usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2,"input_tokens_details":null,"output_tokens_details":null}}}`)
		case strings.Contains(r.URL.Path, "enerateContent"):
			part := `{"functionCall":{"name":"run_shell_command","args":{"command":"` + command + `","description":"x"}}}`
			if has("functionResponse") || !has("functionDeclarations") {
				part = `{"text":"done"}`
			}
			doc := `{"candidates":[{"content":{"role":"model","parts":[` + part + `]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}`
			if strings.Contains(r.URL.Path, ":stream") {
				w.Header().Set("Content-Type", "text/event-stream")
				doc = "data: " + doc + "\n\n"
			}
			io.WriteString(w, doc)
		default:
			http.NotFound(w, r)
		}
	})
}
