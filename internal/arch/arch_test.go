package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module = "github.com/kxtools/kx"

	// maxLines caps the code of a package: what is larger holds two ideas.
	maxLines = 1500
)

// layers are the folders, lowest first; the longest prefix that fits counts. A
// new package of a known folder needs no line here.
var layers = []struct{ folder, what string }{
	{"completions", "files, embedded"},
	{"man", "files, embedded"},
	{"pkg/wire", "the documents"},
	{"pkg/", "policy and the approval client"},
	{"internal/base/", "primitives"},
	{"internal/record/", "the state directory"},
	{"internal/gate/", "what the gate decides with"},
	{"internal/gate", "the gate"},
	{"internal/tools/", "the tools"},
	{"internal/tools", "the surface"},
	{"internal/model", "models"},
	{"internal/agent", "the loop"},
	{"internal/host", "residents"},
	{"internal/cmd/", "commands"},
	{"internal/arch", "this test"},
	{"cmd/", "the binaries"},
}

// forbidden are imports that the layers would allow.
var forbidden = []struct{ from, to, why string }{
	{"internal/tools/", "internal/gate", "a tool that knew the gate could pass by it"},
	{"internal/base/", "pkg/policy", "primitives know nothing of kx"},
	{"internal/base/", "pkg/approve", "primitives know nothing of kx"},
	{"internal/base/", "pkg/socket", "a server is no client"},
	{"pkg/approve", "pkg/policy", "a client does not decide"},
	{"pkg/policy", "pkg/approve", "policy does no I/O"},
	{"pkg/policy", "pkg/socket", "policy does no I/O"},
	{"pkg/socket", "pkg/policy", "a client does not decide"},
	{"completions", "", "files only"},
	{"man", "", "files only"},
}

// onlyIn are imports that belong to one place; without a place, to none.
var onlyIn = []struct{ prefix, place, why string }{
	{"github.com/olekukonko/tablewriter", "internal/base/out", "one printer draws tables"},
	{"charm.land", "internal/cmd/approve/live", "one screen, and it is heavy at start"},
	{"github.com/charmbracelet", "internal/cmd/approve/live", "one screen, and it is heavy at start"},
	{"github.com/rs/zerolog/log", "", "the global logger is nobody's"},
}

// heavy must not be reachable from cmd/kx, which starts for every call.
var heavy = []string{
	"github.com/go-rod/", "github.com/mark3labs/mcp-go", "github.com/modelcontextprotocol/",
	"github.com/anthropics/", "github.com/openai/", "github.com/sourcegraph/",
	"github.com/JohannesKaufmann/", "codeberg.org/readeck/",
	"github.com/cpuguy83/go-md2man", "github.com/russross/blackfriday",
	"charm.land/", "github.com/charmbracelet/",
	"net/http", "html/template", "crypto/tls",
}

// heavyWord makes a path heavy wherever it stands.
const heavyWord = "jsonschema"

// touch are functions that only the packages of their row may use, besides
// tests.
var touch = []struct {
	funcs  []string
	places []string
	why    string
}{
	{[]string{"os.Getenv", "os.LookupEnv", "os.Environ", "os.ExpandEnv", "syscall.Getenv", "syscall.Environ"},
		[]string{"internal/base/paths", "internal/base/term", behindWalls, "cmd/"}, "the environment is handed in"},
	{[]string{"os.Exit", "log.Fatal", "log.Fatalf", "log.Fatalln", "syscall.Exit"},
		[]string{"cmd/", "internal/cmd/root/gen", behindWalls}, "only a main function ends the process"},
	{[]string{"os.Stdout", "os.Stderr", "fmt.Print", "fmt.Printf", "fmt.Println", "log.Print", "log.Printf", "log.Println", "log.Default"},
		[]string{"internal/base/term", "internal/cmd/root/gen", behindWalls}, "what a person reads is sanitised by term.Stream"},
}

