package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/host/lsp/lsptest"
	"github.com/kxtools/kx/pkg/wire"
)

const (
	tsConfig  = `{"compilerOptions":{"strict":true,"noEmit":true,"module":"esnext","moduleResolution":"bundler"%s},"include":["src"]}`
	tsNumbers = "export function f(a: number): number { return a; }\n"
	tsWords   = "export function f(a: string): number { return a.length; }\n"
	tsUse     = "import { f } from \"./p\";\n/* 😀 */ export const x = %s(1);\n"
)

// Every answer is of the files as they are: of TypeScript's own server, and of the older
// one, which pushes what it finds without saying of which text. JavaScript has the same.
func TestTypeScriptIsNeverStale(t *testing.T) {
	for _, server := range []string{"tsc", "typescript-language-server"} {
		t.Run(server, func(t *testing.T) {
			c := newModule(t, map[string]string{"tsconfig.json": fmt.Sprintf(tsConfig, ""), "src/p.ts": tsNumbers, "src/a.ts": fmt.Sprintf(tsUse, "f")})
			c.env = slices.DeleteFunc(c.env, func(v string) bool { return strings.HasPrefix(v, "PATH=") })
			c.env = append(c.env, "PATH="+strings.Join(lsptest.Servers(t, server), ":"))
			c.finds("at first", "src/a.ts", wire.CodeClean, "")
			c.at("at first", "references", "src/p.ts:1:f", "src/a.ts:1 src/a.ts:2 src/p.ts:1")
			if _, a := c.ask("hover", "src/a.ts:2:f"); !strings.Contains(a.Hover, "f(a: number): number") {
				t.Errorf("behind an emoji it says %q", a.Hover)
			}
			c.write("src/p.ts", tsWords)
			c.finds("a dependency changed", "src/a.ts", wire.CodeFindings, "2:2345")
			c.write("src/p.ts", tsNumbers)
			c.finds("and back", "src/a.ts", wire.CodeClean, "")
			c.write("src/b.ts", "import { f } from \"./p\";\nexport const y = f(1);\n")
			c.at("a new file", "references", "src/p.ts:1:f", "src/a.ts:1 src/a.ts:2 src/b.ts:1 src/b.ts:2 src/p.ts:1")
			c.remove("src/b.ts")
			c.at("a file is gone", "references", "src/p.ts:1:f", "src/a.ts:1 src/a.ts:2 src/p.ts:1")
			for i := range 10 {
				c.write("src/a.ts", fmt.Sprintf(tsUse, "f"))
				c.write("src/a.ts", fmt.Sprintf(tsUse, "g"))
				c.finds(fmt.Sprint("quick edit ", i), "src/a.ts", wire.CodeFindings, "2:2304")
				c.write("src/a.ts", fmt.Sprintf(tsUse, "f"))
				c.finds(fmt.Sprint("quick edit back ", i), "src/a.ts", wire.CodeClean, "")
			}
			c.run("mv", "src/p.ts", "src/q.ts")
			c.finds("a file is renamed", "src/a.ts", wire.CodeFindings, "1:2307")
			c.run("mv", "src/q.ts", "src/p.ts")
			c.finds("and back", "src/a.ts", wire.CodeClean, "")
			c.write("node_modules/dep/package.json", `{"name":"dep","version":"1.0.0","types":"i.d.ts"}`)
			c.write("node_modules/dep/i.d.ts", "export const d: number;\n")
			c.write("src/a.ts", "import { d } from \"dep\";\nexport const x: string = d;\n")
			c.finds("a package was installed", "src/a.ts", wire.CodeFindings, "2:2322")
			c.write("src/j.js", "/** @type {number} */\nexport const n = 1;\nexport const m = n;\n")
			c.at("JavaScript", "references", "src/j.js:2:n", "src/j.js:2 src/j.js:3")
		})
	}
}

