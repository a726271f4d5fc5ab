package file

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/judge"
	"github.com/kxtools/kx/internal/tools/file/place"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/patch"
)

// tree lists the files of the workspace with their modes and contents.
func (w *workspace) tree() map[string]string {
	w.t.Helper()
	all := map[string]string{}
	w.must(filepath.WalkDir(w.dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == w.dir {
			return err
		}
		rel, _ := filepath.Rel(w.dir, p)
		if d.Type()&fs.ModeSymlink != 0 {
			all[rel], err = os.Readlink(p)
			return err
		}
		if d.IsDir() {
			all[rel] = "folder"
			return nil
		}
		st, err := d.Info()
		w.must(err)
		b, err := os.ReadFile(p)
		all[rel] = fmt.Sprintf("%o %s", st.Mode().Perm(), b)
		return err
	}))
	return all
}

const everything = `*** Begin Patch
*** Update File: a.txt
@@
-one
+1
*** Add File: new/deep/b.txt
+hello
*** Update File: c.txt
*** Move to: moved/c.txt
@@
-x
+y
*** Delete File: d.txt
*** Update File: e.txt
*** Move to: e2.txt
*** End Patch
`

func everythingIn(t *testing.T) *workspace {
	w := newWorkspace(t)
	w.put("a.txt", "one\ntwo\n", 0o640)
	w.put("c.txt", "x\n", 0o755)
	w.put("d.txt", "1\n2\n3", 0o644)
	w.put("e.txt", "\x00binary", 0o600)
	return w
}

func TestApplyPatch(t *testing.T) {
	w := everythingIn(t)
	out, err := w.call("apply_patch", map[string]any{"patch": everything})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"paths": []string{"a.txt", "new/deep/b.txt", "c.txt", "moved/c.txt", "d.txt", "e.txt", "e2.txt"},
		"sha256": map[string]string{
			"a.txt": sum("1\ntwo\n"), "new/deep/b.txt": sum("hello\n"), "c.txt": "", "moved/c.txt": sum("y\n"), "d.txt": "",
			"e.txt": "", "e2.txt": sum("\x00binary"),
		},
		"added": 3, "removed": 5,
		"text": `wrote a.txt (+1 -1 lines, 6 bytes)
created new/deep/b.txt (+1 -0 lines, 6 bytes)
moved c.txt to moved/c.txt (+1 -1 lines, 2 bytes)
deleted d.txt (+0 -3 lines)
moved e.txt to e2.txt (+0 -0 lines, 7 bytes)
a.txt:
@@ -1,2 +1,2 @@
-one
+1
 two
moved/c.txt:
@@ -1,1 +1,1 @@
-x
+y`,
	}
	if d := cmp.Diff(want, map[string]any(out)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]string{
		"a.txt": "640 1\ntwo\n", "e2.txt": "600 \x00binary", "moved": "folder", "moved/c.txt": "755 y\n",
		"new": "folder", "new/deep": "folder", "new/deep/b.txt": "644 hello\n",
	}, w.tree()); d != "" {
		t.Error(d)
	}
}

func TestApplyPatchNotes(t *testing.T) {
	w := newWorkspace(t)
	w.put("f", "x\n\ta\n", 0o644)
	out, err := w.call("apply_patch", map[string]any{"patch": "--- a/f\n+++ b/f\n@@ -1,7 +1 @@\n-    a\n+\tb\n--- a/g\n+++ b/g\n@@ -0,0 +1 @@\n+new\n"})
	want := "wrote f (+1 -1 lines, 5 bytes)\n[hunk 1 counts its lines wrong in the patch: all of them were taken]\n[hunk 1 is at line 2, where white space differs from the patch]\n" +
		"created g (+1 -0 lines, 4 bytes)\n[the file did not exist: it was made]\nf:\n"
	if err != nil || !strings.HasPrefix(out.Text(), want) {
		t.Errorf("%v %q", err, out.Text())
	}
}

