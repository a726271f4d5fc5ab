package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

const (
	pyCalls = "from price import total\n\nn: int = total(3)\n"
	pyTotal = "def total(n: int) -> int:\n    return n\n"
	pyText  = "def total(n: int) -> str:\n    return \"\"\n"
)

// The same of Python, from pyright and from what was made of it.
func TestPythonProjectIsNeverStale(t *testing.T) {
	for _, server := range []string{"pyright", "basedpyright"} {
		t.Run(server, func(t *testing.T) {
			c := newProject(t, nil, server)
			const missing = "reportMissingImports"
			c.write("main.py", pyCalls)
			c.write("price.py", pyTotal)
			c.at("at first", "definition", "main.py:3:total", "price.py:1")
			c.errs("at first", "main.py", "")
			// The file that is open, written again and again within a tick.
			for i := range 10 {
				c.write("main.py", pyCalls)
				c.write("main.py", strings.ReplaceAll(pyCalls, "total", "tally"))
				c.errs(fmt.Sprint("quick edit ", i), "main.py", "1:reportAttributeAccessIssue")
				c.write("main.py", pyCalls)
				c.errs(fmt.Sprint("quick edit back ", i), "main.py", "")
			}
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
			c.write("far.py", "from shop.sub.mod import one\n\nn: int = \"😀\" and one\n")
			c.errs("behind an emoji", "far.py", "")
			c.at("behind an emoji", "definition", "far.py:3:one", "shop/sub/mod.py:1")
			if err := os.Rename(c.path("shop"), c.path("store")); err != nil {
				t.Fatal(err)
			}
			c.errs("a folder is renamed", "far.py", "1:"+missing)
			if err := os.Rename(c.path("store"), c.path("shop")); err != nil {
				t.Fatal(err)
			}
			c.errs("and back", "far.py", "")
			c.remove("far.py")
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
			// What servers bring along of a package counts more than its text, and the
			// interpreter of the project is not asked.
			c.write(site+"yaml/__init__.py", "def safe_load(s): return None\n")
			c.write("useyaml.py", "import yaml\nimport lure\n\nn: int = yaml.safe_load(\"\").a\n")
			c.write("lured/lure.py", "")
			c.write(".venv/bin/python", "#!/bin/sh\nprintf '{\"path\":[\"%s\"],\"prefix\":\"/\"}' '"+c.path("lured")+"'\n")
			if err := os.Chmod(c.path(".venv/bin/python"), 0o700); err != nil {
				t.Fatal(err)
			}
			c.errs("stubs of the server", "useyaml.py", "2:"+missing)

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
