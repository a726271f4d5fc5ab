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
	tsProject = `{"compilerOptions": {"strict": true, "noUnusedLocals": true, "noEmit": true, "module": "nodenext", "target": "es2022", "types": [], "resolveJsonModule": true}}` + "\n"
	tsCalls   = "import { total } from \"./price.js\";\n\nexport const sum: number = total(3);\n"
	tsTotal   = "export function total(n: number): number { return n; }\n"
	tsText    = "export function total(n: number): string { return \"\"; }\n"
)

// newScripts makes an empty workspace, with one server on PATH.
func newScripts(t *testing.T, server string) *crate {
	t.Helper()
	c := newModule(t, nil)
	c.remove("go.mod")
	c.env = slices.DeleteFunc(c.env, func(v string) bool { return strings.HasPrefix(v, "PATH=") })
	c.env = append(c.env, "PATH="+strings.Join(lsptest.Servers(t, server), ":"))
	return c
}

// Every answer is from the disk as it is, by one question after each change: from the
// compiler that is a server, and from the older one behind its own.
func TestTypeScriptProjectIsNeverStale(t *testing.T) {
	for _, server := range []string{"tsc", "typescript-language-server"} {
		t.Run(server, func(t *testing.T) {
			c := newScripts(t, server)
			c.write("package.json", "{\"type\": \"module\"}\n")
			c.write("tsconfig.json", tsProject)
			c.write("main.ts", tsCalls)
			c.write("price.ts", tsTotal)
			c.at("at first", "definition", "main.ts:3:total", "price.ts:1")
			c.finds("at first", "main.ts", wire.CodeClean, "")
			pid := c.server()
			for i := range rounds(8, 60) {
				c.write("price.ts", strings.Repeat("//\n", i%4)+tsTotal)
				c.at("a closed file changed", "definition", "main.ts:3:total", fmt.Sprintf("price.ts:%d", 1+i%4))
			}
			for range rounds(4, 30) {
				c.remove("price.ts")
				c.finds("deleted", "main.ts", wire.CodeFindings, "1:2307")
				c.write("price.ts", tsTotal)
				c.finds("new", "main.ts", wire.CodeClean, "")
				c.write("price.ts", tsText)
				c.finds("a dependency changed", "main.ts", wire.CodeFindings, "3:2322")
				c.write("price.ts", tsTotal)
				c.finds("a dependency changed back", "main.ts", wire.CodeClean, "")
			}
			// The same size, in the same tick of the clock.
			for i := range rounds(30, 200) {
				word, state, want := "number", wire.CodeClean, ""
				if i%2 == 1 {
					word, state, want = "string", wire.CodeFindings, "3:2322"
				}
				c.write("price.ts", "export declare function total(n: number): "+word+";\n")
				c.finds("the same size", "main.ts", state, want)
			}
			c.write("price.ts", tsTotal)
			want := []string{"main.ts:1", "main.ts:3", "price.ts:1"}
			for i := range 40 {
				c.write(fmt.Sprintf("use/m%02d.ts", i), "import { total } from \"../price.js\";\nexport const n = total(1);\n")
				want = append(want, fmt.Sprintf("use/m%02d.ts:1", i), fmt.Sprintf("use/m%02d.ts:2", i))
			}
			if exit, a := c.ask("references", "price.ts:1:total", "--wait", "60s", "--limit", "200"); exit != 0 || places(a) != strings.Join(want, " ") {
				t.Errorf("many new: %d %q", exit, places(a))
			}
			if err := os.RemoveAll(c.path("use")); err != nil {
				t.Fatal(err)
			}
			c.at("many gone", "references", "price.ts:1:total", "main.ts:1 main.ts:3 price.ts:1")
			if err := os.Rename(c.path("price.ts"), c.path("cost.ts")); err != nil {
				t.Fatal(err)
			}
			c.finds("renamed", "main.ts", wire.CodeFindings, "1:2307")
			c.write("main.ts", strings.ReplaceAll(tsCalls, "price", "cost"))
			c.at("renamed", "definition", "main.ts:3:total", "cost.ts:1")
			c.finds("renamed, and what imports it", "main.ts", wire.CodeClean, "")

			// What it imports that is no TypeScript.
			c.write("data.json", "{\"n\": 1}\n")
			c.write("json.ts", "import data from \"./data.json\" with { type: \"json\" };\n\nexport const n: number = data.n;\n")
			c.finds("JSON", "json.ts", wire.CodeClean, "")
			c.write("data.json", "{\"n\": \"\"}\n")
			c.finds("JSON changed", "json.ts", wire.CodeFindings, "3:2322")
			c.remove("data.json")
			c.finds("JSON is gone", "json.ts", wire.CodeFindings, "1:2307")
			c.write("data.json", "{\"n\": 2}\n")
			c.finds("JSON is back", "json.ts", wire.CodeClean, "")

			// The project itself.
			c.write("loose.ts", "export function f() { const x = 1; }\n")
			c.finds("strict", "loose.ts", wire.CodeFindings, "1:6133")
			c.write("tsconfig.json", strings.ReplaceAll(tsProject, "Locals\": true", "Locals\": false"))
			c.finds("not strict", "loose.ts", wire.CodeClean, "")
			c.write("tsconfig.json", tsProject)
			c.finds("strict again", "loose.ts", wire.CodeFindings, "1:6133")
			c.write("base.json", "{\"compilerOptions\": {\"noUnusedLocals\": false}}\n")
			c.write("tsconfig.json", "{\"extends\": \"./base.json\", "+strings.ReplaceAll(tsProject[1:], "\"noUnusedLocals\": true, ", ""))
			c.finds("by another file", "loose.ts", wire.CodeClean, "")
			c.write("base.json", "{\"compilerOptions\": {\"noUnusedLocals\": true}}\n")
			c.finds("by another file that changed", "loose.ts", wire.CodeFindings, "1:6133")
			c.remove("tsconfig.json")
			c.finds("no tsconfig.json", "loose.ts", wire.CodeClean, "")
			c.write("tsconfig.json", tsProject)
			c.finds("tsconfig.json is back", "loose.ts", wire.CodeFindings, "1:6133")
			if now := c.server(); now != pid {
				t.Errorf("the server is another one: %d, %d", pid, now)
			}

			// Packages.
			c.write("lib.ts", "import { one } from \"lib\";\n\nexport const n: number = one;\n")
			c.finds("no package", "lib.ts", wire.CodeFindings, "1:2307")
			c.write("node_modules/lib/package.json", "{\"name\": \"lib\", \"version\": \"1.0.0\", \"type\": \"module\", \"types\": \"index.d.ts\"}\n")
			c.write("node_modules/lib/index.d.ts", "export declare const one: number;\n")
			c.finds("a package", "lib.ts", wire.CodeClean, "")
			// Updated as npm does: another folder in its place.
			c.write("node_modules/.lib-x/package.json", "{\"name\": \"lib\", \"version\": \"1.0.1\", \"type\": \"module\", \"types\": \"index.d.ts\"}\n")
			c.write("node_modules/.lib-x/index.d.ts", "export declare const one: string;\n")
			if err := os.RemoveAll(c.path("node_modules/lib")); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(c.path("node_modules/.lib-x"), c.path("node_modules/lib")); err != nil {
				t.Fatal(err)
			}
			c.finds("a package updated", "lib.ts", wire.CodeFindings, "3:2322")
			if err := os.RemoveAll(c.path("node_modules")); err != nil {
				t.Fatal(err)
			}
			c.finds("a package removed", "lib.ts", wire.CodeFindings, "1:2307")
			c.remove("lib.ts")

			c.run("git", "init", "-q")
			c.run("git", "add", "-A")
			c.run("git", "commit", "-qm", "one")
			c.run("git", "checkout", "-qb", "other")
			c.write("cost.ts", "//\n//\n"+tsText)
			c.run("git", "commit", "-qam", "two")
			for range rounds(3, 20) {
				c.run("git", "checkout", "-q", "-")
				c.at("git checkout", "definition", "main.ts:3:total", "cost.ts:1")
				c.finds("git checkout", "main.ts", wire.CodeClean, "")
				c.run("git", "checkout", "-q", "-")
				c.finds("git checkout back", "main.ts", wire.CodeFindings, "3:2322")
				c.at("git checkout back", "definition", "main.ts:3:total", "cost.ts:3")
			}
		})
	}
}