func TestApplyPatchModes(t *testing.T) {
	w := newWorkspace(t)
	w.put("f", "x\n", 0o640)
	w.put("g", "x\n", 0o755)
	_, err := w.call("apply_patch", map[string]any{"patch": "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n" +
		"diff --git a/g b/g\nold mode 100755\nnew mode 100644\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-x\n+y\n" +
		"diff --git a/h b/h\nnew file mode 100755\n--- /dev/null\n+++ b/h\n@@ -0,0 +1 @@\n+z\n\\ No newline at end of file\n"})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]string{"f": "750 x\n", "g": "644 y\n", "h": "755 z"}, w.tree()); d != "" {
		t.Error(d)
	}
}

// What is refused changes nothing at all, whatever stands in front of it.
func TestApplyPatchRefuses(t *testing.T) {
	update := func(name, old, new string) string {
		return "*** Update File: " + name + "\n@@\n-" + old + "\n+" + new + "\n"
	}
	first := update("a.txt", "one", "1") + "*** Add File: new/n\n+n\n"
	for _, c := range []struct {
		what, sections, code string
		exit                 int
		words                string
	}{
		{"no match", update("c.txt", "z", "y"), "no_match", 1, "hunk 1 of c.txt (line 9 of the patch) can't be applied: its lines are not in the file"},
		{"nearly", "*** Update File: a2.txt\n@@\n one\n-2\n+3\n", "no_match", 1, `differs at line 2: the patch has "2", the file "two"`},
		{"several", update("many", "x", "y"), "ambiguous_match", 1, "(it fits at lines 1, 2, 3)"},
		{"missing", update("nonesuch", "x", "y"), "no_such_file", 8, "nonesuch does not exist"},
		{"delete what is missing", "*** Delete File: nonesuch\n", "no_such_file", 8, "nonesuch"},
		{"add what is there", "*** Add File: c.txt\n+x\n", "file_exists", 7, "c.txt exists already"},
		{"move onto a file", "*** Update File: c.txt\n*** Move to: d.txt\n", "file_exists", 7, "can't be moved onto it"},
		{"two sections", update("a.txt", "two", "2"), "invalid_input", 2, "a.txt stands in two sections, at lines 2 and 8 of the patch"},
		{"two names for one", update("./x/../a.txt", "two", "2"), "invalid_input", 2, "two sections"},
		{"two names by a link", update("link.txt", "two", "2"), "invalid_input", 2, "two sections"},
		{"move to a section", "*** Update File: c.txt\n*** Move to: a.txt\n", "invalid_input", 2, "two sections"},
		{"a folder", update("folder", "x", "y"), "is_folder", 1, "folder"},
		{"delete a folder", "*** Delete File: folder\n", "is_folder", 1, "folder"},
		{"below a file", "*** Add File: c.txt/x\n+x\n", "not_a_folder", 1, "c.txt is not a folder"},
		{"below a new file", "*** Add File: p\n+x\n*** Add File: p/q\n+x\n", "invalid_input", 2, "p/q can't be both a file and a folder, as the sections at lines 8 and 10 of the patch say"},
		{"above a file", "*** Delete File: folder/x\n*** Add File: folder\n+x\n", "invalid_input", 2, "both a file and a folder"},
		{"delete a link", "*** Delete File: link.txt\n", "invalid_input", 2, "two sections"},
		{"delete another link", "*** Delete File: link2.txt\n", "is_link", 1, "symbolic link"},
		{"move a link", "*** Update File: link2.txt\n*** Move to: z\n", "is_link", 1, "symbolic link"},
		{"binary", update("e.txt", "binary", "y"), "binary_file", 1, "not text"},
		{"read-only", update("ro", "x", "y"), "read_only", 1, "mode 0444"},
		{"delete read-only", "*** Delete File: ro\n", "read_only", 1, "mode 0444"},
		{"a pipe", update("pipe", "x", "y"), "not_a_file", 1, "a pipe"},
		{"no change", update("c.txt", "x", "x"), "no_change", 1, "c.txt is as the patch makes it already"},
		{"no patch", "*** Foo\n", "invalid_input", 2, "line 8 of the patch"},
		{"huge", update("huge", "x", "y"), "too_large", 6, "at most 64.0 MiB"},
		{"a delete that leaves lines", "", "no_match", 1, "more lines than the patch takes out"},
	} {
		w := everythingIn(t)
		w.put("many", "x\nx\nx\n", 0o644)
		w.put("a2.txt", "one\ntwo\n", 0o644)
		w.put("ro", "x\n", 0o444)
		w.put("folder/x", "x\n", 0o644)
		w.put("t", "x\n", 0o644)
		w.must(os.Symlink("a.txt", w.path("link.txt")))
		w.must(os.Symlink("t", w.path("link2.txt")))
		w.put("huge", "", 0o644)
		if c.what == "huge" {
			w.must(os.Truncate(w.path("huge"), place.MaxWhole+1))
		}
		text := "*** Begin Patch\n" + first + c.sections + "*** End Patch\n"
		if c.what == "a delete that leaves lines" {
			text = "--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n"
		}
		if c.what == "a pipe" {
			w.must(syscall.Mkfifo(w.path("pipe"), 0o644))
		}
		skip := c.what == "a pipe" || c.what == "huge" // what can't be read whole here
		var before map[string]string
		if !skip {
			before = w.tree()
		}
		_, err := w.call("apply_patch", map[string]any{"patch": text})
		if err == nil || err.Code != c.code || err.Exit != c.exit || !strings.Contains(err.Msg, c.words) {
			t.Errorf("%s: %+v, want %s (%d) %s", c.what, err, c.code, c.exit, c.words)
		}
		if w.get("a.txt") != "one\ntwo\n" {
			t.Errorf("%s: a.txt was changed", c.what)
		}
		if !skip {
			if d := cmp.Diff(before, w.tree()); d != "" {
				t.Errorf("%s changed something: %s", c.what, d)
			}
		}
		w.clean()
	}
}

