package file

import (
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWriteFile(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o027))
	w := newWorkspace(t)
	out, err := w.call("write_file", map[string]any{"path": "a/b/new.txt", "content": "one\ntwo\n"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"text": "created a/b/new.txt (+2 -0 lines, 8 bytes)", "path": "a/b/new.txt", "sha256": sum("one\ntwo\n"),
		"added": 2, "removed": 0, "created": true,
	}
	if d := cmp.Diff(want, map[string]any(out)); d != "" {
		t.Error(d)
	}
	if got := mode(t, w.path("a/b/new.txt")); got != 0o640 {
		t.Errorf("a new file has mode %o, want 640", got)
	}
	if got := mode(t, w.path("a/b")); got != 0o750 {
		t.Errorf("a new folder has mode %o, want 750", got)
	}

	for _, m := range []fs.FileMode{0o644, 0o755, 0o600, 0o777, 0o200} {
		w.put("tool", "one\ntwo\nthree\n", m)
		out, err := w.call("write_file", map[string]any{"path": "tool", "content": "one\n2\nthree\nfour"})
		if err != nil || out["created"] != false || out["added"] != 2 || out["removed"] != 1 {
			t.Errorf("mode %o: %v %v", m, out, err)
		}
		if got := mode(t, w.path("tool")); got != m {
			t.Errorf("mode %o became %o", m, got)
		}
	}
	if got := w.get("tool"); got != "one\n2\nthree\nfour" {
		t.Errorf("content %q", got)
	}
	for _, content := range []string{"", "a\x00b", "\ufeffx", "a\r\nb", "é\U0001F600"} {
		if _, err := w.call("write_file", map[string]any{"path": "tool", "content": content}); err != nil || w.get("tool") != content {
			t.Errorf("%q: %q %v", content, w.get("tool"), err)
		}
	}
	w.clean()
}

func mode(t *testing.T, p string) fs.FileMode {
	t.Helper()
	st, err := os.Lstat(p)
	if err != nil {
		t.Fatal(err)
	}
	return st.Mode() &^ fs.ModeDir
}

func TestWriteFileExpects(t *testing.T) {
	w := newWorkspace(t)
	write := func(expected string) map[string]any {
		return map[string]any{"path": "f", "content": "new", "expected_sha256": expected}
	}
	w.fails("a file that is not there", "write_file", write(sum("old")), "sha256_mismatch", 7, "does not exist")
	w.fails("no digest", "write_file", write("abc"), "invalid_input", 2, "64 hex digits")
	if _, err := w.call("write_file", write("")); err != nil || w.get("f") != "new" {
		t.Errorf("must not exist, and does not: %v", err)
	}
	w.put("f", "old", 0o644)
	w.fails("must not exist, but does", "write_file", write(""), "sha256_mismatch", 7, sum("old"))
	w.fails("another digest", "write_file", write(sum("else")), "sha256_mismatch", 7, sum("old"))
	if out, _ := w.call("write_file", write(sum("else"))); out["sha256"] != sum("old") {
		t.Errorf("the answer has no digest of now: %v", out)
	}
	if w.get("f") != "old" {
		t.Error("a refused write has written")
	}
	if _, err := w.call("write_file", write(strings.ToUpper(sum("old")))); err != nil || w.get("f") != "new" {
		t.Errorf("the right digest: %v", err)
	}
	w.clean()
}

func TestWriteAndEditRefuse(t *testing.T) {
	w, other := newWorkspace(t), newWorkspace(t)
	other.put("secret", "old", 0o644)
	w.put("target", "old", 0o644)
	w.put("locked", "old", 0o444)
	w.must(os.Mkdir(w.path("folder"), 0o755))
	w.must(syscall.Mkfifo(w.path("pipe"), 0o644))
	w.must(os.Symlink("target", w.path("link")))
	w.must(os.Symlink("nonesuch", w.path("dangling")))
	w.must(os.Symlink(other.dir, w.path("out")))
	w.must(os.Symlink(".", w.path("here")))
	for _, c := range []struct {
		path, code string
		exit       int
		words      string
	}{
		{"folder", "is_folder", 1, "is a folder"},
		{".", "is_folder", 1, ". is a folder"},
		{"pipe", "not_a_file", 1, "a pipe"},
		{"/dev/null", "not_a_file", 1, "a device"},
		{"locked", "read_only", 1, "mode 0444"},
		{"link", "path_changed", 7, "link"},
		{"dangling", "path_changed", 7, "link"},
		{"out/secret", "path_changed", 7, "link"},
		{"out/new", "path_changed", 7, "link"},
		{"here/target", "path_changed", 7, "link"},
		{"target/below", "not_a_folder", 1, "target is not a folder"},
		{"folder/" + strings.Repeat("n", 256), "invalid_input", 2, "too long"},
		{"", "invalid_input", 2, ""},
	} {
		w.fails("write "+c.path, "write_file", map[string]any{"path": c.path, "content": "new"}, c.code, c.exit, c.words)
		w.fails("edit "+c.path, "edit_file", map[string]any{"path": c.path, "old_string": "old", "new_string": "new"}, c.code, c.exit, c.words)
	}
	w.fails("no content", "write_file", map[string]any{"path": "target"}, "invalid_input", 2, "missing")
	for _, f := range []string{"target", "locked"} {
		if w.get(f) != "old" {
			t.Errorf("%s was changed", f)
		}
	}
	if other.get("secret") != "old" {
		t.Error("a file outside was changed")
	}
	if _, err := os.Lstat(w.path("nonesuch")); err == nil {
		t.Error("a dangling link was followed")
	}
	w.clean()
	other.clean()
}

func TestWriteFileTellsOfHardLinks(t *testing.T) {
	w := newWorkspace(t)
	w.put("f", "old", 0o644)
	w.must(os.Link(w.path("f"), w.path("g")))
	out, err := w.call("write_file", map[string]any{"path": "f", "content": "new"})
	if err != nil || !strings.Contains(out.Text(), "2 names (hard links)") || w.get("f") != "new" || w.get("g") != "old" {
		t.Errorf("%v %v", out, err)
	}
}

func TestWriteFileOutside(t *testing.T) {
	w, other := newWorkspace(t), newWorkspace(t)
	out, err := w.call("write_file", map[string]any{"path": other.path("a/f"), "content": "x"})
	if err != nil || out["path"] != other.path("a/f") || other.get("a/f") != "x" {
		t.Errorf("%v %v", out, err)
	}
}

// Two edits of one turn may run at once; neither may lose the other.
func TestEditsOfOneFileDoNotLoseEachOther(t *testing.T) {
	w := newWorkspace(t)
	const n = 8
	w.put("f", strings.Repeat("x", 100)+"\n", 0o644)
	for i := range n {
		w.put("f", w.get("f")+string(rune('a'+i))+"=0\n", 0o644)
	}
	done := make(chan error, n)
	for i := range n {
		go func() {
			c := string(rune('a' + i))
			_, err := w.call("edit_file", map[string]any{"path": w.path("f"), "old_string": c + "=0", "new_string": c + "=1"})
			if err != nil {
				done <- err
				return
			}
			done <- nil
		}()
	}
	for range n {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got := strings.Count(w.get("f"), "=1"); got != n {
		t.Errorf("%d of %d edits are there", got, n)
	}
}
