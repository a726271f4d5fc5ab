package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kxtools/kx/pkg/wire"
)

// newModule is a Go module with these files.
func newModule(t *testing.T, files map[string]string) *project {
	t.Helper()
	c := newProject(t, files)
	c.write("go.mod", "module example.com/m\n\ngo 1.21\n")
	return c
}

const (
	numbers  = "package p\n\n// F doubles.\nfunc F(a int) int { return 2 * a }\n"
	words    = "package p\n\n// F counts.\nfunc F(a string) int { return len(a) }\n"
	goCaller = "package m\n\nimport \"example.com/m/p\"\n\nfunc Use%s() int { return p.%s(1) }\n"
)

// Every answer is of the files as they are, whoever changed them: each is asked once.
func TestGoIsNeverStale(t *testing.T) {
	c := newModule(t, map[string]string{"a.go": fmt.Sprintf(goCaller, "", "F"), "p/p.go": numbers})
	const wrong, undefined = "5:IncompatibleAssign", "5:UndeclaredImportedName"
	c.finds("at first", "a.go", wire.CodeClean, "")
	c.at("at first", "references", "p/p.go:4:F", "a.go:5 p/p.go:4")

	c.write("p/p.go", words)
	c.finds("a dependency changed", "a.go", wire.CodeFindings, wrong)
	c.write("p/p.go", numbers)
	c.finds("and back", "a.go", wire.CodeClean, "")
	c.write("b.go", fmt.Sprintf(goCaller, "2", "F"))
	c.at("a new file", "references", "p/p.go:4:F", "a.go:5 b.go:5 p/p.go:4")
	c.remove("b.go")
	c.at("a file is gone", "references", "p/p.go:4:F", "a.go:5 p/p.go:4")

	// The open file, written again and again, as long as before and within a tick.
	for i := range 20 {
		c.write("a.go", fmt.Sprintf(goCaller, "", "F"))
		c.write("a.go", fmt.Sprintf(goCaller, "", "G"))
		c.finds(fmt.Sprint("quick edit ", i), "a.go", wire.CodeFindings, undefined)
		c.write("a.go", fmt.Sprintf(goCaller, "", "F"))
		c.finds(fmt.Sprint("quick edit back ", i), "a.go", wire.CodeClean, "")
	}

	c.run("git", "init", "-q", "-b", "one")
	c.run("git", "add", "-A")
	c.run("git", "commit", "-qm", "one")
	c.run("git", "checkout", "-qb", "two")
	c.write("p/p.go", words)
	c.run("git", "commit", "-qam", "two")
	c.finds("another branch", "a.go", wire.CodeFindings, wrong)
	c.run("git", "checkout", "-q", "one")
	c.finds("git checkout", "a.go", wire.CodeClean, "")
	old := time.Now().Add(-time.Hour)
	c.write("p/p.go", words)
	if err := os.Chtimes(c.path("p/p.go"), old, old); err != nil {
		t.Fatal(err)
	}
	c.finds("an older time", "a.go", wire.CodeFindings, wrong)
	c.write("p/p.go", numbers)

	c.run("mv", "p/p.go", "p/q.go")
	c.at("a file is renamed", "definition", "a.go:5:F", "p/q.go:4")
	c.run("mv", "p", "r")
	c.finds("a folder is renamed", "a.go", wire.CodeFindings, "3:BrokenImport")
	c.run("mv", "r", "p")
	c.finds("and back", "a.go", wire.CodeClean, "")
	c.write("go.mod", "module example.com/other\n\ngo 1.21\n")
	c.finds("go.mod has another module", "a.go", wire.CodeFindings, "3:BrokenImport")
	c.write("go.mod", "module example.com/other\n\ngo 1.21\n\nrequire example.com/m v0.0.0\n\nreplace example.com/m => ./lib\n")
	c.write("lib/go.mod", "module example.com/m\n\ngo 1.21\n")
	c.write("lib/p/p.go", words)
	c.finds("go.mod takes the package from elsewhere", "a.go", wire.CodeFindings, wrong)
	c.write("lib/p/p.go", numbers)
	c.finds("which changes", "a.go", wire.CodeClean, "")
	c.write("go.mod", "module example.com/other\n\ngo 1.99\n")
	if exit, a := c.ask("diagnostics", "a.go", "--wait", "60s"); exit == 0 {
		t.Errorf("a go.mod that go refuses: %d %+v", exit, a)
	}
	c.write("go.mod", "module example.com/other\n\ngo 1.21\n")
	for i := range 300 {
		c.write(fmt.Sprintf("p%d/p.go", i), numbers)
	}
	c.write("a.go", "package m\n\nimport \"example.com/other/p299\"\n\nfunc Use() int { return p.F(1) }\n")
	c.finds("many new files", "a.go", wire.CodeClean, "")
}

