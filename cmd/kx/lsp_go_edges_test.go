package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kxtools/kx/pkg/wire"
)

// What a module is made of counts, too: workspaces of several modules, embedded files,
// modules below, hundreds of files that go at once.
func TestGoProjectIsNeverStale(t *testing.T) {
	c := newModule(t, map[string]string{
		"a.go":          fmt.Sprintf(goCaller, "", "F"),
		"p/p.go":        numbers,
		"e/e.go":        "package e\n\nimport _ \"embed\"\n\n//go:embed text.txt\nvar Text string\n",
		"other/go.mod":  "module example.com/o\n\ngo 1.21\n",
		"other/q/q.go":  "package q\n\nfunc Q() int { return 1 }\n",
		"other/main.go": "package o\n\nimport \"example.com/o/q\"\n\nvar _ = q.Q()\n",
	})
	c.finds("embedded file is missing", "e/e.go", wire.CodeFindings, "5:")
	c.write("e/text.txt", "x")
	c.finds("embedded file came", "e/e.go", wire.CodeClean, "")
	c.remove("e/text.txt")
	c.finds("embedded file went", "e/e.go", wire.CodeFindings, "5:")
	c.write("e/text.txt", "x")

	c.finds("a module below", "other/main.go", wire.CodeClean, "")
	c.at("a module below", "references", "other/q/q.go:3:Q", "other/main.go:5 other/q/q.go:3")
	c.write("a.go", "package m\n\nimport \"example.com/o/q\"\n\nvar _ = q.Q()\n")
	c.finds("no go.work", "a.go", wire.CodeFindings, "3:BrokenImport")
	c.write("go.work", "go 1.21\n\nuse (\n\t.\n\t./other\n)\n")
	c.finds("go.work came", "a.go", wire.CodeClean, "")
	c.at("go.work came", "references", "other/q/q.go:3:Q", "a.go:5 other/main.go:5 other/q/q.go:3")
	c.write("go.work", "go 1.21\n\nuse .\n")
	c.finds("go.work uses less", "a.go", wire.CodeFindings, "3:BrokenImport")
	c.write("go.work", "go 1.21\n\nuse (\n\t.\n\t./other\n)\n")
	c.finds("go.work uses it again", "a.go", wire.CodeClean, "")
	c.remove("go.work")
	c.finds("go.work went", "a.go", wire.CodeFindings, "3:BrokenImport")

	var want []string
	for i := range 300 {
		c.write(fmt.Sprintf("many%03d.go", i), fmt.Sprintf(goCaller, fmt.Sprint(i), "F"))
		want = append(want, fmt.Sprintf("many%03d.go:5", i))
	}
	if exit, a := c.ask("references", "p/p.go:4:F", "--wait", "60s", "--limit", "1000"); exit != 0 || places(a) != strings.Join(append(want, "p/p.go:4"), " ") {
		t.Errorf("300 files came: %d %s %d of %d places: %s", exit, a.State, len(a.Locations), a.Total, a.Reason)
	}
	for i := range 299 {
		c.write(fmt.Sprintf("many%03d.go", i), "package m\n")
	}
	c.at("299 of them changed", "references", "p/p.go:4:F", "many299.go:5 p/p.go:4")
	for i := range 300 {
		c.remove(fmt.Sprintf("many%03d.go", i))
	}
	c.at("all went", "references", "p/p.go:4:F", "p/p.go:4")
}

// So do modules that lie beside the workspace, and what is around it.
func TestGoModulesBeside(t *testing.T) {
	c := newModule(t, map[string]string{
		"a.go":        "package m\n\nimport (\n\t\"example.com/l\"\n\t\"example.com/w\"\n)\n\nvar _ = l.F(1) + w.F(1)\n",
		"../l/go.mod": "module example.com/l\n\ngo 1.21\n",
		"../l/l.go":   strings.Replace(numbers, "package p", "package l", 1),
		"../w/go.mod": "module example.com/w\n\ngo 1.21\n",
		"../w/w.go":   strings.Replace(numbers, "package p", "package w", 1),
		"../go.work":  "go 1.21\n\nuse (\n\t./p\n\t./w\n)\n",
	})
	c.write("go.mod", "module example.com/m\n\ngo 1.21\n\nrequire example.com/l v0.0.0\n\nreplace example.com/l => ../l\n")
	c.finds("at first", "a.go", wire.CodeClean, "")
	for _, file := range []string{"../l/l.go", "../w/w.go"} {
		name := filepath.Base(filepath.Dir(file))
		c.write(file, strings.Replace(words, "package p", "package "+name, 1))
		c.finds(file+" changed", "a.go", wire.CodeFindings, "8:IncompatibleAssign")
		c.write(file, "package "+name+"\n\nfunc F(a int) int { return G(a) }\n")
		c.write(filepath.Dir(file)+"/new.go", "package "+name+"\n\nfunc G(a int) int { return a }\n")
		c.finds(file+" has another one beside it", "a.go", wire.CodeClean, "")
	}
	c.write("../go.work", "go 1.21\n\nuse ./p\n")
	c.finds("go.work around it changed", "a.go", wire.CodeFindings, "5:BrokenImport")
}

