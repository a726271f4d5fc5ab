package language

import (
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kxtools/kx/internal/base/jail"
	"github.com/kxtools/kx/internal/gate/sandbox"
	"github.com/kxtools/kx/internal/record/config"
)

// describe shows who is asked about which files, a line a language.
func describe(langs []*Language) string {
	var b strings.Builder
	for _, l := range langs {
		var names []string
		for _, s := range l.Servers {
			names = append(names, s.Name)
		}
		fmt.Fprintf(&b, "%s (%s): %s > %s\n", l.Name, l.Title, strings.Join(slices.Sorted(maps.Keys(l.IDs)), " "), strings.Join(names, " "))
	}
	return b.String()
}

const (
	goRow   = "go (Go): .go go.mod go.work > gopls\n"
	tsRow   = "typescript (TypeScript): .cts .mts .ts .tsx > tsc typescript-language-server\n"
	jsRow   = "javascript (JavaScript): .cjs .js .jsx .mjs > tsc typescript-language-server\n"
	pyRow   = "python (Python): .py .pyi > pyright basedpyright\n"
	rustRow = "rust (Rust): .rs > rust-analyzer\n"
)

func TestTable(t *testing.T) {
	server := func(name string, keys ...string) config.LanguageServer {
		s := config.LanguageServer{Name: name, Command: []string{name}, Extensions: map[string]string{}}
		for _, k := range keys {
			s.Extensions[k] = strings.TrimPrefix(k, ".")
		}
		return s
	}
	for name, tt := range map[string]struct {
		user []config.LanguageServer
		want string
	}{
		"nothing":               {nil, goRow + tsRow + jsRow + pyRow + rustRow},
		"a new language":        {[]config.LanguageServer{server("clangd", ".c", ".h")}, "clangd (c, h): .c .h > clangd\n" + goRow + tsRow + jsRow + pyRow + rustRow},
		"all of a language":     {[]config.LanguageServer{server("pylsp", ".py", ".pyi")}, goRow + tsRow + jsRow + "python (Python): .py .pyi > pylsp pyright basedpyright\n" + rustRow},
		"a part of one":         {[]config.LanguageServer{server("pylsp", ".py")}, "pylsp (py): .py > pylsp pyright basedpyright\n" + goRow + tsRow + jsRow + "python (Python): .pyi > pyright basedpyright\n" + rustRow},
		"two languages of one":  {[]config.LanguageServer{server("deno", ".ts", ".js")}, "deno (js, ts): .js .ts > deno tsc typescript-language-server\n" + goRow + "typescript (TypeScript): .cts .mts .tsx > tsc typescript-language-server\njavascript (JavaScript): .cjs .jsx .mjs > tsc typescript-language-server\n" + pyRow + rustRow},
		"unlike languages":      {[]config.LanguageServer{server("any", ".rs", ".c")}, "any (c, rs): .c .rs > any\n" + goRow + tsRow + jsRow + pyRow},
		"two servers":           {[]config.LanguageServer{server("a", ".c"), server("b", ".c", ".d")}, "a (c): .c > a b\nb (d): .d > b\n" + goRow + tsRow + jsRow + pyRow + rustRow},
		"one that is known":     {[]config.LanguageServer{server("gopls")}, goRow + tsRow + jsRow + pyRow + rustRow},
		"a known one, and more": {[]config.LanguageServer{server("gopls", ".tmpl")}, "gopls (tmpl): .tmpl > gopls\n" + goRow + tsRow + jsRow + pyRow + rustRow},
		"a known one first":     {[]config.LanguageServer{server("basedpyright", ".py", ".pyi")}, goRow + tsRow + jsRow + "python (Python): .py .pyi > basedpyright pyright\n" + rustRow},
	} {
		if d := cmp.Diff(tt.want, describe(Table(tt.user))); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
	}
	langs := Table(nil)
	if langs[1].Servers[0] != langs[2].Servers[0] || langs[1].Servers[1] != langs[2].Servers[1] {
		t.Error("TypeScript and JavaScript are asked of two processes")
	}
}