// What can't be asked about is said, with the right status, and the rest goes on.
func TestGoAddresses(t *testing.T) {
	odd := "odd # 100% 日本\n name"
	c := newModule(t, map[string]string{
		"a.go":                  "package m\n\n// T is.\ntype T struct{ X int }\n\n// M adds.\nfunc (t *T) M(n int) int { return n + n }\n\nvar _ = (&T{}).M(1) + len(\"😀👍🏽\") + (&T{}).M(2)\n\r\nfunc local() {\tx := 1; _ = x }\r\n",
		"p/a.go":                "package p\n\nfunc M() {}\n\nvar V = \"😀\" + fmt()\n\nfunc fmt() string { return \"\" }\n",
		odd + "/" + odd + ".go": "package odd\n\nfunc Odd() { Odd() }\n",
		"dir/keep.go":           "package dir\n",
		"bin.go":                "package m\x00\n",
		"notes.xyz":             "x",
		"std.go":                "package m\n\nimport \"fmt\"\n\nfunc Print() { fmt.Println() }\n",
	})
	large := strings.Repeat("// x\n", 1<<20)
	c.write("large.go", "package m\n"+large)
	if err := os.Symlink(c.work, c.path("../link")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		exit int
		want string // places, or a part of the error
	}{
		{[]string{"definition", "a.go:9:M#2"}, 0, "a.go:7"},
		{[]string{"definition", "a.go:9:43"}, 0, "a.go:7"}, // behind two emoji
		{[]string{"definition", "a.go:9:M"}, 2, `"M" may be any of 2 places`},
		{[]string{"definition", "a.go:9:M#3"}, 8, "only 2 times"},
		{[]string{"definition", "a.go:9:N"}, 8, "no name N"},
		{[]string{"references", "a.go:11:x"}, 2, "may be any of"},
		{[]string{"references", "a.go:11:16"}, 0, "a.go:11 a.go:11"}, // behind a tab
		{[]string{"definition", "a.go:99:1"}, 2, "there is no line 99"},
		{[]string{"definition", "--symbol", "T.M"}, 0, "a.go:7"},
		{[]string{"definition", "--symbol", "p.V"}, 0, "p/a.go:5"},
		{[]string{"definition", "--symbol", "M"}, 2, `"M" may be any of 2 places`},
		{[]string{"definition", "--symbol", "Pri"}, 8, "did you mean Print?"},
		{[]string{"references", odd + "/" + odd + ".go:3:6"}, 0, odd + "/" + odd + ".go:3 " + odd + "/" + odd + ".go:3"},
		{[]string{"hover", "../config.go:1:1"}, 2, "outside"},
		{[]string{"hover", "dir:1:1"}, 2, "folder"},
		{[]string{"hover", "bin.go:1:1"}, 1, "not text"},
		{[]string{"hover", "large.go:1:1"}, 6, "4 MiB"},
		{[]string{"diagnostics", "notes.xyz"}, 5, "no language server is registered for .xyz files"},
		{[]string{"diagnostics", "none.go"}, 8, "does not exist"},
		{[]string{"symbols", "p/a.go"}, 0, ""},
	} {
		exit, out := c.kx(append([]string{"lsp", tt.args[0], "-o", "json", "--wait", "60s"}, tt.args[1:]...)...)
		a := &wire.CodeAnswer{}
		_ = json.Unmarshal([]byte(out), a) // there may be none
		got := places(a)
		if tt.exit != 0 {
			_, got = c.both(append([]string{"lsp", tt.args[0], "-o", "table", "--wait", "60s"}, tt.args[1:]...)...)
		}
		if exit != tt.exit || tt.exit == 0 && tt.want != "" && got != tt.want || tt.exit != 0 && !strings.Contains(got, tt.want) {
			t.Errorf("%q: %d %q, not %d %q", tt.args, exit, got, tt.exit, tt.want)
		}
	}
	exit, a := c.ask("definition", "std.go:5:Println", "--wait", "60s")
	if exit != 0 || len(a.Locations) != 1 || !a.Locations[0].Outside || a.Locations[0].Text != "" || a.Locations[0].Column != 6 { // policy asks before it is read
		t.Errorf("of the standard library: %d %+v", exit, a.Locations)
	}
	// Through a link it is the same workspace, with the same host.
	cmd := exec.Command(where(t, "kx"), "lsp", "definition", "a.go:9:M#2", "-o", "json")
	cmd.Dir, cmd.Env = c.path("../link"), append(slices.Clone(c.env), "PWD="+c.path("../link"))
	if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), `"path":"a.go","line":7`) {
		t.Errorf("through a link: %v %s", err, out)
	}
	if _, out := c.kx("host", "list", "-o", "jsonl"); strings.Count(out, `"name":"lsp-`) != 1 {
		t.Errorf("hosts: %s", out)
	}
	// Moved away, and another one in its place.
	c.run("mv", c.work, c.work+"2")
	c.write("go.mod", "module example.com/n\n\ngo 1.21\n")
	c.write("a.go", "package n\n\nfunc New() { New() }\n")
	c.at("another folder", "references", "a.go:3:6", "a.go:3 a.go:3")
}

