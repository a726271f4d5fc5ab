package language

import (
	"os"
	"path/filepath"
	"testing"
)

// Modules that use the one of a file are counted, unless a go.work joins them or the name
// can't be used there.
func TestGoApart(t *testing.T) {
	root := t.TempDir()
	var files []string
	file := func(name, text string) string {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
		return path
	}
	file("a/go.mod", "module example.com/a\n")
	a := file("a/sub/a.go", "package sub\n")
	alone := files
	file("b/go.mod", "module example.com/b\n\nrequire example.com/a v0.0.0\n\nreplace example.com/a => ../a\n")
	b := file("b/b.go", "package b\n")
	file("c/go.mod", "module example.com/c\n\nrequire example.com/b v0.0.0\n")
	const one = "another module uses this one and was not looked into: a go.work joins them (go work init, go work use -r .)"
	for _, c := range []struct {
		files      []string
		path, name string
		want       string
	}{
		{alone, a, "A", ""},
		{files, a, "A", one},
		{files, a, "", one},
		{files, a, "local", ""},
		{files, b, "B", one},
	} {
		if got := goApart(c.files, c.path, c.name); got != c.want {
			t.Errorf("%s %s: %q, not %q", c.path, c.name, got, c.want)
		}
	}
	file("go.work", "go 1.24\n\nuse (\n\t./a\n\t./b\n)\n")
	if got := goApart(files, a, "A"); got != "" {
		t.Errorf("with a go.work: %q", got)
	}
}
