package file

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/judge"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/patch"
	"github.com/kxtools/kx/pkg/wire"
)

// workspace is a folder with tools that work on it.
type workspace struct {
	t   testing.TB
	dir string
	reg *tool.Registry
}

func newWorkspace(t testing.TB) *workspace {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	reg, err := tool.NewRegistry(Tools(exec.LookPath))
	if err != nil {
		t.Fatal(err)
	}
	return &workspace{t, dir, reg}
}

func (w *workspace) path(rel string) string { return filepath.Join(w.dir, rel) }

func (w *workspace) put(rel, content string, mode fs.FileMode) {
	w.t.Helper()
	w.must(os.MkdirAll(filepath.Dir(w.path(rel)), 0o755))
	w.must(os.WriteFile(w.path(rel), []byte(content), 0o600))
	w.must(os.Chmod(w.path(rel), mode))
}

func (w *workspace) get(rel string) string {
	w.t.Helper()
	b, err := os.ReadFile(w.path(rel))
	w.must(err)
	return string(b)
}

func (w *workspace) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// call runs a tool as the gate does. A relative path is made absolute.
func (w *workspace) call(name string, input map[string]any) (wire.Output, *fail.Error) {
	w.t.Helper()
	if p, ok := input["path"].(string); ok && p != "" && !filepath.IsAbs(p) {
		input["path"] = w.path(p)
	}
	raw, err := json.Marshal(input)
	w.must(err)
	if raw, err = w.reg.Get(name).Check(raw); err != nil {
		return nil, fail.As(err)
	}
	env := toolEnv(w)
	if text, ok := input["patch"].(string); ok {
		env.Judged = w.judged(text)
	}
	out, err := w.reg.Get(name).Run(context.Background(), env, raw)
	if _, err := json.Marshal(out); err != nil {
		w.t.Errorf("the output is no JSON: %v", err)
	}
	return out, fail.As(err)
}

// judged resolves the paths of a patch as the gate does.
func (w *workspace) judged(text string) map[string]string {
	w.t.Helper()
	env := policy.Env{Workspace: w.dir, Cwd: w.dir, Resolver: judge.Files{}}
	to := map[string]string{}
	names, _ := patch.Names(text)
	for _, n := range names {
		where, err := env.Locate(w.dir, n)
		w.must(err)
		to[n] = where.Resolved
	}
	return to
}

func toolEnv(w *workspace) *tool.Env {
	return &tool.Env{Workspace: w.dir, Cwd: w.dir, MayRead: func(string) bool { return true }}
}

// fails asserts that a call fails with a code, an exit and words of the message.
func (w *workspace) fails(what, name string, input map[string]any, code string, exit int, words string) {
	w.t.Helper()
	_, err := w.call(name, input)
	switch {
	case err == nil:
		w.t.Errorf("%s: no error, want %s", what, code)
	case err.Code != code || err.Exit != exit || !strings.Contains(err.Msg, words):
		w.t.Errorf("%s: %s (%d) %q, want %s (%d) ...%s...", what, err.Code, err.Exit, err.Msg, code, exit, words)
	}
}

// clean asserts that no temp file is left.
func (w *workspace) clean() {
	w.t.Helper()
	w.must(filepath.WalkDir(w.dir, func(p string, d fs.DirEntry, err error) error {
		if strings.HasSuffix(p, ".tmp") {
			w.t.Errorf("left behind: %s", p)
		}
		return err
	}))
}

// hostile are file names that must not confuse anything.
var hostile = []string{
	"new\nline", "esc\x1b[31m", "-rf", "--help", "a b'\"$x`", "\xff\xfe", "\u202egnp.exe", strings.Repeat("n", 255), ".hidden", "*[?]{a,b}", "\\",
	"*** End Patch", "@@ -1 +1 @@", "trailing ", " leading", "dots...", ".GIT", "tab\there", "\u200bx", "\\n", "~",
}