// What stands in a file is told to those only who may read it.
func TestApplyPatchKeepsSecrets(t *testing.T) {
	w := newWorkspace(t)
	w.put("f", "one\nsecret\n", 0o644)
	env := toolEnv(w)
	env.MayRead = func(string) bool { return false }
	run := func(name, input string) string {
		env.Judged = map[string]string{"f": w.path("f")}
		out, err := w.reg.Get(name).Run(context.Background(), env, []byte(input))
		return fmt.Sprint(out, err)
	}
	for _, got := range []string{
		run("apply_patch", `{"patch":"*** Begin Patch\n*** Update File: f\n@@\n one\n-2\n*** End Patch"}`),
		run("apply_patch", `{"patch":"*** Begin Patch\n*** Update File: f\n@@\n-one\n+1\n*** End Patch"}`),
		run("edit_file", `{"path":"`+w.path("f")+`","old_string":"1","new_string":"one"}`),
	} {
		if strings.Contains(got, "secret") || !strings.Contains(got, "f") {
			t.Errorf("%s", got)
		}
	}
	if w.get("f") != "one\nsecret\n" {
		t.Errorf("got %q", w.get("f"))
	}
}

// Paths that nobody judged are not opened.
func TestApplyPatchOpensWhatWasJudged(t *testing.T) {
	w := everythingIn(t)
	before := w.tree()
	for _, judged := range []map[string]string{nil, {"a.txt": w.path("a.txt")}, {"a.txt": w.path("../x"), "c.txt": "c.txt"}} {
		env := toolEnv(w)
		env.Judged = judged
		input := `{"patch":"*** Begin Patch\n*** Update File: a.txt\n-one\n+1\n*** Update File: c.txt\n-x\n+y\n*** End Patch"}`
		if _, err := w.reg.Get("apply_patch").Run(context.Background(), env, []byte(input)); err == nil {
			t.Errorf("%v: no error", judged)
		}
	}
	if d := cmp.Diff(before, w.tree()); d != "" {
		t.Error(d)
	}
}

