package language

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/host/lsp/client"
	"github.com/kxtools/kx/internal/host/lsp/door"
)

// builtIn are the languages that kx knows. What stands here of a server was seen when
// it was driven; a server that needs nothing has no words.
func builtIn() []*Language {
	gopls := &Server{
		Name: "gopls", Language: "go", Argv: []string{"gopls", "serve"},
		Ready: client.OnProgress, Diagnostics: Pull,
		Options: func(Start) any { return map[string]any{"pullDiagnostics": true} },
		// Of a go.mod that go refuses it keeps what it knew before, and finds nothing wrong.
		Reload: []string{"go.mod", "go.work"},
		Embeds: goEmbeds, Apart: goApart,
		Nothing: []string{"no identifier found", "identifier not found", "no enclosing expression has a type"},
		Env:     goEnv, Libraries: goModules, Silent: true, UTF8: true, Markers: []string{"vendor"},
		Needs: []need{{"go", []way{{"apt-get", "sudo apt-get install golang-go"}, {"brew", "brew install go"}}}},
		ways:  []way{{"go", "go install golang.org/x/tools/gopls@latest"}, {"brew", "brew install gopls"}},
	}
	tsc := &Server{
		Name: "tsc", Language: "typescript", Argv: []string{"tsc", "--lsp", "--stdio"},
		Ready: client.AtOnce, Diagnostics: Pull, Loose: true, Markers: []string{"node_modules"},
		Proof: nativeTypeScript, ways: []way{{"npm", "npm install -g typescript"}},
	}
	tls := &Server{
		Name: "typescript-language-server", Language: "typescript", Argv: []string{"typescript-language-server", "--stdio"},
		Ready: client.OnProgress, Diagnostics: Fence, Loose: true, Markers: []string{"node_modules"},
		// While others are opened and closed it loses a file for a moment.
		Slips:   []string{"Could not find source file", "No Project"},
		Options: ownTypeScript, Proof: hasTypeScript, ways: []way{{"npm", "npm install -g typescript-language-server typescript@5"}},
	}
	pyright := &Server{
		Name: "pyright", Language: "python", Argv: []string{"pyright-langserver", "--stdio"},
		Ready: client.OnFound, Diagnostics: Pull, OpenCreated: true, Markers: venvs,
		Reload:   []string{"pyproject.toml", "pyrightconfig.json", "setup.cfg"},
		Extended: extended,
		Settings: installed, Program: interpreter, ways: []way{{"npm", "npm install -g pyright"}, {"pipx", "pipx install pyright"}, {"uv", "uv tool install pyright"}},
	}
	basedpyright := &Server{
		Name: "basedpyright", Language: "python", Argv: []string{"basedpyright-langserver", "--stdio"},
		Ready: client.OnFound, Diagnostics: Pull, OpenCreated: true, Markers: venvs,
		Reload:   []string{"pyproject.toml", "pyrightconfig.json", "setup.cfg"},
		Extended: extended,
		Settings: installed, Program: interpreter, ways: []way{{"npm", "npm install -g basedpyright"}},
	}
	rust := &Server{
		Name: "rust-analyzer", Language: "rust", Argv: []string{"rust-analyzer"}, RunsCode: true,
		Ready: client.OnStatus, Diagnostics: Pull, Text: "rust-analyzer/viewFileText", Unlinked: "unlinked-file",
		Options: crates, UTF8: true,
		Reload: []string{"Cargo.toml", "Cargo.lock", "build.rs", "rust-toolchain", "rust-toolchain.toml", "config.toml"},
		Check:  &Check{Method: "rust-analyzer/runFlycheck", Token: "rust-analyzer/flycheck", Failed: "cargo check failed", Hint: "cargo check"},
		Needs:  []need{{"cargo", []way{{"rustup", "rustup default stable"}, {"apt-get", "sudo apt-get install cargo"}, {"brew", "brew install rust"}}}},
		Complaints: []Complaint{
			{"Failed to discover workspace", "there is no Cargo.toml", "cargo init", true},
			{"Failed to load workspaces", "cargo can't read the project", "cargo metadata --no-deps --format-version 1", true},
			{"Failed to read Cargo metadata with dependencies", "dependencies are missing, which cargo fetch gets", "cargo fetch", false},
			{"cargo check failed", "cargo check can't run", "cargo check", false},
			{"can't load standard library", "the standard library is not known without rust-src (rustup component add rust-src)", "rustup component add rust-src", false},
		},
		Libraries: registry,
		// The target folder of the workspace can't be written, and is not ours.
		Env: func(at Start) []string {
			return []string{"CARGO_TARGET_DIR=" + filepath.Join(at.Cache, "target"), "CARGO_NET_OFFLINE=true"}
		},
		ways: []way{{"rustup", "rustup component add rust-analyzer"}, {"apt-get", "sudo apt-get install rust-analyzer"}, {"brew", "brew install rust-analyzer"}},
	}
	packages := []string{"tsconfig.json", "jsconfig.json", "package.json"}
	return []*Language{
		{"go", "Go", map[string]string{".go": "go", "go.mod": "go.mod", "go.work": "go.work"}, []string{"go.work", "go.mod"}, []*Server{gopls}},
		{"typescript", "TypeScript", map[string]string{".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "typescriptreact"}, packages, []*Server{tsc, tls}},
		{"javascript", "JavaScript", map[string]string{".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascriptreact"}, packages, []*Server{tsc, tls}},
		{"python", "Python", map[string]string{".py": "python", ".pyi": "python"}, []string{"pyproject.toml", "setup.cfg", "setup.py", "pyrightconfig.json"}, []*Server{pyright, basedpyright}},
		{"rust", "Rust", map[string]string{".rs": "rust"}, []string{"Cargo.toml"}, []*Server{rust}},
	}
}

// quote writes a path as a pattern that matches it alone.
var quote = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// registry are the folders in which cargo puts what it fetches.
func registry(at Start) func() []string {
	home := door.Get(at.Env, "CARGO_HOME")
	if home == "" {
		home = filepath.Join(door.Get(at.Env, "HOME"), ".cargo")
	}
	return func() []string {
		list := []string{filepath.Join(home, "git", "checkouts")}
		found, _ := filepath.Glob(filepath.Join(quote.Replace(home), "registry", "*", "*"))
		return append(list, found...)
	}
}

// crates names the outermost crates where none is at the root: rust-analyzer looks
// for them one folder deep.
func crates(at Start) any {
	var list []string
	for _, file := range at.Files {
		if filepath.Base(file) == "Cargo.toml" && paths.Inside(at.Root, file) {
			list = append(list, file)
		}
	}
	slices.SortFunc(list, func(a, b string) int { return len(a) - len(b) })
	var outer []string
	for _, file := range list {
		if !slices.ContainsFunc(outer, func(o string) bool { return paths.Inside(filepath.Dir(o), file) }) {
			outer = append(outer, file)
		}
	}
	options := map[string]any{"checkOnSave": false} // it is told to check when somebody asks
	if len(outer) > 0 && filepath.Dir(outer[0]) != at.Root {
		slices.Sort(outer)
		options["linkedProjects"] = outer
	}
	return options
}
