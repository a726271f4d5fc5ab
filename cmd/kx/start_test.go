package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// maxStart is how many times the start of an empty Go program kx may take: kx
// stands in pipes and hooks, where it starts for every call.
const maxStart = 3.0

// startRuns is how often each program is started; the medians are compared.
// Other tests may run beside this one and hit one program harder than the other,
// so a round that is over is measured again.
const (
	startRuns   = 15
	startRounds = 80
)

// program builds a Go program without debug information, as a release is built.
func program(t testing.TB, name, pkg string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), name)
	cmd := exec.Command("go", "build", "-tags", "urfave_cli_no_docs", "-ldflags", "-s -w", "-o", bin, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", pkg, err, b)
	}
	return bin
}

// hello builds the empty program.
func hello(t testing.TB) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "hello.go")
	if err := os.WriteFile(file, []byte("package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"hello\") }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return program(t, "hello", file)
}

func run(t testing.TB, argv ...string) time.Duration {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	if slices.Contains(argv, "hook") {
		cmd.Stdin = strings.NewReader(record)
	}
	begin := time.Now()
	if b, err := cmd.Output(); err != nil || len(b) == 0 {
		t.Fatalf("%q: %v, %q", argv, err, b)
	}
	return time.Since(begin)
}

// policy is what somebody who uses kx every day may have written.
const policy = `
[[rule]]
effect = "read"
path = "**/.env*"
decision = "deny"
final = true
reason = "secrets"
[[rule]]
tool = "bash"
command = "git status *"
decision = "allow"
[[rule]]
tool = "bash"
command = "go test *"
decision = "allow"
[[rule]]
tool = "bash"
command = "rm *"
decision = "deny"
[[rule]]
effect = "write"
path = "docs/**"
decision = "allow"
[[rule]]
tool = "web_fetch"
url = "https://*.example.com/**"
decision = "allow"
[[rule]]
tool = "mcp__git__*"
decision = "deny"
`

// maxHook is the same for a whole answer to another agent's hook, with its line in
// the audit: it stands in front of every call that the agent makes.
const maxHook = 4.0

// record is what the agent says.
const record = `{"session_id":"s","transcript_path":"/t","cwd":"/usr/share","hook_event_name":"PreToolUse","permission_mode":"default",` +
	`"tool_name":"Bash","tool_input":{"command":"git status && go test ./..."},"tool_use_id":"t"}`

// started returns the lines whose start is measured.
func started(t testing.TB) map[string][]string {
	config := t.TempDir()
	if err := os.WriteFile(filepath.Join(config, "policy.toml"), []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	return map[string][]string{
		"version": {"version"},
		"policy check": {
			"policy", "check", "--tool", "bash", "--input", `{"command":"git status && go test ./... | tee out.log"}`, "--exit-zero",
			"--ignore-env", "--config-dir", config, "--state-dir", filepath.Join(config, "none"),
		},
		"policy hook": {"--ignore-env", "--config-dir", config, "--state-dir", filepath.Join(config, "state"), "policy", "hook", "--client", "claude"},
	}
}

// TestStart starts kx and an empty Go program in turns.
func TestStart(t *testing.T) {
	empty, kx := hello(t), program(t, "kx", ".")
	for name, args := range started(t) {
		argv, ratio, most := append([]string{kx}, args...), 0.0, maxStart
		if name == "policy hook" {
			most = maxHook
		}
		for round := 0; round == 0 || ratio > most && round < startRounds; round++ {
			var mine, theirs []time.Duration
			for range startRuns {
				theirs = append(theirs, run(t, empty))
				mine = append(mine, run(t, argv...))
			}
			slices.Sort(mine)
			slices.Sort(theirs)
			a, b := mine[startRuns/2], theirs[startRuns/2]
			ratio = float64(a) / float64(b)
			t.Logf("kx %s starts in %.2f ms, an empty Go program in %.2f ms: %.2fx", name, a.Seconds()*1e3, b.Seconds()*1e3, ratio)
		}
		if ratio > most {
			t.Errorf("kx %s takes %.2fx the start of an empty Go program, more than %.1fx", name, ratio, most)
		}
	}
}

func BenchmarkStart(b *testing.B) {
	programs := map[string][]string{"hello": {hello(b)}}
	kx := program(b, "kx", ".")
	for name, args := range started(b) {
		programs["kx "+name] = append([]string{kx}, args...)
	}
	for name, argv := range programs {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				run(b, argv...)
			}
		})
	}
}
