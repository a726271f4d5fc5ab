package arch

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The whole of it compiles for macOS, with its tests. Types are all that is looked at,
// of others' packages without what their functions do: a compiler takes minutes over
// the packages of providers.
func TestCompilesOnMacOS(t *testing.T) {
	c := &checker{fset: token.NewFileSet(), done: map[string]*types.Package{"unsafe": types.Unsafe}}
	own := 0
	for _, p := range forMacOS(t) {
		mine := strings.HasPrefix(p.ImportPath, module+"/")
		if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") {
			continue
		}
		for _, err := range c.check(p, mine) {
			if mine {
				t.Error(err)
			}
		}
		if mine {
			own++
		}
	}
	if own < 100 {
		t.Errorf("%d packages of ours are looked at", own)
	}
}

// The test sees what does not compile.
func TestTheCheckerItself(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"package a\nvar x int = 1": "", "package a\nvar x int = `a`": "cannot use", "package a\nfunc f() { g() }": "undefined: g",
		"package a\nimport `b`\nvar x = b.X": "there is no b",
		"package a\nfunc f(":                 "expected",
	} {
		if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c := &checker{fset: token.NewFileSet(), done: map[string]*types.Package{}}
		errs := c.check(listed{Dir: dir, ImportPath: "a", GoFiles: []string{"a.go"}}, true)
		if got := fmt.Sprint(errs); (want == "") != (len(errs) == 0) || !strings.Contains(got, want) {
			t.Errorf("%q: %s", text, got)
		}
	}
}

// listed is a package as go list has it; what it imports comes before it.
type listed struct {
	Dir, ImportPath string
	GoFiles         []string
	ImportMap       map[string]string
}

func forMacOS(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-test", "-tags", "urfave_cli_no_docs", "-json=Dir,ImportPath,GoFiles,ImportMap", module+"/...")
	cmd.Env = append(os.Environ(), "GOOS=darwin", "GOARCH=arm64", "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var list []listed
	for dec := json.NewDecoder(out); ; {
		var p listed
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	return list
}

// checker checks the types of packages, one after the other.
type checker struct {
	fset *token.FileSet
	done map[string]*types.Package
}

func (c *checker) check(p listed, bodies bool) (errs []error) {
	var files []*ast.File
	for _, name := range p.GoFiles {
		if !filepath.IsAbs(name) {
			name = filepath.Join(p.Dir, name)
		}
		f, err := parser.ParseFile(c.fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return []error{err}
		}
		files = append(files, f)
	}
	conf := types.Config{
		IgnoreFuncBodies: !bodies, Sizes: types.SizesFor("gc", "arm64"),
		Importer: importer(func(path string) (*types.Package, error) {
			if to := p.ImportMap[path]; to != "" {
				path = to
			}
			if done := c.done[path]; done != nil {
				return done, nil
			}
			return nil, fmt.Errorf("there is no %s", path)
		}),
		Error: func(err error) { errs = append(errs, err) },
	}
	c.done[p.ImportPath], _ = conf.Check(p.ImportPath, c.fset, files, nil) // Error has been told
	return errs
}

type importer func(path string) (*types.Package, error)

func (i importer) Import(path string) (*types.Package, error) { return i(path) }
