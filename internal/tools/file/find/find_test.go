package find

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/pkg/wire"
)

// tree is a folder with tools that search it.
type tree struct {
	t    *testing.T
	dir  string
	reg  *tool.Registry
	env  *tool.Env
	deny []string // what policy does not allow to read, relative
}

// newTree returns a tree whose tools find only the named programs.
func newTree(t *testing.T, programs ...string) *tree {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tr := &tree{t: t, dir: dir}
	tr.use(programs...)
	tr.env = &tool.Env{Workspace: dir, Cwd: dir, MayRead: func(p string) bool {
		rel, err := filepath.Rel(tr.dir, p)
		return err == nil && filepath.IsAbs(p) && filepath.IsLocal(rel) && !slices.Contains(tr.deny, rel)
	}}
	return tr
}

func (tr *tree) use(programs ...string) {
	tr.t.Helper()
	reg, err := tool.NewRegistry(Tools(func(name string) (string, error) {
		if !slices.Contains(programs, name) {
			return "", exec.ErrNotFound
		}
		p, err := exec.LookPath(name)
		if errors.Is(err, exec.ErrNotFound) {
			tr.t.Fatalf("this test needs %s; testdata/apt-packages names its package", name)
		}
		return p, err
	}))
	if err != nil {
		tr.t.Fatal(err)
	}
	tr.reg = reg
}

func (tr *tree) must(err error) {
	tr.t.Helper()
	if err != nil {
		tr.t.Fatal(err)
	}
}

func (tr *tree) path(rel string) string { return filepath.Join(tr.dir, rel) }

// put makes files from pairs of name and content.
func (tr *tree) put(pairs ...string) {
	tr.t.Helper()
	for i := 0; i+1 < len(pairs); i += 2 {
		tr.must(os.MkdirAll(filepath.Dir(tr.path(pairs[i])), 0o755))
		tr.must(os.WriteFile(tr.path(pairs[i]), []byte(pairs[i+1]), 0o644))
	}
}

func (tr *tree) git(args ...string) {
	tr.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = tr.dir
	cmd.Env = append(slices.Clone(gitEnv[:4]), "PATH="+filepath.Dir(mustLook(tr.t, "git"))+":/usr/bin:/bin", "HOME=/nonexistent")
	if out, err := cmd.CombinedOutput(); err != nil {
		tr.t.Fatalf("git %v: %v %s", args, err, out)
	}
}

func mustLook(t *testing.T, name string) string {
	t.Helper()
	p, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (tr *tree) call(name string, input map[string]any) (wire.Output, *fail.Error) {
	tr.t.Helper()
	if p, ok := input["path"].(string); ok && !filepath.IsAbs(p) {
		input["path"] = tr.path(p)
	}
	raw, err := json.Marshal(input)
	tr.must(err)
	if raw, err = tr.reg.Get(name).Check(raw); err != nil {
		return nil, fail.As(err)
	}
	out, err := tr.reg.Get(name).Run(context.Background(), tr.env, raw)
	return out, fail.As(err)
}

func (tr *tree) fails(what, name string, input map[string]any, code string, exit int, words string) {
	tr.t.Helper()
	_, err := tr.call(name, input)
	if err == nil || err.Code != code || err.Exit != exit || !strings.Contains(err.Msg, words) {
		tr.t.Errorf("%s: %+v, want %s (%d) ...%s...", what, err, code, exit, words)
	}
}

// paths runs a listing or a glob and returns the entries as "path type".
func (tr *tree) paths(name string, input map[string]any) (found []string, out wire.Output) {
	tr.t.Helper()
	out, err := tr.call(name, input)
	if err != nil {
		tr.t.Fatalf("%s %v: %v", name, input, err)
	}
	for _, e := range out["entries"].([]entry) {
		found = append(found, e.Path+" "+e.Type)
	}
	return found, out
}

// files is paths where all are files.
func (tr *tree) files(pattern, path string) string {
	tr.t.Helper()
	input := map[string]any{"pattern": pattern}
	if path != "" {
		input["path"] = path
	}
	found, _ := tr.paths("glob_search", input)
	for i := range found {
		found[i] = strings.TrimSuffix(found[i], " file")
	}
	return strings.Join(found, " ")
}

// hostile are file names that must not confuse anything.
var hostile = []string{
	"new\nline:1:1: x", "esc\x1b[31m", "-rf", "--help", "a b'\"$x`", "\xff\xfe", "\u202egnp.exe", strings.Repeat("n", 255), ".hidden", "*[?]{a,b}", "\\",
}

func (tr *tree) link(to, name string) { tr.t.Helper(); tr.must(os.Symlink(to, tr.path(name))) }

func (tr *tree) mkdir(rel string, mode fs.FileMode) {
	tr.t.Helper()
	tr.must(os.MkdirAll(tr.path(rel), mode))
}
