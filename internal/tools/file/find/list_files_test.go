package find

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestListFiles(t *testing.T) {
	tr := newTree(t)
	tr.put("b/deep", "x", "a", "12345", ".hidden", "", "secret", "x", ".git/config", "x")
	tr.link("a", "link")
	tr.link("/etc", "out")
	tr.must(syscall.Mkfifo(tr.path("pipe"), 0o644))
	tr.deny = []string{"secret"}
	found, out := tr.paths("list_files", map[string]any{})
	want := []string{".git dir", ".hidden file", "a file", "b dir", "link symlink", "out symlink", "pipe other"}
	if d := cmp.Diff(want, found); d != "" {
		t.Error(d)
	}
	text := ".git/\n.hidden  0 bytes\na  5 bytes\nb/\nlink  (symbolic link)\nout  (symbolic link)\npipe  (special file)\n[1 skipped: policy does not allow to read them]"
	if out.Text() != text || out["skipped"] != 1 || out["truncated"] != false {
		t.Errorf("%v", out)
	}
	found, _ = tr.paths("list_files", map[string]any{"path": "b"})
	if d := cmp.Diff([]string{"b/deep file"}, found); d != "" {
		t.Error(d)
	}
	tr.mkdir("empty", 0o755)
	if _, out := tr.paths("list_files", map[string]any{"path": "empty"}); out.Text() != "[nothing in empty]" {
		t.Errorf("%q", out.Text())
	}
	tr.fails("a file", "list_files", map[string]any{"path": "a"}, "not_a_folder", 1, "a is not a folder")
	tr.fails("missing", "list_files", map[string]any{"path": "nonesuch"}, "no_such_file", 8, "nonesuch")
	tr.fails("a link", "list_files", map[string]any{"path": "out"}, "path_changed", 7, "symbolic link")
	tr.fails("below a link", "list_files", map[string]any{"path": "out/ssl"}, "path_changed", 7, "symbolic link")
	if found, _ := tr.paths("list_files", map[string]any{"path": "/"}); len(found) != 0 {
		t.Errorf("MayRead was not asked for %v", found)
	}
	tr.env.MayRead = nil
	if found, out := tr.paths("list_files", map[string]any{}); len(found) != 0 || out["skipped"] != 9 {
		t.Errorf("without a gate: %v %v", found, out["skipped"])
	}
}

func TestListFilesCaps(t *testing.T) {
	tr := newTree(t)
	for i := range maxEntries + 1 {
		tr.put(fmt.Sprintf("f%04d", i), "")
	}
	found, out := tr.paths("list_files", map[string]any{})
	if len(found) != maxEntries || out["truncated"] != true || found[maxEntries-1] != "f0999 file" || !strings.HasSuffix(out.Text(), "\n[only the first 1000 are shown]") {
		t.Errorf("%d entries, last %v", len(found), found[len(found)-1])
	}
	found, out = tr.paths("glob_search", map[string]any{"pattern": "*"})
	if len(found) != maxEntries || out["truncated"] != true {
		t.Errorf("glob: %d entries", len(found))
	}
}

func TestHostileNames(t *testing.T) {
	for _, programs := range [][]string{nil, {"git"}, {"git", "rg"}, {"rg"}} {
		tr := newTree(t, programs...)
		for _, n := range hostile {
			tr.put("d/"+n, "found it\n")
		}
		if len(programs) > 0 && programs[0] == "git" {
			tr.git("init", "-q")
		}
		list, out := tr.paths("list_files", map[string]any{"path": "d"})
		glob, _ := tr.paths("glob_search", map[string]any{"pattern": "d/**"})
		if len(list) != len(hostile) || len(glob) != len(hostile) {
			t.Errorf("%v: list %q, glob %q", programs, list, glob)
		}
		grep, err := tr.call("grep_search", map[string]any{"pattern": "found"})
		if err != nil {
			t.Fatal(err)
		}
		if got := grep["matches"].([]match); len(got) != len(hostile) {
			t.Errorf("%v: grep %v", programs, got)
		}
		for _, text := range []string{out.Text(), grep.Text()} {
			if n := strings.Count(text, "\n") + 1; n != len(hostile) || strings.ContainsAny(text, "\x1b\u202e") {
				t.Errorf("%v: %d lines, or control characters, in %q", programs, n, text)
			}
		}
	}
}
