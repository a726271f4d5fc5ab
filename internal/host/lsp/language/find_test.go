package language

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/host/lsp/lsptest"
	"github.com/kxtools/kx/internal/record/config"
)

func code(err error) string { return fail.As(err).Code }

// world is a folder with programs and a workspace.
type world struct {
	t    *testing.T
	root string
}

func newWorld(t *testing.T) world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return world{t, root}
}

func (w world) path(name string) string { return filepath.Join(w.root, name) }

func (w world) dir(name string) string {
	if err := os.MkdirAll(w.path(name), 0o700); err != nil {
		w.t.Fatal(err)
	}
	return w.path(name)
}

func (w world) file(name, text string) string {
	w.dir(filepath.Dir(name))
	if err := os.WriteFile(w.path(name), []byte(text), 0o700); err != nil {
		w.t.Fatal(err)
	}
	return w.path(name)
}

func (w world) link(to, name string) {
	w.dir(filepath.Dir(name))
	if err := os.Symlink(to, w.path(name)); err != nil {
		w.t.Fatal(err)
	}
}

func TestFind(t *testing.T) {
	w := newWorld(t)
	ws := w.dir("ws")
	w.file("ws/bin/gopls", "")
	w.file("ws/bin/other", "")
	w.file("bin/gopls", "")
	w.file("bin/go", "")
	w.file("alone/gopls", "")
	w.dir("folder/gopls")
	w.link("../ws/bin/gopls", "links/gopls")
	w.link("ws/bin", "linked")
	w.file("plain/gopls", "")
	os.Chmod(w.path("plain/gopls"), 0o600)
	path := func(dirs ...string) []string {
		for i, d := range dirs {
			if strings.HasPrefix(d, "/") {
				dirs[i] = w.path(d)
			}
		}
		return []string{"HOME=/", "PATH=" + strings.Join(dirs, ":")}
	}
	for _, tt := range []struct {
		env       []string
		want, why string
	}{
		{path("/bin"), "bin/gopls", ""},
		{path("", ".", "bin", "/plain", "/folder", "/absent", "/bin"), "bin/gopls", ""},
		{path("/ws/bin", "/links", "/linked", "/bin"), "bin/gopls", ""},
		{path("/ws/bin"), "", "ws/bin/gopls lies in the workspace"},
		{path("/links"), "", "links/gopls lies in the workspace"},
		{path("/linked"), "", "linked/gopls lies in the workspace"},
		{path("/plain"), "", "gopls is not on PATH"},
		{path("/alone"), "", "gopls needs go: go is not on PATH"},
		{nil, "", "gopls is not on PATH"},
	} {
		argv, err := Table(nil)[0].Servers[0].Find(tt.env, ws)
		switch {
		case tt.why != "":
			if err == nil || !strings.Contains(err.Error(), tt.why) {
				t.Errorf("%v: %v %v", tt.env, argv, err)
			}
		case err != nil || cmp.Diff([]string{w.path(tt.want), "serve"}, argv) != "":
			t.Errorf("%v: %v %v", tt.env, argv, err)
		}
	}
	env := Env(append(path("", "x", "/ws/bin", "/linked", "/links", "/bin"), "A=b"), ws)
	if d := cmp.Diff([]string{"HOME=/", "PATH=" + w.path("links") + ":" + w.path("bin"), "A=b"}, env); d != "" {
		t.Error(d)
	}
	for program, why := range map[string]string{"bin/gopls": "", "ws/bin/other": "lies in the workspace", "links/gopls": "lies in the workspace", "plain/gopls": "can't be run", "none": "is not there"} {
		s := Table([]config.LanguageServer{{Name: "gopls", Command: []string{w.path(program)}}})[0].Servers[0]
		if _, err := s.Find(path("/bin"), ws); (err == nil) != (why == "") || err != nil && !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", program, err)
		}
	}
}