// Without a go.work gopls looks into one module, and the answer says so where others use
// it; with one it looks into all.
func TestGoModulesApart(t *testing.T) {
	c := newProject(t, map[string]string{
		"l/go.mod": "module example.com/l\n\ngo 1.21\n",
		"l/l.go":   "package l\n\nfunc F() {}\n",
		"m/go.mod": "module example.com/m\n\ngo 1.21\n\nrequire example.com/l v0.0.0\n\nreplace example.com/l => ../l\n",
		"m/m.go":   "package m\n\nimport \"example.com/l\"\n\nfunc init() { l.F() }\n",
	})
	for _, args := range [][]string{{"l/l.go:3:F"}, {"--symbol", "F"}} {
		if exit, a := c.ask("references", append(args, "--wait", "60s")...); exit != 0 || places(a) != "l/l.go:3" || !strings.Contains(a.Note, "another module uses this one") {
			t.Errorf("%q without a go.work: %d %s %q", args, exit, places(a), a.Note)
		}
	}
	c.write("go.work", "go 1.21\n\nuse (\n\t./l\n\t./m\n)\n")
	if exit, a := c.ask("references", "l/l.go:3:F", "--wait", "60s"); exit != 0 || places(a) != "l/l.go:3 m/m.go:5" || a.Note != "" {
		t.Errorf("with a go.work: %d %s %q", exit, places(a), a.Note)
	}
}

// And so does go mod vendor, which writes its list anew.
func TestGoVendor(t *testing.T) {
	const list = "# example.com/l v1.0.0\n## explicit; go 1.21\nexample.com/l\n"
	vendored := func(text string) string { return strings.Replace(text, "package p", "package l", 1) }
	c := newModule(t, map[string]string{
		"a.go":                      "package m\n\nimport \"example.com/l\"\n\nvar _ = l.F(1)\n",
		"vendor/example.com/l/l.go": vendored(numbers),
		"vendor/modules.txt":        list,
	})
	c.write("go.mod", "module example.com/m\n\ngo 1.21\n\nrequire example.com/l v1.0.0\n")
	c.finds("at first", "a.go", wire.CodeClean, "")
	c.write("vendor/example.com/l/l.go", vendored(words))
	c.write("vendor/modules.txt", list)
	c.finds("vendored again", "a.go", wire.CodeFindings, "5:IncompatibleAssign")
	if err := os.RemoveAll(c.path("vendor")); err != nil {
		t.Fatal(err)
	}
	c.finds("not vendored", "a.go", wire.CodeFindings, "3:BrokenImport")
}

// Files that change all the time while many ask: an answer is of one moment, and the
// last of all is of the last.
func TestGoEditsWhileAsked(t *testing.T) {
	c := newModule(t, map[string]string{"a.go": fmt.Sprintf(goCaller, "", "F"), "p/p.go": numbers})
	c.finds("at first", "a.go", wire.CodeClean, "")
	stop := make(chan struct{})
	var edits, asks sync.WaitGroup
	edits.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
			}
			// F is on line 4 or, with more before it, on 6.
			text := numbers
			if i%2 == 0 {
				text = strings.Replace(numbers, "// F", "// one\n// two\n// F", 1)
			}
			tmp := c.path("p/.tmp")
			if err := os.WriteFile(tmp, []byte(text), 0o600); err != nil {
				t.Error(err)
			}
			if err := os.Rename(tmp, c.path("p/p.go")); err != nil {
				t.Error(err)
			}
		}
	})
	for range 4 {
		asks.Go(func() {
			for range 10 {
				exit, a := c.ask("definition", "a.go:5:F", "--wait", "60s")
				if got := places(a); exit != 0 || got != "p/p.go:4" && got != "p/p.go:6" || !strings.HasPrefix(a.Locations[0].Text, "func F(") {
					out, _ := json.Marshal(a)
					t.Errorf("while it changes: %d %s", exit, out)
				}
			}
		})
	}
	asks.Wait()
	close(stop)
	edits.Wait()
	c.write("p/p.go", words)
	c.finds("at last", "a.go", wire.CodeFindings, "5:IncompatibleAssign")
}