// Ten first questions at once start one host and one server, which stay, and are
// started again when they were killed.
func TestOneHostOneServer(t *testing.T) {
	c := newModule(t, map[string]string{"a.go": fmt.Sprintf(goCaller, "", "F"), "p/p.go": numbers})
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() { c.at("at once", "definition", "a.go:5:F", "p/p.go:4") })
	}
	all.Wait()
	first := c.server()
	if _, out := c.kx("host", "list", "-o", "jsonl"); strings.Count(out, `"name":"lsp-`) != 1 {
		t.Errorf("hosts: %s", out)
	}
	if n := len(children("gopls", c.work)); n != 1 {
		t.Errorf("%d servers run", n)
	}
	c.at("later", "definition", "a.go:5:F", "p/p.go:4")
	if s := c.server(); s.PID != first.PID || s.State != "ready" || s.Name != "gopls" || s.Version != "v0.23.0" || s.OpenFiles != 1 || s.Memory < 1<<20 {
		t.Errorf("later it is %+v, not %d", s, first.PID)
	}
	for i := range 3 {
		for _, pid := range children("gopls", c.work) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		exit, a := c.ask("definition", "a.go:5:F", "--wait", "60s")
		if i < 2 && (exit != 0 || places(a) != "p/p.go:4") {
			t.Errorf("killed: %d %+v", exit, a)
		}
		if i == 2 && (exit != 5 || a.State != wire.CodeUnavailable || !strings.Contains(a.Reason, "3 times")) {
			t.Errorf("killed three times: %d %+v", exit, a)
		}
	}
	if s := c.server(); s.State != "failed" {
		t.Errorf("it is %+v", s)
	}
}

// children are the processes of a program that work in a folder, but for those that
// they started themselves.
func children(name, dir string) (list []int) {
	found, _ := filepath.Glob("/proc/[0-9]*")
	for _, proc := range found {
		line, _ := os.ReadFile(proc + "/cmdline")
		cwd, _ := os.Readlink(proc + "/cwd")
		var pid int
		if args := strings.Split(string(line), "\x00"); cwd == dir && filepath.Base(args[0]) == name && slices.Contains(args, "serve") {
			fmt.Sscan(filepath.Base(proc), &pid)
			list = append(list, pid)
		}
	}
	return list
}