// pass are the methods by which output passes the sanitiser of term.Stream, and
// the packages that may call them.
var pass = []struct {
	method string
	places []string
	why    string
}{
	{"Exact", []string{"internal/base/term", "internal/base/out", "internal/cmd/app"}, "these sanitise, or write for programs"},
	{"Whole", []string{"internal/base/term", "internal/cmd/man"}, "a pager of our own pages"},
}

// behindWalls has another main function: it is the first process of a sandbox,
// before any of kx is initialised.
const behindWalls = "internal/base/jail"

// noNames are names that say nothing.
var noNames = []string{"util", "utils", "common", "shared", "helper", "helpers", "manager", "misc", "lib", "types"}

// pack is what go list tells of a package.
type pack struct {
	ImportPath, Dir, Name, Doc string
	Imports, Deps              []string
	GoFiles                    []string
	IgnoredGoFiles             []string // of other platforms
}

// rel is the path inside the module.
func (p pack) rel() string { return strings.TrimPrefix(p.ImportPath, module+"/") }

// forTests reports whether the package only helps tests; no binary links it.
func (p pack) forTests() bool {
	return strings.HasSuffix(p.Name, "test") && slices.Contains(p.Imports, "testing")
}

// files are the paths of its code.
func (p pack) files() []string {
	var list []string
	for _, name := range append(slices.Clone(p.GoFiles), p.IgnoredGoFiles...) {
		if !strings.HasSuffix(name, "_test.go") {
			list = append(list, filepath.Join(p.Dir, name))
		}
	}
	return list
}

// packages lists all packages of the module.
func packages(t *testing.T) []pack {
	t.Helper()
	cmd := exec.Command("go", "list", "-tags", "urfave_cli_no_docs",
		"-json=ImportPath,Dir,Name,Doc,Imports,Deps,GoFiles,IgnoredGoFiles", module+"/...")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	b, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &errs)
	}
	var list []pack
	for d := json.NewDecoder(bytes.NewReader(b)); ; {
		var p pack
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	if len(list) < 10 {
		t.Fatalf("go list knows only %d packages", len(list))
	}
	return list
}

// under reports whether rel is in the folder; a folder without a slash at its
// end is a package and what is below it.
func under(rel, folder string) bool {
	if strings.HasSuffix(folder, "/") {
		return strings.HasPrefix(rel, folder)
	}
	return rel == folder || strings.HasPrefix(rel, folder+"/")
}

// layer returns the index in layers, or -1.
func layer(rel string) int {
	found := -1
	for i, l := range layers {
		fits := under(rel, l.folder)
		if l.folder == "internal/gate" {
			fits = rel == l.folder
		}
		if fits && (found < 0 || len(l.folder) > len(layers[found].folder)) {
			found = i
		}
	}
	return found
}

func TestLayers(t *testing.T) {
	for _, p := range packages(t) {
		own := layer(p.rel())
		if own < 0 {
			t.Errorf("%s is in no layer", p.rel())
			continue
		}
		for _, imp := range p.Imports {
			to, ok := strings.CutPrefix(imp, module+"/")
			if !ok {
				continue
			}
			if layer(to) > own {
				t.Errorf("%s (%s) imports %s (%s), which is above it", p.rel(), layers[own].what, to, layers[max(layer(to), 0)].what)
			}
			for _, f := range forbidden {
				if under(p.rel(), f.from) && (f.to == "" || to == f.to) {
					t.Errorf("%s imports %s: %s", p.rel(), to, f.why)
				}
			}
		}
	}
}

func TestImportsInTheirPlace(t *testing.T) {
	for _, p := range packages(t) {
		for _, imp := range p.Imports {
			for _, o := range onlyIn {
				if under(imp, o.prefix) && (o.place == "" || !under(p.rel(), o.place)) {
					t.Errorf("%s imports %s: %s", p.rel(), imp, o.why)
				}
			}
		}
	}
}

