package language

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/mod/module"

	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/host/lsp/door"
)

// goEnv are the variables of gopls. There is no network, and this is said sooner than it
// is noticed. go does nothing at all without a cache of modules, which it can't make:
// where there is none yet, an empty one stands in for it.
func goEnv(at Start) []string {
	env := []string{"GOPROXY=off"}
	if _, err := os.Stat(moduleCache(at.Env)); err != nil && at.Cache != "" {
		env = append(env, "GOMODCACHE="+filepath.Join(at.Cache, "modules"))
	}
	return env
}

// moduleCache is where go puts the modules that it downloads.
func moduleCache(env []string) string {
	if dir := goVariable(env, "GOMODCACHE"); dir != "" {
		return dir
	}
	path, _, _ := strings.Cut(goVariable(env, "GOPATH"), string(filepath.ListSeparator))
	if path == "" {
		path = filepath.Join(door.Get(env, "HOME"), "go")
	}
	return filepath.Join(path, "pkg", "mod")
}

// maxGoFile bounds what go keeps for itself: the longest go.sum have some thousand lines.
const maxGoFile = 4 << 20

// goVariable is a variable as go sees it: what go env -w has set counts, too.
func goVariable(env []string, name string) string {
	if value := door.Get(env, name); value != "" {
		return value
	}
	config := ".config"
	if runtime.GOOS == "darwin" {
		config = "Library/Application Support"
	}
	text, _, err := fsx.ReadRegular(filepath.Join(door.Get(env, "HOME"), config, "go", "env"), maxGoFile)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
			return value
		}
	}
	return ""
}

// goModules are what changes when what a workspace builds with does: folders of the cache,
// for the modules whose sums it has, and the sources of those that lie beside it.
func goModules(at Start) func() []string {
	cache := filepath.Join(moduleCache(at.Env), "cache", "download")
	dirs := goBeside(at)
	for _, file := range at.Files {
		if name := filepath.Base(file); name != "go.sum" && name != "go.work.sum" {
			continue
		}
		text, _, err := fsx.ReadRegular(file, maxGoFile)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			words := strings.Fields(line) // module version hash
			if len(words) != 3 || strings.HasSuffix(words[1], "/go.mod") {
				continue
			}
			if path, err := module.EscapePath(words[0]); err == nil {
				dirs = append(dirs, filepath.Join(cache, path, "@v"))
			}
		}
	}
	slices.Sort(dirs)
	dirs = slices.Compact(dirs)
	return func() []string { return dirs }
}
