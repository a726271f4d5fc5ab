package lsptest

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
)

const (
	// perPackage is how many files a package of the module has.
	perPackage = 8

	// least is how many lines a file has that is as short as can be.
	least = 30
)

// Module writes a Go module of that many files and lines, always the same: packages
// that import two others each, with types, methods, functions that call each other,
// and an interface that all the types implement. The places are a function,
// "definition", and a call of it in another package, "use".
func Module(t testing.TB, dir string, files, lines int) map[string]Place {
	t.Helper()
	if files < 3*perPackage || lines < files*least {
		t.Fatalf("a module has at least %d files of %d lines", 3*perPackage, least)
	}
	write(t, filepath.Join(dir, "go.mod"), []byte("module example.com/large\n\ngo 1.21\n"))
	for i := range files {
		size := lines / files
		if i < lines%files {
			size++
		}
		write(t, filepath.Join(dir, at(i)), source(i, size))
	}
	last := (files/perPackage - 1) * perPackage // in a package that is whole
	other := last / perPackage / 2
	definition, use := at(other*perPackage), at(last)
	return map[string]Place{
		"definition": {File: filepath.Join(dir, definition), Line: 21, Column: 6, Name: "Sum0"},
		"use":        {File: filepath.Join(dir, use), Line: 23, Column: 10 + len(name(other)), Name: "Sum0"},
	}
}

func name(pack int) string { return fmt.Sprintf("part%03d", pack) }

func folderOf(pack int) string { return fmt.Sprintf("area%d/%s", pack%10, name(pack)) }

// at is the path of a file.
func at(file int) string {
	return fmt.Sprintf("%s/file%d.go", folderOf(file/perPackage), file%perPackage)
}

// source is a file, of a number of lines.
func source(file, lines int) []byte {
	var b bytes.Buffer
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	pack, n := file/perPackage, file%perPackage
	one, two := pack/2, pack/3 // lower: no cycles, and no deep chains
	if one == two {
		two = max(0, one-1)
	}
	// the two lowest import nothing: their lines are comments
	imports := pack > 2
	say("package %s", name(pack))
	say("")
	if imports {
		say("import (")
		for _, i := range order(one, two) {
			say("\t%q", "example.com/large/"+folderOf(i))
		}
		say(")")
	} else {
		say("// The parts with low numbers are what the others stand on.")
		say("//")
		say("// They import nothing.")
		say("//")
	}
	say("")
	say("// Adder%d is what all the types are.", n)
	say("type Adder%d interface{ Add(n int) int }", n)
	say("")
	say("// Number%d can be added to.", n)
	say("type Number%d struct{ Value int }", n)
	say("")
	say("// Add makes it larger.")
	say("func (x *Number%d) Add(n int) int {", n)
	say("\tx.Value += n")
	say("\treturn x.Value")
	say("}")
	say("")
	say("// Sum%d adds up what others do.", n)
	say("func Sum%d(n int) int {", n)
	say("\tvar to Adder%d = &Number%d{Value: n}", n, n)
	if imports {
		say("\tto.Add(%s.Sum%d(n))", name(one), n)
		say("\treturn to.Add(%s.Sum%d(n))", name(two), n)
	} else {
		say("\tto.Add(n)")
		say("\treturn to.Add(n)")
	}
	say("}")
	say("")
	say("const (")
	for i := range lines - 28 {
		say("\tConst%d_%05d = %d", n, i, i)
	}
	say(")")
	return b.Bytes()
}

func order(a, b int) [2]int {
	// as gofmt has them: by the area first
	if folderOf(b) < folderOf(a) {
		a, b = b, a
	}
	return [2]int{a, b}
}