// Addresses of all forms, files and folders of odd names, links and other roots.
func TestGoOddPlaces(t *testing.T) {
	c := newModule(t, map[string]string{
		"t.go":     "package m\n\ntype T struct{ Size, Field int }\n\nfunc (t *T) Do() int { return t.Field }\n\ntype U struct{}\n\nfunc (U) Do() {}\n",
		"crlf.go":  "package m\r\n\r\nvar é, q = 1, 2\r\n\r\nvar _ = \"😀\\t\" + string(rune(é+q))\r\n",
		"tab.go":   "package m\n\nfunc tab() int {\n\t\tx := 1\n\treturn x\n}\n",
		"sub/s.go": "package sub\n\nfunc S() {}\n",
		"note.xyz": "x",
		"bytes.go": "package m\n\nvar _ = \"\uFFFD \xff\"\n",
	})
	for _, tt := range []struct {
		line string
		exit int
		want string
	}{
		{"definition --symbol (*T).Do", 0, "t.go:5"},
		{"definition --symbol T.Do", 0, "t.go:5"},
		{"definition --symbol U.Do", 0, "t.go:9"},
		{"definition --symbol T.Field", 0, "t.go:3"},
		{"definition --symbol m.T.Field", 0, "t.go:3"},
		{"definition --symbol Do", 2, "2 places"},
		{"definition --symbol Do sub/s.go", 8, ""},
		{"definition --symbol X.Do", 8, ""},
		{"references --symbol T.Field", 0, "t.go:3 t.go:5"},
		{"hover --symbol Feild", 8, "did you mean"},
		{"hover --symbol ..", 2, ""},
		{"hover --symbol", 2, ""},
		{"hover t.go:0:1", 2, ""},
		{"hover t.go:1:0", 2, ""},
		{"hover t.go:-1:1", 2, ""},
		{"hover t.go:99999999999999999999:1", 2, ""},
		{"hover t.go:1:99999999999999999999", 2, ""},
		{"hover t.go:10:1", 0, ""},
		{"references t.go:2:1", 0, ""},
		{"implementation t.go:2:1", 0, ""},
		{"type-definition t.go:2:1", 0, ""},
		{"callers t.go:2:1", 0, ""},
		{"hover t.go:11:1", 2, "there is no line 11"},
		{"hover t.go:3:Size#0", 2, ""},
		{"hover t.go:3:Size#x", 8, ""},
		{"references crlf.go:5:é", 0, "crlf.go:3 crlf.go:5"},
		{"definition crlf.go:5:31", 0, "crlf.go:3"},
		{"definition tab.go:5:9", 0, "tab.go:4"},
		{"diagnostics t.go note.xyz sub/s.go", 5, ""},
		{"diagnostics bytes.go", 1, "not UTF-8"},
		{"symbols --query Do", 0, ""},
		{"symbols --query", 2, ""},
	} {
		words := strings.Split(tt.line, " ")
		exit, out := c.kx(append([]string{"lsp", words[0], "-o", "json", "--wait", "60s"}, words[1:]...)...)
		a := &wire.CodeAnswer{}
		_ = json.Unmarshal([]byte(out), a)
		got := places(a)
		if tt.exit != 0 {
			_, got = c.both(append([]string{"lsp", words[0], "-o", "table", "--wait", "60s"}, words[1:]...)...)
		}
		if exit != tt.exit || tt.exit == 0 && tt.want != "" && got != tt.want || tt.exit != 0 && !strings.Contains(got, tt.want) {
			t.Errorf("%s: %d %q, not %d %q", tt.line, exit, got, tt.exit, tt.want)
		}
	}
	exit, a := c.ask("definition", "crlf.go:5:31")
	if exit != 0 || len(a.Locations) != 1 || a.Locations[0].Column != 8 {
		t.Errorf("columns: %d %+v", exit, a.Locations)
	}
	exit, a = c.ask("references", "tab.go:4:x")
	if exit != 0 || len(a.Locations) != 2 || a.Locations[0].Column != 3 || a.Locations[1].Column != 9 {
		t.Errorf("columns: %d %+v", exit, a.Locations)
	}
	// A link to a file in the workspace.
	if err := os.Symlink("t.go", c.path("alias.go")); err != nil {
		t.Fatal(err)
	}
	c.at("through the link", "definition", "alias.go:5:Field", "alias.go:3")
	c.remove("alias.go")
	c.at("after the link", "definition", "t.go:5:Field", "t.go:3")
}