func TestTheSmallBinaryStaysSmall(t *testing.T) {
	for _, p := range packages(t) {
		if p.rel() != "cmd/kx" && p.rel() != "cmd/kxd" {
			continue
		}
		for _, dep := range p.Deps {
			if dep == "testing" {
				t.Errorf("%s links testing", p.rel())
			}
			if p.rel() != "cmd/kx" {
				continue
			}
			for _, h := range heavy {
				if dep == h || strings.HasPrefix(dep, h) && (strings.HasSuffix(h, "/") || dep[len(h)] == '/') {
					t.Errorf("cmd/kx reaches %s", dep)
				}
			}
			if strings.Contains(dep, heavyWord) {
				t.Errorf("cmd/kx reaches %s", dep)
			}
		}
	}
}

func TestPackagesAreSmallAndExplained(t *testing.T) {
	for _, p := range packages(t) {
		lines := 0
		for _, file := range p.files() {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lines += bytes.Count(b, []byte("\n"))
		}
		if lines > maxLines {
			t.Errorf("%s has %d lines, more than %d", p.rel(), lines, maxLines)
		}
		if p.Doc == "" {
			t.Errorf("%s has no package comment", p.rel())
		}
		if slices.Contains(noNames, path.Base(p.rel())) {
			t.Errorf("%s: the name says nothing", p.rel())
		}
	}
}

func TestProcessIsTouchedInItsPlaces(t *testing.T) {
	for _, p := range packages(t) {
		if p.forTests() {
			continue
		}
		for _, file := range p.files() {
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			used := calls(f)
			for _, rule := range touch {
				if slices.ContainsFunc(rule.places, func(place string) bool { return under(p.rel(), place) }) {
					continue
				}
				for _, name := range rule.funcs {
					if used[name] {
						t.Errorf("%s uses %s: %s", filepath.Join(p.rel(), filepath.Base(file)), name, rule.why)
					}
				}
			}
			for _, rule := range pass {
				if methods(f)[rule.method] && !slices.ContainsFunc(rule.places, func(place string) bool { return p.rel() == place }) {
					t.Errorf("%s calls %s, which is not for it: %s", filepath.Join(p.rel(), filepath.Base(file)), rule.method, rule.why)
				}
			}
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" && p.rel() != behindWalls {
					t.Errorf("%s has an init function", filepath.Join(p.rel(), filepath.Base(file)))
				}
			}
		}
	}
}

// calls returns the names "package.Func" of the standard library that a file
// mentions, whatever it calls the package.
func calls(f *ast.File) map[string]bool {
	names := map[string]string{}
	for _, imp := range f.Imports {
		p, err := strconv.Unquote(imp.Path.Value)
		if err != nil {
			continue
		}
		local := path.Base(p)
		if imp.Name != nil {
			local = imp.Name.Name
		}
		names[local] = p
	}
	used := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok && names[id.Name] != "" {
				used[names[id.Name]+"."+sel.Sel.Name] = true
			}
		}
		return true
	})
	return used
}

// methods returns the names that a file selects from anything, packages too.
func methods(f *ast.File) map[string]bool {
	used := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			used[sel.Sel.Name] = true
		}
		return true
	})
	return used
}

// TestTheTestItself shows that the rules catch what they are for.
func TestTheTestItself(t *testing.T) {
	for rel, want := range map[string]string{
		"pkg/wire": "the documents", "pkg/policy/shell": "policy and the approval client", "internal/base/out": "primitives",
		"internal/gate": "the gate", "internal/gate/tool": "what the gate decides with", "internal/model/script": "models",
		"internal/cmd/policy": "commands", "cmd/kx": "the binaries", "internal/new": "", "util": "", "man": "files, embedded", "manual": "",
	} {
		got := ""
		if i := layer(rel); i >= 0 {
			got = layers[i].what
		}
		if got != want {
			t.Errorf("%s is in the layer %q, want %q", rel, got, want)
		}
	}
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nimport o \"os\"\nvar _ = o.Getenv\n", 0)
	if err != nil || !calls(f)["os.Getenv"] {
		t.Errorf("a renamed os.Getenv was not seen: %v", err)
	}
	f, err = parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc f(o *T) { o.App.IO.Out.Exact(nil); go print(o.g().Whole) }\n", 0)
	if err != nil || !methods(f)["Exact"] || !methods(f)["Whole"] {
		t.Errorf("what passes the sanitiser was not seen: %v", err)
	}
}
