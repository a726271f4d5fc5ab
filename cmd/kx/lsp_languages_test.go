package main

import (
	"os"
	"strings"
	"testing"

	"github.com/kxtools/kx/pkg/wire"
)

const (
	tsConfig  = `{"compilerOptions":{"strict":true,"noEmit":true,"module":"esnext","moduleResolution":"bundler"},"include":["src"]}`
	tsNumbers = "export function f(a: number): number { return a; }\n"
	tsWords   = "export function f(a: string): number { return a.length; }\n"
	tsUse     = "import { f } from \"./p\";\n/* 😀 */ export const x = f(1);\n"
)

// A name is resolved to what it is declared as, not to what brings it in; a rename goes
// through the gate as a patch, and changes all of its files.
func TestRenameThroughTheGate(t *testing.T) {
	c := newProject(t, map[string]string{"tsconfig.json": tsConfig, "src/p.ts": tsNumbers, "src/a.ts": tsUse})
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
	if exit, out := c.both("approve", "allow", id, "--key", c.key()); exit != 0 {
		t.Fatalf("allow: %d %s", exit, out)
	}
	if exit, out := c.both("lsp", "rename", "src/p.ts:1:f", "double", "--apply"); exit != 0 || read() != strings.NewReplacer("f }", "double }", "f(", "double(").Replace(before) {
		t.Errorf("apply: %d %s%s", exit, out, read())
	}
	c.finds("renamed", "src/a.ts", wire.CodeClean, "")
}

// What nobody can tell is not clean: of all files, each language has its say.
func TestDiagnosticsOfEverything(t *testing.T) {
	c := newModule(t, map[string]string{
		"tsconfig.json": tsConfig, "src/p.ts": tsNumbers, "src/a.ts": tsUse,
		"main.go": "package m\n", "pk/__init__.py": "", "pk/p.py": pyTotal, "notes.xyz": "x",
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

// Of names: overloads are one place, and so is what several files import.
func TestScriptNames(t *testing.T) {
	c := newProject(t, nil, "tsc", "pyright")
	c.write("tsconfig.json", tsProject)
	c.write("package.json", "{\"type\": \"module\"}\n")
	c.write("shop.ts", "export default class Shop {\n\tsell(n: number): void;\n\tsell(n: string): void;\n\tsell(_: unknown) {}\n}\nexport class Real { sell(_: number) {} }\n")
	c.write("use.ts", "import Shop, { Real } from \"./shop.js\";\nnew Shop().sell(1);\nnew Real().sell(2);\n")
	c.write("cart.py", "from typing import overload\n\nclass Cart:\n    @overload\n    def add(self, n: int) -> None: ...\n    @overload\n    def add(self, n: str) -> None: ...\n    def add(self, n: object) -> None: ...\n\ndef helper(): ...\n")
	c.write("two.py", "def helper(): ...\n")
	for symbol, want := range map[string]string{"Shop": "shop.ts:1", "Real": "shop.ts:6", "Shop.sell": "shop.ts:2 shop.ts:3 shop.ts:4 use.ts:2", "Real.sell": "shop.ts:6 use.ts:3", "Cart.add": "cart.py:5 cart.py:7 cart.py:8"} {
		exit, a := c.ask("references", "--symbol", symbol, "--wait", "60s")
		if got := places(a); exit != 0 || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %d %s %q, not %q: %+v", symbol, exit, a.State, got, want, a.Candidates)
		}
	}
	for symbol, want := range map[string]int{"sell": 2, "helper": 2} {
		if exit, a := c.ask("definition", "--symbol", symbol, "--wait", "60s"); exit != 2 || len(a.Candidates) != want {
			t.Errorf("%s: %d %+v", symbol, exit, a.Candidates)
		}
	}
	// Who answers has a name and a version, whatever it says in its greeting.
	for file, want := range map[string]string{"use.ts:2:Shop": "typescript-go 7.0.2", "two.py:1:helper": "pyright 1.1.414"} {
		if _, a := c.ask("hover", file); a.Server == nil || a.Server.Name+" "+a.Server.Version != want {
			t.Errorf("%s: %+v", file, a.Server)
		}
	}
}