// A root may be called anything, and be reached in other ways.
func TestGoOddRoots(t *testing.T) {
	c := newModule(t, nil)
	c.work = filepath.Join(filepath.Dir(c.work), "r # 100%41 日本 é?x=1&y")
	c.write("go.mod", "module example.com/m\n\ngo 1.21\n")
	c.write("a.go", fmt.Sprintf(goCaller, "", "F"))
	c.write("p/p.go", numbers)
	c.at("an odd root", "definition", "a.go:5:F", "p/p.go:4")
	c.finds("an odd root", "a.go", wire.CodeClean, "")
	c.write("p/p.go", words)
	c.finds("an odd root", "a.go", wire.CodeFindings, "5:IncompatibleAssign")
	c.write("p/p.go", numbers)

	// A worktree of git is a workspace of its own.
	c.run("git", "init", "-q", "-b", "one")
	c.run("git", "add", "-A")
	c.run("git", "commit", "-qm", "one")
	c.run("git", "worktree", "add", "-q", "-b", "two", "../tree")
	c.write("../tree/p/p.go", words)
	main := c.work
	c.work = filepath.Join(filepath.Dir(main), "tree")
	c.finds("in a worktree", "a.go", wire.CodeFindings, "5:IncompatibleAssign")
	c.work = main
	c.finds("beside it", "a.go", wire.CodeClean, "")
	hosts := func() (n int) {
		_, out := c.kx("host", "list", "-o", "jsonl")
		return strings.Count(out, `"name":"lsp-`)
	}
	if hosts() != 2 {
		t.Errorf("%d hosts", hosts())
	}
	// From a folder below it is the same.
	cmd := exec.Command(where(t, "kx"), "lsp", "definition", "../a.go:5:F", "-o", "json")
	cmd.Dir, cmd.Env = c.path("p"), c.env
	if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), `"path":"p/p.go","line":4`) {
		t.Errorf("from below: %v %s", err, out)
	}
	if hosts() != 2 {
		t.Errorf("%d hosts", hosts())
	}
	// It is removed, and one of the same name comes.
	tree := filepath.Join(filepath.Dir(main), "tree")
	if err := os.RemoveAll(tree); err != nil {
		t.Fatal(err)
	}
	c.write("../tree/go.mod", "module example.com/m\n\ngo 1.21\n")
	c.write("../tree/a.go", "package m\n\nfunc One() { One() }\n")
	c.work = tree
	c.at("replaced", "references", "a.go:3:6", "a.go:3 a.go:3")
	c.work = main
	if err := os.Rename(tree, tree+"2"); err != nil {
		t.Fatal(err)
	}
	c.work = tree + "2"
	c.at("moved", "references", "a.go:3:6", "a.go:3 a.go:3")
	// Nobody asks the host of the folder that is gone, and it ends.
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		n := hosts()
		if n == 2 {
			break
		}
		if time.Now().After(until) {
			_, out := c.kx("host", "list")
			t.Errorf("%d hosts\n%s", n, out)
			break
		}
	}
	c.work = main
}