// If one file can't be changed, those before it are put back: the same files, not
// only the same contents.
func TestApplyPatchPutsBack(t *testing.T) {
	for what, meddle := range map[string]func(w *workspace){
		"a change":  func(w *workspace) { w.put("z", "theirs, longer\n", 0o644) },
		"a removal": func(w *workspace) { w.must(os.Remove(w.path("z"))) },
		"a folder":  func(w *workspace) { w.must(os.Remove(w.path("z"))); w.must(os.Mkdir(w.path("z"), 0o755)) },
		"a link":    func(w *workspace) { w.must(os.Remove(w.path("z"))); w.must(os.Symlink("a.txt", w.path("z"))) },
		"a new file in the place of one to be made": func(w *workspace) { w.put("y", "theirs\n", 0o644) },
	} {
		w := everythingIn(t)
		w.put("z", "z\n", 0o644)
		text := strings.ReplaceAll(everything, "*** End Patch\n", "*** Update File: z\n-z\n+Z\n*** Add File: y\n+y\n*** End Patch\n")
		files, err := patch.Parse(text)
		w.must(err)
		env := toolEnv(w)
		env.Judged = w.judged(text)
		set := &changeSet{ctx: context.Background(), env: env, sections: map[string]int{}}
		for i := range files {
			w.must(set.prepare(&files[i]))
		}
		meddle(w)
		before := w.tree()
		was, err := os.Lstat(w.path("a.txt"))
		w.must(err)
		got := fail.As(set.commit())
		set.close()
		if got == nil || !strings.HasSuffix(got.Msg, "; no file of the patch was changed") {
			t.Errorf("%s: %v", what, got)
		}
		if d := cmp.Diff(before, w.tree()); d != "" {
			t.Errorf("%s: %s", what, d)
		}
		if now, err := os.Lstat(w.path("a.txt")); err != nil || !os.SameFile(was, now) {
			t.Errorf("%s: a.txt is another file now", what)
		}
	}
}

// What git and diff make of two trees, apply_patch makes of the first.
func TestApplyPatchDoesWhatGitDoes(t *testing.T) {
	old := map[string]string{
		"same": "same\n", "f": "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "gone": "g\n", "empty": "", "crlf": "a\r\nb\r\n", "no end": "a\nb",
		"d/ä \"q\"\t": "x\ny\n", "moved": strings.Repeat("line\n", 9), "mark": "\ufeffa\nb\n", "d/sql": "-- one\n++ two\n",
	}
	new := map[string]string{
		"same": "same\n", "f": "1\n2\nthree\n4\n5\n6\n7\n8\n9\n10\n", "new/one": "n", "full": "x\n", "crlf": "a\r\nB\r\nc\r\n", "no end": "a\nc",
		"d/ä \"q\"\t": "x\nz\n", "to/moved": strings.Repeat("line\n", 9) + "more\n", "mark": "\ufeffA\nb\n", "d/sql": "++ two\n-- three\n",
	}
	root := newWorkspace(t)
	run := func(argv ...string) string {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir = root.dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "LC_ALL=C")
		text, err := cmd.Output()
		if err != nil && (argv[0] != "diff" || cmd.ProcessState.ExitCode() != 1) { // 1: they differ
			t.Fatalf("%q: %v", argv, err)
		}
		return string(text)
	}
	for name, content := range old {
		root.put("b/"+name, content, 0o644)
		root.put("a/"+name, content, 0o644)
	}
	run("git", "-C", "b", "init", "-q")
	run("git", "-C", "b", "add", "-A")
	was := strings.TrimSpace(run("git", "-C", "b", "write-tree"))
	for name := range old {
		w := root.path("b/" + name)
		root.must(os.Remove(w))
	}
	for name, content := range new {
		root.put("b/"+name, content, 0o644)
	}
	run("git", "-C", "b", "add", "-A")
	w := &workspace{t, root.path("a"), root.reg}
	for _, argv := range [][]string{
		{"git", "-C", "b", "diff", "--cached", "-M", was}, {"git", "-C", "b", "diff", "--cached", "--no-renames", "-U0", was},
		{"git", "-C", "b", "diff", "--cached", "-M", "--no-prefix", was},
		{"git", "-C", "b", "-c", "diff.mnemonicPrefix=true", "diff", "--cached", "-M", was},
		{"diff", "-x", ".git", "-ruN", "a", "b"}, {"diff", "-x", ".git", "-rN", "-U", "1", "a", "b"},
	} {
		w.must(os.RemoveAll(w.dir))
		for name, content := range old {
			w.put(name, content, 0o644)
		}
		text := run(argv...)
		if _, err := w.call("apply_patch", map[string]any{"patch": text}); err != nil {
			t.Errorf("%q: %v\n%s", argv, err, text)
			continue
		}
		got := w.tree()
		for name, content := range got {
			if content == "folder" {
				delete(got, name)
			}
		}
		want := map[string]string{}
		for name, content := range new {
			want[name] = "644 " + content
		}
		if argv[0] == "diff" {
			want["empty"] = "644 " // diff does not say that an empty file is gone
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: %s\n%s", argv, d, text)
		}
	}
}

