package lsp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/tools/file"
	"github.com/kxtools/kx/internal/tools/file/hunk"
	"github.com/kxtools/kx/pkg/policy/patch"
	"github.com/kxtools/kx/pkg/wire"
)

// edits are those that give all of old in a file the name new.
func (w *world) edits(name, old, new string) wire.CodeEdits {
	w.t.Helper()
	p := filepath.Join(w.ws, name)
	b, err := os.ReadFile(p)
	if err != nil {
		w.t.Fatal(err)
	}
	sum := sha256.Sum256(b)
	e := wire.CodeEdits{Path: p, SHA256: hex.EncodeToString(sum[:])}
	for at := 0; ; {
		i := strings.Index(string(b[at:]), old)
		if i < 0 {
			return e
		}
		e.Edits = append(e.Edits, wire.CodeEdit{Start: at + i, End: at + i + len(old), NewText: new})
		at += i + len(old)
	}
}

func (w *world) get(name string) string {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.ws, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

const renameInput = `{"path":"a.go","line":3,"name":"Old","new_name":"Älter"}`

func dry(input string) string { return strings.TrimSuffix(input, "}") + `,"dry_run":true}` }

func TestRename(t *testing.T) {
	w := newWorld(t)
	w.put("sub/b.go", "package sub\r\n\r\nvar x = \"😀\" + Old() + Old()\r\n")
	w.put("last", "Old")
	answer := wire.CodeAnswer{State: wire.CodeOK, Total: 4, Edits: []wire.CodeEdits{w.edits("a.go", "Old", "Älter"), w.edits("last", "Old", "Älter"), w.edits("sub/b.go", "Old", "Älter")}}
	w.says("rename", answer)
	before := w.get("sub/b.go")
	out, err := w.call("rename", dry(renameInput))
	if err != nil {
		t.Fatal(err)
	}
	want := `--- a/a.go
+++ b/a.go
@@ -1,3 +1,3 @@
 package a
 
-func Old() {}
+func Älter() {}
--- a/last
+++ b/last
@@ -1,1 +1,1 @@
-Old
\ No newline at end of file
+Älter
\ No newline at end of file
--- a/sub/b.go
+++ b/sub/b.go
@@ -1,3 +1,3 @@
 package sub` + "\r\n \r\n-var x = \"😀\" + Old() + Old()\r\n+var x = \"😀\" + Älter() + Älter()\r\n"
	a := Answer(out)
	if d := cmp.Diff(want, a.Patch); d != "" {
		t.Error(d)
	}
	if strings.Join(a.Paths, " ") != "a.go last sub/b.go" || a.Added != 3 || a.Removed != 3 || a.Applied || a.Edits != nil {
		t.Errorf("%+v", a)
	}
	if !strings.HasSuffix(out.Text(), "\n3 files would change (+3 -3 lines)") || w.get("sub/b.go") != before {
		t.Errorf("%q", out.Text())
	}
	out, err = w.call("rename", renameInput)
	if a = Answer(out); err != nil || !a.Applied || a.Patch != want || !strings.HasSuffix(out.Text(), "3 files changed (+3 -3 lines)") {
		t.Errorf("%v, %+v", err, a)
	}
	if w.get("a.go") != "package a\n\nfunc Älter() {}\n" || w.get("last") != "Älter" || w.get("sub/b.go") != strings.ReplaceAll(before, "Old", "Älter") {
		t.Errorf("%q %q %q", w.get("a.go"), w.get("last"), w.get("sub/b.go"))
	}
	// The edits were for the old contents.
	if _, err = w.call("rename", renameInput); err == nil || err.Exit != 7 || err.Code != "changed_meanwhile" {
		t.Errorf("%+v", err)
	}
}

// A rename that can't be made in one file is made in none.
func TestRenameIsWhole(t *testing.T) {
	for _, tt := range []struct {
		what    string
		spoil   func(w *world, a *wire.CodeAnswer)
		code    string
		exit    int
		words   string
		dryToo  bool
		noEdits bool
	}{
		{"a file that may not be read", func(w *world, a *wire.CodeAnswer) {
			w.put("secret/s.go", "Old")
			a.Edits = append(a.Edits, w.edits("secret/s.go", "Old", "New"))
		}, "denied", 3, "a file that policy does not allow to read", true, false},
		{"a link to a file that may not be read", func(w *world, a *wire.CodeAnswer) {
			os.Symlink("secret/s.go", filepath.Join(w.ws, "link.go"))
			a.Edits = append(a.Edits, wire.CodeEdits{Path: filepath.Join(w.ws, "link.go")})
		}, "denied", 3, "a file that policy does not allow to read", true, false},
		{"a file that may not be written", func(w *world, a *wire.CodeAnswer) {
			w.put("sealed.go", "Old")
			a.Edits = append(a.Edits, w.edits("sealed.go", "Old", "New"))
		}, "denied", 3, "sealed.go, which this call may not write", false, false},
		{"no gate to ask", func(w *world, a *wire.CodeAnswer) { w.env.MayWrite = nil }, "denied", 3, "may not write", false, false},
		{"outside", func(w *world, a *wire.CodeAnswer) {
			w.env.MayRead = func(string) bool { return true }
			a.Edits = append(a.Edits, wire.CodeEdits{Path: filepath.Join(filepath.Dir(w.ws), "x.go")})
		}, "outside_workspace", 3, "outside the workspace", true, false},
		{"a path that leads out", func(w *world, a *wire.CodeAnswer) {
			w.env.MayRead = func(string) bool { return true }
			a.Edits = append(a.Edits, wire.CodeEdits{Path: w.ws + "/../x.go"})
		}, "", 0, "", true, false},
		{"changed", func(w *world, a *wire.CodeAnswer) { w.put("last.go", "Old, other") }, "changed_meanwhile", 7, "last.go was changed", true, false},
		{"gone", func(w *world, a *wire.CodeAnswer) { os.Remove(filepath.Join(w.ws, "last.go")) }, "changed_meanwhile", 7, "last.go was changed", true, false},
		{"read-only", func(w *world, a *wire.CodeAnswer) { os.Chmod(filepath.Join(w.ws, "last.go"), 0o444) }, "read_only", 1, "last.go is read-only", true, false},
		{"a link", func(w *world, a *wire.CodeAnswer) {
			os.Symlink("last.go", filepath.Join(w.ws, "link.go"))
			e := w.edits("last.go", "Old", "New")
			e.Path = filepath.Join(w.ws, "link.go")
			a.Edits = append(a.Edits, e)
		}, "path_changed", 7, "symbolic link", true, false},
		{"edits that don't fit", func(w *world, a *wire.CodeAnswer) { a.Edits[1].Edits[0].End = 99 }, "bad_answer", 1, "don't fit", true, false},
		{"edits that overlap", func(w *world, a *wire.CodeAnswer) {
			a.Edits[1].Edits = append(a.Edits[1].Edits, wire.CodeEdit{Start: 1, End: 2})
		}, "bad_answer", 1, "don't fit", true, false},
		{"edits from before the beginning", func(w *world, a *wire.CodeAnswer) { a.Edits[1].Edits[0].Start = -1 }, "bad_answer", 1, "don't fit", true, false},
		{"nothing", func(w *world, a *wire.CodeAnswer) { a.Edits = nil }, "nothing_to_rename", 8, "nothing to rename", true, false},
		{"the same name", func(w *world, a *wire.CodeAnswer) {
			a.Edits = []wire.CodeEdits{w.edits("a.go", "Old", "Old")}
		}, "nothing_to_rename", 8, "that name already", true, false},
	} {
		w := newWorld(t)
		w.put("last.go", "Old")
		a := wire.CodeAnswer{State: wire.CodeOK, Edits: []wire.CodeEdits{w.edits("a.go", "Old", "New"), w.edits("last.go", "Old", "New")}}
		tt.spoil(w, &a)
		w.says("rename", a)
		before := w.get("a.go")
		for _, input := range []string{dry(renameInput), renameInput} {
			_, err := w.call("rename", input)
			switch isDry := input != renameInput; {
			case tt.code == "":
				if err == nil {
					t.Errorf("%s: no error", tt.what)
				}
			case isDry && !tt.dryToo:
				if err != nil {
					t.Errorf("%s, dry: %+v", tt.what, err)
				}
			case err == nil || err.Code != tt.code || err.Exit != tt.exit || !strings.Contains(err.Msg, tt.words):
				t.Errorf("%s: %+v, want %s (%d) %s", tt.what, err, tt.code, tt.exit, tt.words)
			case strings.Contains(err.Msg, "secret"):
				t.Errorf("%s: the message names the file: %s", tt.what, err.Msg)
			}
		}
		if w.get("a.go") != before {
			t.Errorf("%s: a.go is %q", tt.what, w.get("a.go"))
		}
	}
}

// What is no UTF-8 can be renamed in, but there is no patch of it.
func TestRenameOfOldBytes(t *testing.T) {
	w := newWorld(t)
	w.put("latin.go", "// caf\xe9\nOld\n")
	w.says("rename", wire.CodeAnswer{State: wire.CodeOK, Edits: []wire.CodeEdits{w.edits("latin.go", "Old", "New")}})
	if _, err := w.call("rename", dry(renameInput)); err == nil || err.Code != "not_utf8" {
		t.Errorf("%+v", err)
	}
	if _, err := w.call("rename", renameInput); err != nil || w.get("latin.go") != "// caf\xe9\nNew\n" {
		t.Errorf("%v, %q", err, w.get("latin.go"))
	}
}

// The patch means the same files to apply_patch, from the folder of the call.
func TestPatchIsOne(t *testing.T) {
	names := []string{"a b.go", "tab\there.go", "new\nline.go", "q\"uote.go", "back\\slash.go", "ünïcode 世界.go", "a:b#c%d.go", "\x7f.go", "end .go ", "--- a.go", "\u202e.go"}
	w := newWorld(t)
	var a wire.CodeAnswer
	a.State = wire.CodeOK
	for i, n := range names {
		n = "sub/" + n
		if i%2 == 1 {
			n = strings.TrimPrefix(n, "sub/")
		}
		names[i] = n
		w.put(n, "x\nOld\n")
		a.Edits = append(a.Edits, w.edits(n, "Old", "New"))
	}
	w.says("rename", a)
	w.env.Cwd = filepath.Join(w.ws, "sub")
	out, err := w.call("rename", `{"symbol":"Old","new_name":"New","dry_run":true}`)
	if err != nil {
		t.Fatal(err)
	}
	text := Answer(out).Patch
	got, perr := patch.Names(text)
	if perr != nil {
		t.Fatalf("%v\n%s", perr, text)
	}
	w.env.Judged = map[string]string{}
	for i, n := range got {
		abs := n
		if !filepath.IsAbs(n) {
			abs = filepath.Join(w.env.Cwd, n)
		}
		w.env.Judged[n] = abs
		if want := filepath.Join(w.ws, names[i]); abs != want {
			t.Errorf("%q means %q, want %q", n, abs, want)
		}
	}
	input, _ := json.Marshal(map[string]string{"patch": text})
	tools := file.Tools(func(string) (string, error) { return "", os.ErrNotExist })
	i := slices.IndexFunc(tools, func(t tool.Tool) bool { return t.Name == "apply_patch" })
	if _, err := tools[i].Run(t.Context(), w.env, input); err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if w.get(n) != "x\nNew\n" {
			t.Errorf("%q: %q", n, w.get(n))
		}
	}
}