// A compiler of TypeScript that is no language server is known before it is started,
// and typescript-language-server never takes the project's.
func TestTypeScript(t *testing.T) {
	w := newWorld(t)
	ws := w.dir("ws")
	install := func(prefix, version string, tls bool) []string {
		module := prefix + "/lib/node_modules/typescript/"
		w.file(module+"package.json", `{"name":"typescript","version":"`+version+`"}`)
		w.file(module+"bin/tsc", "")
		w.link("../lib/node_modules/typescript/bin/tsc", prefix+"/bin/tsc")
		if !strings.HasPrefix(version, "7") {
			w.file(module+"lib/tsserver.js", "")
		}
		if tls {
			w.file(prefix+"/lib/node_modules/typescript-language-server/package.json", `{"name":"typescript-language-server","version":"5.3.0"}`)
			w.file(prefix+"/lib/node_modules/typescript-language-server/lib/cli.mjs", "")
			w.link("../lib/node_modules/typescript-language-server/lib/cli.mjs", prefix+"/bin/typescript-language-server")
		}
		return []string{"PATH=" + w.path(prefix+"/bin")}
	}
	w.file("shim/tsc", "#!/bin/sh\n")
	w.file("odd/package.json", "{")
	w.file("odd/bin/tsc", "")
	for name, tt := range map[string]struct {
		env      []string
		tsc, tls string
	}{
		"7":                   {install("seven", "7.0.2", false), "", "not on PATH"},
		"10":                  {install("ten", "10.1.0-dev", false), "", "not on PATH"},
		"5 with a server":     {install("five", "5.9.3", true), "tsc is 5.9.3", ""},
		"7 with a server":     {install("both", "7.0.2", true), "", "no typescript older than 7"},
		"a shim":              {[]string{"PATH=" + w.path("shim")}, "", "not on PATH"},
		"an odd package.json": {[]string{"PATH=" + w.path("odd/bin")}, "", "not on PATH"},
	} {
		for i, want := range []string{tt.tsc, tt.tls} {
			argv, err := Table(nil)[1].Servers[i].Find(tt.env, ws)
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s, server %d: %v %v, want %q", name, i, argv, err, want)
			}
		}
	}
	tls := Table(nil)[1].Servers[1]
	argv, err := tls.Find([]string{"PATH=" + w.path("five/bin")}, ws)
	if err != nil {
		t.Fatal(err)
	}
	options := tls.Options(Start{Argv: argv, Root: ws}).(map[string]any)["tsserver"].(map[string]any)
	if options["useSyntaxServer"] != "never" {
		t.Errorf("a server that knows no project may answer: %v", options)
	}
	if options["path"] != w.path("five/lib/node_modules/typescript/lib/tsserver.js") {
		t.Errorf("got %v", options)
	}
}

// A person gets one command, with a program that there is.
func TestAdvice(t *testing.T) {
	w := newWorld(t)
	ws := w.dir("ws")
	w.file("bin/apt-get", "")
	w.file("ok/gopls", "")
	w.file("ok/go", "")
	env := []string{"PATH=" + w.path("bin")}
	langs := Table([]config.LanguageServer{{Name: "x", Command: []string{"xls"}, Extensions: map[string]string{".x": "x"}}})
	for lang, want := range map[string][2]string{
		"go":         {"gopls is not on PATH", "go install golang.org/x/tools/gopls@latest"},
		"typescript": {"tsc is not on PATH; typescript-language-server is not on PATH", "npm install -g typescript"},
		"python":     {"pyright-langserver is not on PATH; basedpyright-langserver is not on PATH", "npm install -g pyright"},
		"rust":       {"rust-analyzer is not on PATH", "sudo apt-get install rust-analyzer"},
		"x":          {"xls is not on PATH", ""},
	} {
		why, install := Advice(ByName(langs, lang), env, ws)
		if why != want[0] || install != want[1] {
			t.Errorf("%s: %q, %q", lang, why, install)
		}
	}
	if why, install := Advice(langs[1], []string{"PATH=" + w.path("ok")}, ws); why+install != "" {
		t.Errorf("%q %q", why, install)
	}
	err := Missing(ByName(langs, "rust"))
	if err.Msg != "no language server for Rust on this machine" || err.Hint != "kx lsp doctor rust" || err.Exit != fail.ExitUnavailable {
		t.Errorf("%+v", err)
	}
}

// The servers that tests drive are found as they are installed.
func TestFindInstalled(t *testing.T) {
	ws := t.TempDir()
	for _, l := range Table(nil) {
		for _, s := range l.Servers {
			env := []string{"PATH=" + strings.Join(lsptest.Servers(t, s.Name), ":")}
			argv, err := s.Find(env, ws)
			if err != nil {
				t.Errorf("%s: %v", s.Name, err)
			}
			if s.Name == "typescript-language-server" {
				if _, err := l.Servers[0].Find(env, ws); err == nil || !strings.Contains(err.Error(), "tsc is 5.9.3") {
					t.Errorf("the compiler beside it: %v", err)
				}
				if path := tsserver(argv[0]); !strings.Contains(path, "bin/servers/typescript-language-server") {
					t.Errorf("it starts %q", path)
				}
			}
		}
	}
}