// The configuration has the names of the table.
func TestKnownServers(t *testing.T) {
	var names []string
	for _, l := range Table(nil) {
		for _, s := range l.Servers {
			if s.Install(nil) == "" || len(s.Argv) == 0 || s.Language == "" {
				t.Errorf("%s: not all is said", s.Name)
			}
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	if d := cmp.Diff(slices.Sorted(slices.Values(config.KnownServers)), slices.Compact(names)); d != "" {
		t.Error(d)
	}
}

func TestByPath(t *testing.T) {
	langs := Table([]config.LanguageServer{{Name: "x", Command: []string{"x"}, Extensions: map[string]string{".d.ts": "types", "Makefile": "make"}}})
	for path, want := range map[string]string{
		"/w/a.go": "go go", "/w/go.mod": "go go.mod", "/w/x.mod": "", "/w/a.tsx": "typescript typescriptreact", "/w/a.test.mjs": "javascript javascript",
		"/w/a.d.ts": "x types", "/w/a.b.d.ts": "x types", "/w/a.pyi": "python python", "/w/a.rs": "rust rust", "/w/Makefile": "x make", "/w/README": "", "/w/.go": "go go", "/w/a.GO": "", "/w/go.mod/x": "",
	} {
		l, id := ByPath(langs, path)
		got := ""
		if l != nil {
			got = l.Name + " " + id
		}
		if got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	for name, want := range map[string]string{"Go": "go", "rust-analyzer": "rust", "gopls": "go", "x": "x", "cobol": ""} {
		got := ""
		if l := ByName(langs, name); l != nil {
			got = l.Name
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// What the user says of a known server changes that, and leaves the rest.
func TestTake(t *testing.T) {
	yes := true
	l := ByName(Table([]config.LanguageServer{{
		Name: "gopls", Command: []string{"/opt/gopls", "-v"}, Options: map[string]any{"gofumpt": true},
		Settings: map[string]any{"gopls": map[string]any{"a": int64(1)}}, Env: []string{"GOFLAGS=-tags=x"}, RunsCode: &yes,
	}}), "go")
	s := l.Servers[0]
	if d := cmp.Diff(map[string]any{"pullDiagnostics": true, "gofumpt": true}, s.Options(Start{})); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"GOPROXY=off", "GOFLAGS=-tags=x"}, s.Env(Start{})); d != "" {
		t.Error(d)
	}
	ask := s.Setting(Start{})
	if ask("gopls.a") != int64(1) || ask("other") != nil || ask("gopls.a.b") != nil || !s.RunsCode || s.Argv[0] != "/opt/gopls" || s.Diagnostics != Pull {
		t.Errorf("%v %+v", ask("gopls"), s)
	}
	if known := Table(nil)[0].Servers[0]; known.RunsCode || known.Argv[0] != "gopls" || known.Setting(Start{})("gopls") != nil {
		t.Error("one table changes another")
	}
}

func TestOver(t *testing.T) {
	got := over(map[string]any{"a": 1, "t": map[string]any{"x": 1, "y": 1}}, map[string]any{"t": map[string]any{"y": 2}, "b": map[string]any{"c": 3}})
	if d := cmp.Diff(map[string]any{"a": 1, "t": map[string]any{"x": 1, "y": 2}, "b": map[string]any{"c": 3}}, got); d != "" {
		t.Error(d)
	}
}

// rust-analyzer is told of crates where it would not find them.
func TestCrates(t *testing.T) {
	for name, tt := range map[string]struct {
		files []string
		want  any
	}{
		"at the root": {[]string{"/w/Cargo.toml", "/w/a/Cargo.toml"}, nil},
		"deep":        {[]string{"/w/z/y/Cargo.toml", "/w/b/c/Cargo.toml", "/w/b/c/d/Cargo.toml", "/w/b/cd/Cargo.toml", "/w/a.rs"}, []string{"/w/b/c/Cargo.toml", "/w/b/cd/Cargo.toml", "/w/z/y/Cargo.toml"}},
		"none":        {[]string{"/w/a.rs"}, nil},
	} {
		got := crates(Start{Root: "/w", Files: tt.files}).(map[string]any)["linkedProjects"]
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// The packages of a virtual environment are seen, and its interpreter is not asked.
func TestInstalled(t *testing.T) {
	w := newWorld(t)
	root := w.dir("it's [b]*")
	site := filepath.Join(root, ".venv/lib/python3.12/site-packages")
	w.file("it's [b]*/.venv/lib/python3.12/site-packages/x.py", "")
	w.file("it's [b]*/.venv/bin/python3", "")
	at := Start{Root: root, Cache: "/cache", Env: []string{"PATH=" + filepath.Join(root, ".venv/bin")}}
	ask := (&Server{Settings: installed}).Setting(at)
	if d := cmp.Diff([]string{site}, ask("python.analysis.extraPaths")); d != "" {
		t.Error(d)
	}
	if got := interpreter(at); got != "#!/bin/sh\nexit 1\n" || ask("python.pythonPath") != "/cache/python3" {
		t.Errorf("%v: %q", ask("python.pythonPath"), got)
	}
	at.Env = []string{"PATH=" + filepath.Join(root, ".venv/bin") + ":" + w.path("bin")}
	program := w.file("bin/python3", "#!/bin/sh\nprintf '<%s>' \"$@\"\n")
	run := func() string {
		t.Helper()
		out, err := exec.Command("sh", w.file("script", interpreter(at)), "-I", "-c", "code").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	list := func(dirs ...string) string {
		raw, _ := json.Marshal(dirs)
		return "><" + string(raw) + "><code>"
	}
	if got := run(); !strings.HasPrefix(got, "<-I><-S><-c>") || !strings.Contains(got, `= (3, 12, 0, "final", 0)`) || !strings.HasSuffix(got, list(site)) {
		t.Errorf("%s: %q", program, got)
	}
	if ask := (&Server{Settings: installed}).Setting(at); ask("python.analysis.extraPaths") != nil {
		t.Error("packages count as code of the project")
	}
	w.file("it's [b]*/.venv/lib/python3.12/site-packages/e.pth", "# no\nimport os; os.abort()\n\nsrc \r\n/abs\n")
	w.file("it's [b]*/.venv/pyvenv.cfg", "home = /x\ninclude-system-site-packages = true\n")
	if got := run(); !strings.HasPrefix(got, "<-I><-c>") || !strings.HasSuffix(got, list(site, filepath.Join(site, "src"), "/abs")) {
		t.Errorf("%q", got)
	}
	at.Root, at.Env = w.dir("none"), []string{"PATH=" + w.path("bin")}
	if got := run(); got != "<-I><-c><code>" {
		t.Errorf("%q", got)
	}
}

func TestMayRun(t *testing.T) {
	langs := Table([]config.LanguageServer{{Name: "x", Command: []string{"x"}, Extensions: map[string]string{".x": "x"}}})
	for _, tt := range []struct {
		lang string
		kind jail.Kind
		code bool
		want string
	}{
		{"go", jail.Full, false, ""},
		{"go", jail.Landlock, false, "no_walls"},
		{"go", jail.None, false, "no_walls"},
		{"go", jail.None, true, ""},
		{"rust", jail.Full, false, "untrusted"},
		{"rust", jail.Full, true, ""},
		{"x", jail.Full, false, "untrusted"},
		{"x", jail.Landlock, true, ""},
	} {
		err := MayRun(ByName(langs, tt.lang).Servers[0], tt.code, sandbox.Walls{Kind: tt.kind})
		got := ""
		if err != nil {
			got = code(err)
		}
		if got != tt.want {
			t.Errorf("%s, %s, %v: %v", tt.lang, tt.kind, tt.code, err)
		}
	}
}