// Answers have no more items than they are said to have, and say how many there are.
func TestGoLimits(t *testing.T) {
	var many, calls strings.Builder
	for i := range 150 {
		fmt.Fprintf(&many, "\nfunc Many%03d() {}\n", i)
		calls.WriteString("\tp.F(1)\n")
	}
	c := newModule(t, map[string]string{
		"p/p.go":  numbers,
		"a.go":    "package m\n\nimport \"example.com/m/p\"\n\nfunc Use() {\n" + calls.String() + "}\n",
		"many.go": "package m\n" + many.String(),
		"long.go": "package m\n\n// Long is " + strings.Repeat("é ", 2500) + ".\nfunc Long() {}\n",
		"deep.go": "package m\n\nfunc Deep() string { return \"" + strings.Repeat("é", 3000) + "\" + Long2() }\n\nfunc Long2() string { return \"\" }\n",
	})
	for _, tt := range []struct {
		line         string
		items, total int
		truncated    bool
	}{
		{"references p/p.go:4:F", 50, 151, true},
		{"references p/p.go:4:F --limit 7", 7, 151, true},
		{"references p/p.go:4:F --limit 151", 151, 151, false},
		{"callers p/p.go:4:F", 50, 150, true},
		{"symbols many.go", 100, 150, true},
		{"symbols many.go --limit 1000", 150, 150, false},
		{"symbols --query Many --limit 3", 3, 100, true}, // gopls itself gives no more
		{"definition deep.go:3:Long2", 1, 1, false},
	} {
		words := strings.Split(tt.line, " ")
		exit, a := c.ask(words[0], append(words[1:], "--wait", "60s")...)
		items := len(a.Locations) + len(a.Symbols)
		if exit != 0 || items != tt.items || a.Total != tt.total || a.Truncated != tt.truncated {
			t.Errorf("%s: %d, %d items of %d, truncated %v", tt.line, exit, items, a.Total, a.Truncated)
		}
	}
	for limit, want := range map[string]int{"": 2000, "100": 100, "50000": 5000} {
		args := []string{"long.go:4:Long", "--wait", "60s"}
		if limit != "" {
			args = append(args, "--limit", limit)
		}
		exit, a := c.ask("hover", args...)
		if n := len([]rune(a.Hover)); exit != 0 || limit != "50000" && n != want || n < want || a.Truncated != (limit != "50000") || a.Total < 5000 {
			t.Errorf("hover, limit %q: %d, %d characters of %d, truncated %v", limit, exit, n, a.Total, a.Truncated)
		}
	}
	// The line beside a place is short, and the column right in a long one.
	if _, a := c.ask("references", "deep.go:5:Long2"); len(a.Locations) != 2 || a.Locations[0].Column != 34+3000 || len([]rune(a.Locations[0].Text)) > 200 {
		t.Errorf("a long line: %+v", a.Locations)
	}
}

// What is downloaded and deleted outside of the workspace counts as well, and what is
// missing there leaves the rest as it is.
func TestGoModulesThatAreDownloaded(t *testing.T) {
	c := newProject(t, map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.21\n\nrequire example.com/Lib v1.0.0\n",
		"a.go":   "package m\n\nimport \"example.com/Lib\"\n\nvar _ = lib.Lib() + F()\n",
		"f.go":   "package m\n\nfunc F() int { return 1 }\n",
	})
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	for name, text := range map[string]string{"go.mod": "module example.com/Lib\n", "lib.go": "package lib\n\nfunc Lib() int { return 1 }\n"} {
		w, err := z.Create("example.com/Lib@v1.0.0/" + name)
		if err == nil {
			_, err = io.WriteString(w, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for end, text := range map[string]string{"info": `{"Version":"v1.0.0"}`, "mod": "module example.com/Lib\n", "zip": packed.String()} {
		c.write("../proxy/example.com/!lib/@v/v1.0.0."+end, text)
	}
	run := func(cache string, args ...string) {
		t.Helper()
		cmd := exec.Command(where(t, "go"), args...)
		cmd.Dir, cmd.Env = c.work, append(c.env, "GOPROXY=file://"+c.path("../proxy"), "GOSUMDB=off", "GOFLAGS=-mod=mod -modcacherw", "GOMODCACHE="+cache)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %q: %v: %s", args, err, out)
		}
	}
	elsewhere, usual := c.path("../modules"), c.path("../go/pkg/mod")
	run(elsewhere, "mod", "tidy")

	const missing = "3:BrokenImport 5:UndeclaredName"
	c.finds("no cache", "a.go", wire.CodeFindings, missing)
	c.at("no cache", "references", "f.go:3:F", "a.go:5 f.go:3")
	run(usual, "mod", "download")
	c.finds("downloaded", "a.go", wire.CodeClean, "")
	run(usual, "clean", "-modcache")
	c.finds("deleted", "a.go", wire.CodeFindings, missing)

	c.kx("host", "stop", "--all")
	c.env = append(c.env, "GOMODCACHE="+elsewhere)
	c.finds("a cache elsewhere", "a.go", wire.CodeClean, "")
}