// The same of JavaScript without any configuration, which is not checked but for its
// syntax: what is known of it is where things are.
func TestJavaScriptIsNeverStale(t *testing.T) {
	c := newScripts(t, "tsc")
	const calls, total = "import { total } from \"./price.js\";\n\nexport const sum = total(3);\n", "export function total(n) { return n; }\n"
	c.write("main.js", calls)
	c.write("price.js", total)
	c.at("at first", "definition", "main.js:3:total", "price.js:1")
	for i := range rounds(30, 200) {
		name := [...]string{"total", "other"}[i%2]
		c.write("price.js", strings.ReplaceAll(total, "total", name))
		c.write("main.js", strings.ReplaceAll(calls, "total", name))
		c.at("the same size", "references", "price.js:1:"+name, "main.js:1 main.js:3 price.js:1")
	}
	c.write("price.js", total)
	c.write("main.js", calls)
	want := []string{"main.js:1", "main.js:3", "price.js:1"}
	for i := range 15 {
		c.write(fmt.Sprintf("use/m%02d.js", i), "import { total } from \"../price.js\";\ntotal(1);\n")
		want = append(want, fmt.Sprintf("use/m%02d.js:1", i), fmt.Sprintf("use/m%02d.js:2", i))
	}
	c.at("many new", "references", "price.js:1:total", strings.Join(want, " "))
	c.remove("price.js")
	c.at("deleted", "definition", "main.js:3:total", "main.js:1")
	c.write("price.js", "\n"+total)
	c.at("new", "definition", "main.js:3:total", "price.js:2")
	c.write("main.js", calls+"const x = ;\n")
	c.finds("syntax", "main.js", wire.CodeFindings, "4:1109")
	c.write("jsconfig.json", "{\"compilerOptions\": {\"checkJs\": true, \"strict\": true}}\n")
	c.write("main.js", calls+"const x = 1;\nx.y();\n")
	c.finds("checked", "main.js", wire.CodeFindings, "5:2339")
	c.remove("jsconfig.json")
	c.finds("not checked", "main.js", wire.CodeClean, "")
}