func TestApplyPatchHostileNames(t *testing.T) {
	w := newWorkspace(t)
	for _, n := range hostile {
		var quoted strings.Builder
		for _, c := range []byte("d/" + n) {
			fmt.Fprintf(&quoted, `\%03o`, c)
		}
		old, new := `"a/`+quoted.String()+`"`, `"b/`+quoted.String()+`"`
		for i, text := range []string{
			"--- /dev/null\n+++ " + new + "\n@@ -0,0 +1 @@\n+old\n",
			"diff --git " + old + " " + new + "\n--- " + old + "\n+++ " + new + "\n@@ -1 +1 @@\n-old\n+new\n",
			"*** Begin Patch\n*** Update File: d/" + n + "\n-new\n+newer\n*** End Patch\n",
			"--- " + old + "\n+++ /dev/null\n@@ -1 +0,0 @@\n-newer\n",
		} {
			spoken := !strings.Contains(n, "\n") && strings.TrimSpace("d/"+n) == "d/"+n
			if i == 2 && !spoken && utf8.ValidString(n) { // an envelope has no words for it
				w.put("d/"+n, "newer\n", 0o644)
				continue
			}
			out, err := w.call("apply_patch", map[string]any{"patch": text})
			if strings.HasPrefix(n, "\xff") {
				if i != 2 && (err == nil || err.Code != "invalid_input") || err != nil && strings.Contains(err.Msg, "\xff") {
					t.Errorf("%q: %v", n, err)
				}
				continue
			}
			if err != nil || !slices.Equal(out["paths"].([]string), []string{"d/" + n}) {
				t.Errorf("%d %q: %v %v", i, n, out["paths"], err)
				continue
			}
			if name := strings.Split(out.Text(), " (")[0]; strings.ContainsAny(name, "\n\x1b\u202e\u200b") {
				t.Errorf("%q is shown as it is: %q", n, name)
			}
		}
	}
	if left := w.tree(); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

// Whatever the patch is, nothing changes but what it names, and what fails changes
// nothing.
func FuzzApplyPatch(f *testing.F) {
	f.Add(everything)
	f.Add("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n--- a/d.txt\n+++ /dev/null\n")
	f.Add("diff --git a/c.txt b/x/y\nrename from c.txt\nrename to x/y\n")
	f.Add("*** Begin Patch\n*** Delete File: ../out\n*** Add File: /tmp/x/../../out\n+x\n*** End Patch")
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || text == "" {
			return
		}
		root := everythingIn(t)
		w := &workspace{t, root.path("ws"), root.reg}
		for name := range root.tree() {
			root.must(os.MkdirAll(w.dir, 0o755))
			root.must(os.Rename(root.path(name), w.path(name)))
		}
		root.put("out", "outside\n", 0o644)
		env := policy.Env{Workspace: w.dir, Cwd: w.dir, Resolver: judge.Files{}}
		to := toolEnv(w)
		to.Judged = map[string]string{}
		named := map[string]bool{}
		names, _ := patch.Names(text)
		for _, n := range names {
			where, err := env.Locate(w.dir, n)
			if err != nil || !env.Inside(where) {
				return // the gate says no
			}
			to.Judged[n] = where.Resolved
			for rel, _ := filepath.Rel(w.dir, where.Resolved); rel != "."; rel = filepath.Dir(rel) {
				named[rel] = true
			}
		}
		before := w.tree()
		input, err := json.Marshal(patchInput{text})
		w.must(err)
		_, err = w.reg.Get("apply_patch").Run(context.Background(), to, input)
		after := w.tree()
		if err != nil && !cmp.Equal(before, after) {
			t.Fatalf("%v, but: %s", err, cmp.Diff(before, after))
		}
		for _, side := range []map[string]string{before, after} {
			for name := range side {
				if before[name] != after[name] && !named[name] {
					t.Fatalf("%q is not named, and changed: %q, %q", name, before[name], after[name])
				}
			}
		}
		if root.get("out") != "outside\n" {
			t.Fatal("something outside was changed")
		}
	})
}
