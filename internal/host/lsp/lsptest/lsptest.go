// Package lsptest makes projects for tests of language servers: samples in each
// language, whose interesting places are known, a Go module of any size, and a
// PATH with the servers that make servers installs. Only tests call it; no program has
// it.
package lsptest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// Place is where a name stands: a line and a column from 1, in characters.
type Place struct {
	File         string // absolute
	Line, Column int
	Name         string
}

// String is the place as one types it.
func (p Place) String() string {
	return p.File + ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column)
}

// Samples are the names of all samples, sorted.
func Samples(t testing.TB) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(folder(t), "*.txtar"))
	if err != nil || len(list) == 0 {
		t.Fatalf("there are no samples: %v", err)
	}
	for i := range list {
		list[i] = strings.TrimSuffix(filepath.Base(list[i]), ".txtar")
	}
	return list
}

// Sample writes testdata/lsp/NAME.txtar to a folder, and returns its places: the lines
// NAME FILE:LINE:COLUMN WORD before its files. All samples have
//
//	total          a function in another file than its calls, total.call and total.again
//	item           a type, which has the method label.item
//	named, label   an interface that it implements, and its method; not in JavaScript
//	cart           a variable, used at cart.use
//	local          a variable in a function, whose name is not ASCII, used at local.use
//	show           a function, in which total.again is
//
// and are without errors.
func Sample(t testing.TB, name, dir string) map[string]Place {
	t.Helper()
	a, err := txtar.ParseFile(filepath.Join(folder(t), name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range a.Files {
		write(t, filepath.Join(dir, f.Name), f.Data)
	}
	places := map[string]Place{}
	for _, line := range strings.Split(string(a.Comment), "\n") {
		words := strings.Fields(line)
		if len(words) != 3 {
			continue
		}
		at := strings.Split(words[1], ":")
		if len(at) != 3 {
			continue
		}
		p := Place{File: filepath.Join(dir, at[0]), Name: words[2]}
		if p.Line, err = strconv.Atoi(at[1]); err == nil {
			p.Column, err = strconv.Atoi(at[2])
		}
		if err != nil {
			t.Fatalf("%s.txtar: %q: %v", name, line, err)
		}
		places[words[0]] = p
	}
	return places
}

// folder is testdata/lsp, for the tests of any package.
func folder(t testing.TB) string {
	t.Helper()
	return filepath.Join(moduleRoot(t), "testdata", "lsp")
}

// moduleRoot is the folder of go.mod.
func moduleRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd() // go test begins in the package's folder
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("there is no go.mod above the test")
		}
	}
}

func write(t testing.TB, path string, text []byte) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