const (
	pyCalls = "from price import total\n\nn: int = total(3)\n"
	pyTotal = "def total(n: int) -> int:\n    return n\n"
	pyText  = "def total(n: int) -> str:\n    return \"\"\n"
)

// The same of Python, from pyright and from what was made of it.
func TestPythonProjectIsNeverStale(t *testing.T) {
	for _, server := range []string{"pyright", "basedpyright"} {
		t.Run(server, func(t *testing.T) {
			c := newScripts(t, server)
			const missing = "reportMissingImports"
			c.write("main.py", pyCalls)
			c.write("price.py", pyTotal)
			c.at("at first", "definition", "main.py:3:total", "price.py:1")
			c.errs("at first", "main.py", "")
			for i := range rounds(8, 60) {
				c.write("price.py", strings.Repeat("#\n", i%4)+pyTotal)
				c.at("a closed file changed", "definition", "main.py:3:total", fmt.Sprintf("price.py:%d", 1+i%4))
			}
			c.write("price.py", pyTotal)
			c.at("references", "references", "price.py:1:total", "main.py:1 main.py:3 price.py:1")
			for range rounds(4, 30) {
				c.remove("price.py")
				c.errs("deleted", "main.py", "1:"+missing)
				c.write("price.py", pyTotal)
				c.errs("new", "main.py", "")
				c.write("price.py", pyText)
				c.errs("a dependency changed", "main.py", "3:reportAssignmentType")
				c.write("price.py", pyTotal)
				c.errs("a dependency changed back", "main.py", "")
			}
			// The same size, in the same tick of the clock.
			for i := range rounds(30, 200) {
				word, want := "int", ""
				if i%2 == 1 {
					word, want = "str", "3:reportAssignmentType"
				}
				c.write("price.py", "def total(n: int) -> "+word+": ...\n")
				c.errs("the same size", "main.py", want)
			}
			c.write("price.py", pyTotal)
			for i := range rounds(4, 20) {
				name := fmt.Sprintf("new%d.py", i)
				c.write(name, "from price import total\n\ntotal(1)\n")
				c.at("one new", "references", "price.py:1:total", "main.py:1 main.py:3 "+name+":1 "+name+":3 price.py:1")
				c.remove(name)
				c.at("one gone", "references", "price.py:1:total", "main.py:1 main.py:3 price.py:1")
			}
			want := []string{"main.py:1", "main.py:3", "price.py:1"}
			for i := range 40 {
				c.write(fmt.Sprintf("use/m%02d.py", i), "from price import total\ntotal(1)\n")
				want = append(want, fmt.Sprintf("use/m%02d.py:1", i), fmt.Sprintf("use/m%02d.py:2", i))
			}
			if exit, a := c.ask("references", "price.py:1:total", "--wait", "60s", "--limit", "200"); exit != 0 || places(a) != strings.Join(want, " ") {
				t.Errorf("many new: %d %q", exit, places(a))
			}
			if err := os.RemoveAll(c.path("use")); err != nil {
				t.Fatal(err)
			}
			c.at("many gone", "references", "price.py:1:total", "main.py:1 main.py:3 price.py:1")
			if err := os.Rename(c.path("price.py"), c.path("cost.py")); err != nil {
				t.Fatal(err)
			}
			c.errs("renamed", "main.py", "1:"+missing)
			c.write("main.py", strings.ReplaceAll(pyCalls, "price", "cost"))
			c.errs("renamed, and what imports it", "main.py", "")
			c.at("renamed", "definition", "main.py:3:total", "cost.py:1")

			// Packages of the workspace, and stubs.
			c.write("shop/sub/mod.py", "one: int = 1\n")
			c.write("use.py", "from shop import one\n\nn: int = one\n")
			c.errs("no __init__.py", "use.py", "1:reportAttributeAccessIssue")
			c.write("shop/__init__.py", "from .sub.mod import one\n")
			c.errs("an __init__.py", "use.py", "")
			c.at("an __init__.py", "definition", "use.py:3:one", "shop/sub/mod.py:1")
			c.remove("shop/__init__.py")
			c.errs("no __init__.py again", "use.py", "1:reportAttributeAccessIssue")
			c.remove("use.py")
			c.write("cost.pyi", "def total(n: int) -> str: ...\n")
			c.errs("a stub", "main.py", "3:reportAssignmentType")
			c.remove("cost.pyi")
			c.errs("no stub", "main.py", "")

			// The project itself.
			c.write("bad.py", "x: int = \"\"\n")
			c.errs("as usual", "bad.py", "1:reportAssignmentType")
			c.write("pyrightconfig.json", "{\"reportAssignmentType\": \"none\"}\n")
			c.errs("pyrightconfig.json", "bad.py", "")
			c.write("pyrightconfig.json", "{\"reportAssignmentType\": \"error\"}\n")
			c.errs("pyrightconfig.json changed", "bad.py", "1:reportAssignmentType")
			c.remove("pyrightconfig.json")
			c.write("pyproject.toml", "[tool."+server+"]\nreportAssignmentType = false\n")
			c.errs("pyproject.toml", "bad.py", "")
			c.write("base.toml", "[tool."+server+"]\nreportAssignmentType = false\n")
			c.write("pyproject.toml", "[tool."+server+"]\nextends = \"base.toml\"\n")
			c.errs("by another file", "bad.py", "")
			c.write("base.toml", "[tool."+server+"]\nreportAssignmentType = true\n")
			c.errs("by another file that changed", "bad.py", "1:reportAssignmentType")
			c.remove("pyproject.toml")
			c.errs("no pyproject.toml", "bad.py", "1:reportAssignmentType")

			// What is installed.
			c.write("uselib.py", "from lib import one\n\nn: int = one\n")
			c.errs("not installed", "uselib.py", "1:"+missing)
			site := ".venv/lib/python3.11/site-packages/"
			c.write(".venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.11.2\n")
			c.write(site+"lib/__init__.py", "one: int = 1\n")
			c.write(site+"lib/py.typed", "")
			c.errs("installed", "uselib.py", "")
			// Updated as pip does: its folder, and what describes it, anew.
			if err := os.RemoveAll(c.path(site + "lib")); err != nil {
				t.Fatal(err)
			}
			c.write(site+"lib/__init__.py", "one: str = \"\"\n")
			c.write(site+"lib/py.typed", "")
			c.errs("updated", "uselib.py", "3:reportAssignmentType")
			if err := os.RemoveAll(c.path(site + "lib")); err != nil {
				t.Fatal(err)
			}
			c.errs("removed", "uselib.py", "1:"+missing)

			c.run("git", "init", "-q")
			c.run("git", "add", "main.py", "cost.py")
			c.run("git", "commit", "-qm", "one")
			c.run("git", "checkout", "-qb", "other")
			c.write("cost.py", "#\n#\n"+pyText)
			c.run("git", "commit", "-qam", "two")
			for range rounds(3, 20) {
				c.run("git", "checkout", "-q", "-")
				c.at("git checkout", "definition", "main.py:3:total", "cost.py:1")
				c.errs("git checkout", "main.py", "")
				c.run("git", "checkout", "-q", "-")
				c.errs("git checkout back", "main.py", "3:reportAssignmentType")
				c.at("git checkout back", "definition", "main.py:3:total", "cost.py:3")
			}
		})
	}
}

