package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/host/lsp/lsptest"
	"github.com/kxtools/kx/pkg/wire"
)

// project is a workspace that real language servers are asked about, in a home of its
// own. What is started for it ends with the test.
type project struct {
	*testing.T
	work  string
	env   []string
	known map[string]lsptest.Place // places of a sample
}

// newProject makes one with these files. The named servers are on its PATH, without
// names those that kx prefers.
func newProject(t *testing.T, files map[string]string, servers ...string) *project {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	run, err := os.MkdirTemp("", "kx") // short: a socket's name has 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	c := &project{T: t, work: filepath.Join(home, "p")}
	c.env = []string{
		"HOME=" + home, "KX_STATE_DIR=" + filepath.Join(home, "state"), "KX_CONFIG_DIR=" + filepath.Join(home, "config"), "KX_RUNTIME_DIR=" + run,
		"PATH=" + strings.Join(lsptest.Servers(t, servers...), ":"),
	}
	t.Cleanup(func() {
		c.kx("host", "stop", "--all")
		os.RemoveAll(run)
	})
	if err := os.Mkdir(c.work, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		c.write(name, text)
	}
	return c
}

// key is the path of the approver key.
func (c *project) key() string {
	c.Helper()
	exit, path := c.kx("config", "path", "approver-key") // which makes it
	if exit != 0 {
		c.Fatalf("approver-key: %d", exit)
	}
	return strings.TrimSpace(path)
}

func where(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func (c *project) path(name string) string { return filepath.Join(c.work, name) }

func (c *project) write(name, text string) {
	c.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(c.path(name)), 0o700), os.WriteFile(c.path(name), []byte(text), 0o600)); err != nil {
		c.Fatal(err)
	}
}

func (c *project) remove(name string) {
	c.Helper()
	if err := os.Remove(c.path(name)); err != nil {
		c.Fatal(err)
	}
}

// kx runs a line in the workspace.
func (c *project) kx(args ...string) (exit int, stdout string) {
	c.Helper()
	cmd := exec.Command(where(c.T, "kx"), args...)
	cmd.Dir, cmd.Env = c.work, c.env
	out, err := cmd.Output()
	if ran := (*exec.ExitError)(nil); err != nil && !errors.As(err, &ran) {
		c.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// ask asks a question.
func (c *project) ask(verb string, args ...string) (int, *wire.CodeAnswer) {
	c.Helper()
	exit, out := c.kx(append([]string{"lsp", verb, "-o", "json"}, args...)...)
	a := &wire.CodeAnswer{}
	if err := json.Unmarshal([]byte(out), a); err != nil {
		c.Fatalf("%s %q: %d %v: %s", verb, args, exit, err, out)
	}
	return exit, a
}

// places are those of an answer.
func places(a *wire.CodeAnswer) string {
	list := []string{}
	for _, l := range a.Locations {
		list = append(list, fmt.Sprintf("%s:%d", l.Path, l.Line))
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// at asks where something is, once.
func (c *project) at(what, verb, address, want string) {
	c.Helper()
	if exit, a := c.ask(verb, address, "--wait", "60s"); exit != 0 || places(a) != want {
		c.Errorf("%s: %s %s: %d %s %q, not %q: %s", what, verb, address, exit, a.State, places(a), want, a.Reason)
	}
}

// finds asks for diagnostics, once. Each is LINE:CODE.
func (c *project) finds(what, file, state, want string) *wire.CodeAnswer {
	c.Helper()
	exit, a := c.ask("diagnostics", file, "--wait", "60s")
	list := []string{}
	for _, d := range a.Diagnostics {
		list = append(list, fmt.Sprintf("%d:%s", d.Line, d.Code))
	}
	exits := map[string]int{wire.CodeClean: 0, wire.CodeFindings: 1, wire.CodeUnavailable: 5, wire.CodePending: 124}
	if got := strings.Join(list, " "); a.State != state || exit != exits[state] || got != want {
		c.Errorf("%s: %s: %d %s %q, not %s %q: %s", what, file, exit, a.State, got, state, want, a.Reason)
	}
	return a
}

// server is the one server that kx lsp status has; nothing if it has none.
func (c *project) server() (s wire.LanguageServer) {
	c.Helper()
	_, out := c.kx("lsp", "status", "-o", "jsonl")
	if strings.Count(out, "\n") > 1 || out != "" && json.Unmarshal([]byte(out), &s) != nil {
		c.Fatalf("status: %s", out)
	}
	return s
}

// both runs a line and returns all that it prints.
func (c *project) both(args ...string) (int, string) {
	cmd := exec.Command(where(c.T, "kx"), args...)
	cmd.Dir, cmd.Env = c.work, c.env
	out, _ := cmd.CombinedOutput() // the status says how it went
	return cmd.ProcessState.ExitCode(), string(out)
}

func (c *project) run(name string, args ...string) {
	c.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = c.work, append(slices.Clone(c.env), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	cmd.Env = append(cmd.Env, "PATH="+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		c.Fatalf("%s %q: %v: %s", name, args, err, out)
	}
}

// rounds is how often something is tried that hangs on time.
func rounds(few, many int) int {
	if os.Getenv("KX_STRESS") != "" {
		return many
	}
	return few
}

// errs asks for the errors of a file, once; basedpyright has warnings of its own.
func (c *project) errs(what, file, want string) {
	c.Helper()
	_, a := c.ask("diagnostics", file, "--wait", "60s")
	list := []string{}
	for _, d := range a.Diagnostics {
		if d.Severity == "error" {
			list = append(list, fmt.Sprintf("%d:%s", d.Line, d.Code))
		}
	}
	got := strings.Join(list, " ")
	if told := a.State == wire.CodeClean || a.State == wire.CodeFindings; !told || got != want {
		c.Errorf("%s: %s: %s %q, not %q: %s", what, file, a.State, got, want, a.Reason)
	}
}