// What a patch makes of a file is what the edits make of it.
func FuzzPatch(f *testing.F) {
	for _, seed := range []string{"Old\n", "a\nOld\r\nOld", "\r\n\r\nOld\r", "\ufeffOld\n", "Old Old\n\n\n\n\n\n\n\n\nOld\n", "--- a\n+++ b\n@@ Old\n", "\\ No newline at end of file\nOld"} {
		f.Add(seed, "New")
	}
	f.Fuzz(func(t *testing.T, before, name string) {
		after := strings.ReplaceAll(before, "Old", name)
		const most = 2000 // beyond that only time is spent
		if len(before)+len(name) > most || !utf8.ValidString(before) || !utf8.ValidString(name) || strings.ContainsAny(name, "\r\n") || name == "" || before == after {
			return
		}
		const bom = "\ufeff" // apply_patch takes one for the beginning of a file, wherever it is
		if strings.Contains(strings.TrimPrefix(before, bom), bom) || strings.Contains(name, bom) {
			return
		}
		text, _, _ := file.Diff([]byte(before), []byte(after))
		files, err := patch.Parse(fmt.Sprintf("--- %s\n+++ %s\n%s", patchName("a/x y"), patchName("b/x y"), text))
		if err != nil || len(files) != 1 || files[0].Path != "x y" {
			t.Fatalf("%q: %v, %+v", text, err, files)
		}
		var notes []string
		got, err := hunk.Apply(t.Context(), []byte(before), files[0].Hunks, &notes)
		if err != nil || string(got) != after {
			t.Fatalf("%q to %q: %q, %v, %q", before, after, got, err, notes)
		}
	})
}