// errs asks for the errors of a file, once; basedpyright has warnings of its own.
func (c *crate) errs(what, file, want string) {
	c.Helper()
	_, a := c.ask("diagnostics", file, "--wait", "60s")
	list := []string{}
	for _, d := range a.Diagnostics {
		if d.Severity == "error" {
			list = append(list, fmt.Sprintf("%d:%s", d.Line, d.Code))
		}
	}
	got := strings.Join(list, " ")
	if told := a.State == wire.CodeClean || a.State == wire.CodeFindings; !told || got != want {
		c.Errorf("%s: %s: %s %q, not %q: %s", what, file, a.State, got, want, a.Reason)
	}
}

// A server for TypeScript knows only of the projects and files that are open: it is given
// those that matter. One question, of a server that has just started.
func TestTypeScriptIsWhole(t *testing.T) {
	const own = `{"compilerOptions": {"strict": true, "noEmit": true, "target": "es2022", "module": "esnext", "moduleResolution": "bundler", "types": []}, "include": ["src"]}`
	files := map[string]string{
		"a/tsconfig.json": own, "a/src/x.ts": "export function total(n: number) { return n; }\nexport default class { one() {} }\n",
		"a/test/x.ts":     "import { total } from \"../src/x\"; total(1);\n", // which its tsconfig.json leaves out
		"b/tsconfig.json": own, "b/src/y.ts": "import { total } from \"../../a/src/x\"; total(1);\n",
		"c/tsconfig.json": own, "c/src/z.ts": "import { total as other } from \"../../a/src/x\"; other(1);\n",
		"loose/l.ts": "import Any from \"../a/src/x\";\nnew Any().one();\n",
		"loose/m.js": "import { total } from \"../a/src/x\"; total(1);\n",
		"0.ts":       "\x00 a film",
	}
	const want = "a/src/x.ts:1 a/test/x.ts:1 a/test/x.ts:1 b/src/y.ts:1 b/src/y.ts:1 c/src/z.ts:1 c/src/z.ts:1 c/src/z.ts:1 loose/m.js:1 loose/m.js:1"
	for _, server := range []string{"tsc", "typescript-language-server"} {
		for _, q := range []struct{ verb, at, want string }{
			{"references", "a/src/x.ts:1:total", want},
			{"references", "--symbol=total", want},
			{"references", "a/src/x.ts:2:one", "a/src/x.ts:2 loose/l.ts:2"},
			{"callers", "a/src/x.ts:1:total", "a/test/x.ts:1 b/src/y.ts:1 c/src/z.ts:1 loose/m.js:1"},
		} {
			if server != "tsc" && q.want != want {
				continue // it looks for callers in the project of the file alone
			}
			c := newScripts(t, server)
			for name, text := range files {
				c.write(name, text)
			}
			exit, a := c.ask(q.verb, q.at, "--wait", "60s")
			if got := places(a); exit != 0 || got != q.want {
				t.Errorf("%s: %s %s: %d %s %q, not %q: %s", server, q.verb, q.at, exit, a.State, got, q.want, a.Reason)
			}
			if q.verb == "callers" {
				if _, a := c.ask("symbols", "--query", "total"); len(a.Symbols) == 0 || a.Symbols[0].Path != "a/src/x.ts" {
					t.Errorf("%s: %+v", server, a)
				}
			}
		}
	}
}

// Of names: overloads are one place, and so is what several files import.
func TestScriptNames(t *testing.T) {
	c := newScripts(t, "tsc")
	c.env = append(c.env, "PATH="+strings.Join(lsptest.Servers(t, "tsc", "pyright"), ":"))
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