// A name is resolved to what it is declared as, not to what brings it in; a rename goes
// through the gate as a patch, and changes all of its files.
func TestRenameThroughTheGate(t *testing.T) {
	c := newModule(t, map[string]string{"tsconfig.json": fmt.Sprintf(tsConfig, ""), "src/p.ts": tsNumbers, "src/a.ts": fmt.Sprintf(tsUse, "f")})
	_, key := c.kx("config", "path", "approver-key") // which makes it
	c.key = strings.TrimSpace(key)
	if exit, a := c.ask("references", "--symbol", "f", "--wait", "60s"); exit != 0 || places(a) != "src/a.ts:1 src/a.ts:2 src/p.ts:1" {
		t.Fatalf("--symbol: %d %q", exit, places(a))
	}
	read := func() string {
		a, _ := os.ReadFile(c.path("src/a.ts"))
		p, _ := os.ReadFile(c.path("src/p.ts"))
		return string(a) + string(p)
	}
	before := read()
	if exit, out := c.kx("lsp", "rename", "src/p.ts:1:f", "double", "--dry-run", "-o", "table"); exit != 0 || !strings.Contains(out, "+/* 😀 */ export const x = double(1);") || read() != before {
		t.Errorf("dry run: %d %s", exit, out)
	}
	exit, out := c.kx("lsp", "rename", "src/p.ts:1:f", "double", "--apply", "-o", "table")
	if exit != 4 || read() != before {
		t.Fatalf("apply: %d %s", exit, out)
	}
	exit, list := c.kx("approve", "list", "-o", "jsonl")
	if exit != 0 || strings.Count(list, "\n") != 1 || !strings.Contains(list, `"tool":"apply_patch"`) {
		t.Fatalf("requests: %d %s", exit, list)
	}
	_, id, _ := strings.Cut(list, `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	if exit, out := c.both("approve", "allow", id, "--key", c.key); exit != 0 {
		t.Fatalf("allow: %d %s", exit, out)
	}
	if exit, out := c.both("lsp", "rename", "src/p.ts:1:f", "double", "--apply"); exit != 0 || read() != strings.NewReplacer("f }", "double }", "f(", "double(").Replace(before) {
		t.Errorf("apply: %d %s%s", exit, out, read())
	}
	c.finds("renamed", "src/a.ts", wire.CodeClean, "")
}

const (
	pyNumbers = "def add_numbers(a: int, b: int) -> int:\n    return a + b\n"
	pyWords   = "def add_numbers(a: int, b: int) -> str:\n    return str(a + b)\n"
	pyUse     = "from pk.p import %[1]s\n\nx: int = \"😀\" and %[1]s(1, 2)\n"
)

// Pyright takes notice of new files late; answers are of the files as they are anyway.
func TestPythonIsNeverStale(t *testing.T) {
	for _, server := range []string{"pyright", "basedpyright"} {
		t.Run(server, func(t *testing.T) {
			c := newModule(t, map[string]string{"pk/__init__.py": "", "pk/p.py": pyNumbers, "a.py": fmt.Sprintf(pyUse, "add_numbers")})
			c.remove("go.mod")
			c.env = slices.DeleteFunc(c.env, func(v string) bool { return strings.HasPrefix(v, "PATH=") })
			c.env = append(c.env, "PATH="+strings.Join(lsptest.Servers(t, server), ":"))
			errs := func(what, want string) {
				t.Helper()
				_, a := c.ask("diagnostics", "a.py", "--wait", "60s")
				got := ""
				for _, d := range a.Diagnostics {
					if d.Severity == "error" {
						got += fmt.Sprintf("%d:%s ", d.Line, d.Code)
					}
				}
				if strings.TrimSpace(got) != want || a.State == wire.CodePending || a.State == wire.CodeUnavailable {
					t.Errorf("%s: %s %q, not %q: %s", what, a.State, got, want, a.Reason)
				}
			}
			errs("at first", "")
			c.at("at first", "references", "pk/p.py:1:add_numbers", "a.py:1 a.py:3 pk/p.py:1")
			c.write("pk/p.py", pyWords)
			errs("a dependency changed", "3:reportAssignmentType")
			c.write("pk/p.py", pyNumbers)
			errs("and back", "")
			c.write("b.py", fmt.Sprintf(pyUse, "add_numbers"))
			c.at("a new file", "references", "pk/p.py:1:add_numbers", "a.py:1 a.py:3 b.py:1 b.py:3 pk/p.py:1")
			c.remove("b.py")
			c.at("a file is gone", "references", "pk/p.py:1:add_numbers", "a.py:1 a.py:3 pk/p.py:1")
			for i := range 10 {
				c.write("a.py", fmt.Sprintf(pyUse, "add_numbers"))
				c.write("a.py", fmt.Sprintf(pyUse, "sub_numbers"))
				errs(fmt.Sprint("quick edit ", i), "1:reportAttributeAccessIssue")
				c.write("a.py", fmt.Sprintf(pyUse, "add_numbers"))
				errs(fmt.Sprint("quick edit back ", i), "")
			}
			c.run("mv", "pk", "pl")
			errs("a folder is renamed", "1:reportMissingImports")
			c.run("mv", "pl", "pk")
			errs("and back", "")
			for i := range 40 {
				c.write(fmt.Sprintf("many/m%d.py", i), fmt.Sprintf("from pk.p import add_numbers\n\nn%d = add_numbers(1, 2)\n", i))
			}
			if _, a := c.ask("references", "pk/p.py:1:add_numbers", "--limit", "200", "--wait", "60s"); a.Total != 3+80 {
				t.Errorf("many new files: %d references", a.Total)
			}
		})
	}
}

// What nobody can tell is not clean: of all files, each language has its say.
func TestDiagnosticsOfEverything(t *testing.T) {
	c := newModule(t, map[string]string{
		"tsconfig.json": fmt.Sprintf(tsConfig, ""), "src/p.ts": tsNumbers, "src/a.ts": fmt.Sprintf(tsUse, "f"),
		"main.go": "package m\n", "pk/__init__.py": "", "pk/p.py": pyNumbers, "notes.xyz": "x",
	})
	state := func(what, want string, exit int, found string) {
		t.Helper()
		got, a := c.ask("diagnostics", "--wait", "60s")
		list := ""
		for _, d := range a.Diagnostics {
			list += d.Path + " "
		}
		if got != exit || a.State != want || strings.TrimSpace(list) != found {
			t.Errorf("%s: %d %s %q, not %d %s %q: %+v", what, got, a.State, list, exit, want, found, a.Skipped)
		}
	}
	state("at first", wire.CodeClean, 0, "")
	c.write("src/p.ts", tsWords)
	c.write("main.go", "package m\n\nvar x int = \"\"\n")
	state("two languages", wire.CodeFindings, 1, "main.go src/a.ts")
	c.write("lib.rs", "fn main() {}\n")
	state("a server that may not run", wire.CodeUnavailable, 5, "main.go src/a.ts")
}
