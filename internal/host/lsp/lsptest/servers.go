package lsptest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// installed are the folders of bin/servers with programs in them, by the names of
// servers.
var installed = map[string]string{
	"gopls":                      "gopls/bin",
	"tsc":                        "tsc/node_modules/.bin",
	"typescript-language-server": "typescript-language-server/node_modules/.bin",
	"pyright":                    "pyright/node_modules/.bin",
	"basedpyright":               "basedpyright/node_modules/.bin",
}

// system are programs that servers need, or are, and that lie where the machine has
// them.
var system = []string{"rust-analyzer", "cargo", "rustc", "go", "node", "python3"}

// Servers returns a PATH on which the named servers are found, all in the versions of
// `make servers` and before others of the machine; without names those that kx prefers.
// What else is on it is what servers start.
func Servers(t testing.TB, names ...string) []string {
	t.Helper()
	if len(names) == 0 {
		names = []string{"gopls", "tsc", "pyright", "rust-analyzer"}
	}
	var path []string
	for _, name := range names {
		if folder := installed[name]; folder != "" {
			dir := filepath.Join(moduleRoot(t), "bin/servers", filepath.FromSlash(folder))
			if _, err := os.Stat(dir); err != nil {
				t.Fatalf("%s is not installed: run make servers", name)
			}
			path = append(path, dir)
		} else if !slices.Contains(system, name) {
			t.Fatalf("there is no server %s", name)
		}
	}
	for _, name := range system {
		program, err := exec.LookPath(name)
		if err != nil {
			t.Fatalf("%s is not installed: run make deps servers", name)
		}
		if dir := filepath.Dir(program); !slices.Contains(path, dir) {
			path = append(path, dir)
		}
	}
	for _, dir := range []string{"/usr/bin", "/bin"} {
		if !slices.Contains(path, dir) {
			path = append(path, dir)
		}
	}
	return path
}
