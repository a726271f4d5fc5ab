package guard

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/policy/point"
)

// files is a Resolver of the real file system.
type files struct{}

func (files) Resolve(path string) (string, error)   { return paths.Canonical("/", path) }
func (files) Glob(pattern string) ([]string, error) { return filepath.Glob(pattern) }

// house is a guard on a home of its own, with a workspace that has a repository,
// links that lead out, and files with and without tokens.
func house(t testing.TB) (*Guard, *point.Env) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(root, "home/u")
	ws := filepath.Join(home, "src/ws")
	for name, content := range map[string]string{
		"src/ws/.git/HEAD": "ref", "src/ws/.git/hooks/x": "", "src/ws/main.go": "", "src/ws/build/out": "", "src/ws/sub/a.txt": "",
		".ssh/id": "key", ".bashrc": "", ".npmrc": "", "src/ws/.npmrc": "registry=https://x\n", "src/ws/sub/.npmrc": "//r/:_authToken=abc\n",
	} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"keys": home + "/.ssh", "g": ".git", "etc": "/etc", "up": home, "main": "main.go"} {
		if err := os.Symlink(to, filepath.Join(ws, link)); err != nil {
			t.Fatal(err)
		}
	}
	dirs := paths.Dirs{Home: home, State: home + "/.local/state/kx", Config: home + "/.config/kx", Runtime: root + "/run/kx",
		Defaults: []string{home + "/.local/state/kx", home + "/.config/kx", root + "/run/kx", "/tmp/kx-1"}}
	env := &point.Env{Workspace: ws, Cwd: ws, Home: home, Resolver: files{}}
	return New([]string{ws}, dirs, os.ReadFile), env
}

func bash(t testing.TB, command string) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func check(t testing.TB, g *Guard, env *point.Env, tool string, input json.RawMessage) Finding {
	t.Helper()
	entry, ok := catalogue.Lookup(tool)
	if !ok {
		t.Fatalf("no tool %s", tool)
	}
	return g.Check(&entry, input, env)
}
