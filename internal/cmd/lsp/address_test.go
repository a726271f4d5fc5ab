package lsp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/pkg/wire"
)

func TestParse(t *testing.T) {
	files := map[string]bool{"whole:3:x": true, "a:1": true, "x": true}
	at := func(path string, line, column int) wire.CodeQuery {
		return wire.CodeQuery{Path: path, Line: line, Column: column}
	}
	named := func(path string, line int, name string, n int) wire.CodeQuery {
		return wire.CodeQuery{Path: path, Line: line, Name: name, Occurrence: n}
	}
	for text, want := range map[string]wire.CodeQuery{
		"main.go:3:9":              at("main.go", 3, 9),
		"main.go:03:009":           at("main.go", 3, 9),
		"main.go:3:fmt":            named("main.go", 3, "fmt", 0),
		"main.go:3:fmt#2":          named("main.go", 3, "fmt", 2),
		"a:b.go:3:9":               at("a:b.go", 3, 9),
		"a:1:3:9":                  at("a:1", 3, 9),
		"C:\\a.go:3:9":             at("C:\\a.go", 3, 9),
		"a b#c%20d.go:3:9":         at("a b#c%20d.go", 3, 9),
		"ünï/世界.go:3:größe":        named("ünï/世界.go", 3, "größe", 0),
		"new\nline.go:3:x":         named("new\nline.go", 3, "x", 0),
		"lib.rs:3:r#type":          named("lib.rs", 3, "r#type", 0),
		"lib.rs:3:r#type#2":        named("lib.rs", 3, "r#type", 2),
		"a.js:3:#private":          named("a.js", 3, "#private", 0),
		"a.js:3:$el":               named("a.js", 3, "$el", 0),
		"a.go:3:x1":                named("a.go", 3, "x1", 0),
		"/abs/a.go:3:9":            at("/abs/a.go", 3, 9),
		"../up.go:2147483647:1":    at("../up.go", 2147483647, 1),
		":x:3:9":                   at(":x", 3, 9),
		"::3:9":                    at(":", 3, 9),
		"https://x/y.go:3:9":       at("https://x/y.go", 3, 9),
		"whole:3:x:1:2":            at("whole:3:x", 1, 2),
		"-dash.go:1:2":             at("-dash.go", 1, 2),
		"a.go:1:" + nineHundred():  named("a.go", 1, nineHundred(), 0),
		"\xff.go:1:2":              at("\xff.go", 1, 2),
		"a.go:1:name with a blank": named("a.go", 1, "name with a blank", 0),
	} {
		got, err := parse(text, func(f string) bool { return files[f] })
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for text, words := range map[string]string{
		"":                       "the address is empty",
		"x":                      "is a file; say where in it",
		"whole:3:x":              "is a file; say where in it",
		"main.go":                "is no address",
		"main.go:fmt":            "is no address",
		"main.go:3":              "has a line and no column",
		"a:1:2":                  "", // a, line 1, column 2: there is no file a:1:2
		"main.go:3:":             "ends without a column or a name",
		"main.go:3:#2":           "ends without a column or a name",
		"main.go:3:x#0":          "N counts from 1",
		"main.go:0:1":            "lines are numbers from 1",
		"main.go:1:0":            "columns are numbers from 1",
		"main.go:2147483648:1":   "lines are numbers from 1",
		"main.go:1:2147483648":   "columns are numbers from 1",
		"main.go:1:x#2147483648": "N counts from 1",
		":3:9":                   "is no address",
		"3:9":                    "has a line and no column",
		"main.go:-1:1":           "is no address",
		"main.go: 1:1":           "is no address",
		"main.go:x:1":            "is no address",
		":":                      "is no address",
	} {
		_, err := parse(text, func(f string) bool { return files[f] })
		if words == "" {
			if err != nil {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		if fail.Exit(err) != fail.ExitUsage || !strings.Contains(err.Error(), words) || fail.As(err).Hint == "" {
			t.Errorf("%q: %v, want %s", text, err, words)
		}
	}
}

func nineHundred() string { return strings.Repeat("n", 900) }

// What is read of an address is all of it, and reads back as the same.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"main.go:3:9", "a:b:3:x#2", "new\nline:1:r#type", ":::1:1", "a:1:#", "\xff:1:\xff", "a:00001:1"} {
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, text string, file bool) {
		q, err := parse(text, func(name string) bool { return file && name == text })
		if err != nil {
			if fail.Exit(err) != fail.ExitUsage || len(err.Error()) > 1000 {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if file {
			t.Fatalf("%q is a file, and was read as %+v", text, q)
		}
		if q.Path == "" || q.Line < 1 || (q.Column > 0) == (q.Name != "") || q.Occurrence > 0 && q.Name == "" {
			t.Fatalf("%q: %+v", text, q)
		}
		again := fmt.Sprintf("%s:%d:", q.Path, q.Line)
		switch {
		case q.Column > 0:
			again += fmt.Sprint(q.Column)
		case q.Occurrence > 0:
			again += fmt.Sprintf("%s#%d", q.Name, q.Occurrence)
		default:
			again += q.Name
		}
		if r, err := parse(again, func(string) bool { return false }); err != nil || r != q {
			t.Fatalf("%q is %+v, and %q is %+v, %v", text, q, again, r, err)
		}
		if !strings.HasPrefix(text, q.Path+":") {
			t.Fatalf("%q: the path is %q", text, q.Path)
		}
	})
}
