package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/pkg/wire"
)

const (
	tsProject = `{"compilerOptions": {"strict": true, "noUnusedLocals": true, "noEmit": true, "module": "nodenext", "target": "es2022", "types": [], "resolveJsonModule": true}}` + "\n"
	tsCalls   = "import { total } from \"./price.js\";\n\nexport const sum: number = total(3);\n"
	tsTotal   = "export function total(n: number): number { return n; }\n"
	tsText    = "export function total(n: number): string { return \"\"; }\n"
)

// Every answer is from the disk as it is, by one question after each change: from the
// compiler that is a server, and from the older one behind its own.
func TestTypeScriptProjectIsNeverStale(t *testing.T) {
	for _, server := range []string{"tsc", "typescript-language-server"} {
		t.Run(server, func(t *testing.T) {
			c := newProject(t, nil, server)
			c.write("package.json", "{\"type\": \"module\"}\n")
			c.write("tsconfig.json", tsProject)
			c.write("main.ts", tsCalls)
			c.write("price.ts", tsTotal)
			c.write("emoji.ts", "import { total } from \"./price.js\";\n/* 😀 */ total(1);\n")
			c.at("at first", "definition", "main.ts:3:total", "price.ts:1")
			c.finds("at first", "main.ts", wire.CodeClean, "")
			if _, a := c.ask("hover", "emoji.ts:2:total"); !strings.Contains(a.Hover, "total(n: number): number") {
				t.Errorf("behind an emoji it says %q", a.Hover)
			}
			// The file that is open, written again and again within a tick.
			for i := range 10 {
				c.write("main.ts", tsCalls)
				c.write("main.ts", strings.ReplaceAll(tsCalls, "total(3)", "tally(3)"))
				c.finds(fmt.Sprint("quick edit ", i), "main.ts", wire.CodeFindings, "1:6133 3:2304")
				c.write("main.ts", tsCalls)
				c.finds(fmt.Sprint("quick edit back ", i), "main.ts", wire.CodeClean, "")
			}
			pid := c.server().PID
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
			c.remove("emoji.ts")
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
			if now := c.server().PID; now != pid {
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

// What lies outside of the workspace and is a part of the project counts likewise: a
// package beside it, and the configuration that it stands on.
func TestTypeScriptOutsideIsNeverStale(t *testing.T) {
	c := newProject(t, nil, "tsc")
	c.write("tsconfig.json", "{\"extends\": \"../base.json\", \"references\": [{\"path\": \"../lib\"}]}\n")
	c.write("../lib/tsconfig.json", "{\"extends\": \"../base.json\", \"compilerOptions\": {\"composite\": true}}\n")
	c.write("main.ts", "import { total } from \"../lib/price.js\";\nconst sum: number = total(3);\nexport {};\n")
	c.write("../base.json", strings.ReplaceAll(tsProject, "Locals\": true", "Locals\": false"))
	c.write("../lib/package.json", "{\"type\": \"module\"}\n")
	c.write("../lib/price.ts", tsTotal)
	c.finds("at first", "main.ts", wire.CodeClean, "")
	// What it looks at outside the server says only after its first answer.
	c.remove("../lib/price.ts")
	for until := time.Now().Add(time.Minute); ; {
		if _, a := c.ask("diagnostics", "main.ts"); a.State == wire.CodeFindings {
			break
		}
		if time.Now().After(until) {
			t.Fatal("a file outside has gone, and that is not seen")
		}
	}
	for range rounds(3, 20) {
		if err := os.Rename(c.path("../lib"), c.path("../away")); err != nil {
			t.Fatal(err)
		}
		c.finds("the folder is gone", "main.ts", wire.CodeFindings, "1:2307")
		if err := os.Rename(c.path("../away"), c.path("../lib")); err != nil {
			t.Fatal(err)
		}
		c.write("../lib/price.ts", tsTotal)
		c.finds("new", "main.ts", wire.CodeClean, "")
		c.write("../lib/price.ts", tsText)
		c.finds("a file changed", "main.ts", wire.CodeFindings, "2:2322")
		c.remove("../lib/price.ts")
		c.finds("it is gone", "main.ts", wire.CodeFindings, "1:2307")
		c.write("../lib/price.ts", tsTotal)
		c.finds("it is back", "main.ts", wire.CodeClean, "")
		c.write("../base.json", tsProject)
		c.finds("the configuration changed", "main.ts", wire.CodeFindings, "2:6133")
		c.write("../base.json", strings.ReplaceAll(tsProject, "Locals\": true", "Locals\": false"))
	}
}

// The same of JavaScript without any configuration, which is not checked but for its
// syntax: what is known of it is where things are.
func TestJavaScriptIsNeverStale(t *testing.T) {
	c := newProject(t, nil, "tsc")
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
			c := newProject(t, nil, server)
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
