package disk

import (
	"context"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

// fresh is a canonical folder to work in, and its scanner.
func fresh(t testing.TB) (string, *Scanner) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	s := New(root)
	t.Cleanup(func() { s.Close() })
	return root, s
}

func scan(t testing.TB, s *Scanner) *Snapshot {
	t.Helper()
	snap, err := s.Scan(context.Background())
	must(t, err)
	return snap
}

// names are the files of a snapshot, as they are called in the root.
func names(root string, snap *Snapshot) []string {
	var list []string
	for path := range snap.Files {
		list = append(list, strings.TrimPrefix(path, root+"/"))
	}
	slices.Sort(list)
	return list
}

// tell writes changes down as one does: +a ~b -c.
func tell(root string, list []Change) string {
	var words []string
	for _, c := range list {
		words = append(words, string(" +~-"[c.Kind])+strings.TrimPrefix(c.Path, root+"/"))
	}
	return strings.Join(words, " ")
}

// What happens to a workspace, and what a look at it finds.
func TestDiff(t *testing.T) {
	long := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	for name, c := range map[string]struct {
		change func(t *testing.T, root string)
		want   string
	}{
		"nothing":        {func(*testing.T, string) {}, ""},
		"a new file":     {func(t *testing.T, root string) { write(t, root+"/new/c.go", "c") }, "+new/c.go"},
		"a deleted file": {func(t *testing.T, root string) { must(t, os.Remove(root+"/a.go")) }, "-a.go"},
		"a renamed file": {func(t *testing.T, root string) { must(t, os.Rename(root+"/a.go", root+"/z.go")) }, "-a.go +z.go"},
		"a renamed folder": {func(t *testing.T, root string) { must(t, os.Rename(root+"/sub", root+"/bus")) },
			"+bus/b.go +bus/deep/d.go -link -sub/b.go -sub/deep/d.go"},
		"a longer one": {func(t *testing.T, root string) { write(t, root+"/a.go", "longer") }, "~a.go"},
		"one that keeps size and mtime": {func(t *testing.T, root string) {
			st, err := os.Stat(root + "/a.go")
			must(t, err)
			write(t, root+"/a.go", "A")
			must(t, os.Chtimes(root+"/a.go", st.ModTime(), st.ModTime()))
		}, "~a.go"},
		"an older mtime":      {func(t *testing.T, root string) { must(t, os.Chtimes(root+"/a.go", long, long)) }, "~a.go"},
		"a mode":              {func(t *testing.T, root string) { must(t, os.Chmod(root+"/a.go", 0o755)) }, "~a.go"},
		"another inode":       {func(t *testing.T, root string) { write(t, root+"/x", "A"); must(t, os.Rename(root+"/x", root+"/a.go")) }, "~a.go"},
		"two swapped":         {swap, "~a.go ~sub/b.go"},
		"a hard link, edited": {func(t *testing.T, root string) { write(t, root+"/hard2", "2") }, "~hard1 ~hard2 ~soft"},
		"a link, retargeted": {func(t *testing.T, root string) {
			must(t, os.Remove(root+"/link"))
			must(t, os.Symlink("sub/b.go", root+"/link"))
		}, "~link"},
		"a link, retargeted to the same inode": {func(t *testing.T, root string) {
			must(t, os.Remove(root+"/soft"))
			must(t, os.Symlink("hard2", root+"/soft"))
		}, "~soft"},
		"a link's target, edited": {func(t *testing.T, root string) { write(t, root+"/sub/deep/d.go", "D") }, "~link ~sub/deep/d.go"},
		"a link's target, gone":   {func(t *testing.T, root string) { must(t, os.Remove(root+"/sub/deep/d.go")) }, "-link -sub/deep/d.go"},
		"a dangling link's target, made": {func(t *testing.T, root string) { write(t, root+"/later", "x") },
			"+dangling +later"},
		"a folder in the place of a file": {func(t *testing.T, root string) {
			must(t, os.Remove(root+"/a.go"))
			write(t, root+"/a.go/x", "x")
		}, "-a.go +a.go/x"},
		"a file in the place of a folder": {func(t *testing.T, root string) {
			must(t, os.RemoveAll(root+"/sub"))
			write(t, root+"/sub", "x")
		}, "-link +sub -sub/b.go -sub/deep/d.go"},
		"another folder in the place of one": {func(t *testing.T, root string) {
			write(t, root+"/other/b.go", "b")
			must(t, os.RemoveAll(root+"/sub"))
			must(t, os.Rename(root+"/other", root+"/sub"))
		}, "-link ~sub/b.go -sub/deep/d.go"},
		"a pipe in the place of a file": {func(t *testing.T, root string) {
			must(t, os.Remove(root+"/a.go"))
			must(t, unix.Mkfifo(root+"/a.go", 0o600))
		}, "-a.go"},
		"names that are no text": {func(t *testing.T, root string) {
			write(t, root+"/\xff\xfe.go", "x")
			write(t, root+"/two\nlines.go", "x")
			write(t, root+"/größe #1 100%.go", "x")
		}, "+größe #1 100%.go +two\nlines.go +\xff\xfe.go"},
		"an empty folder": {func(t *testing.T, root string) { must(t, os.Mkdir(root+"/empty", 0o755)) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			root, s := fresh(t)
			write(t, root+"/a.go", "a")
			write(t, root+"/sub/b.go", "b")
			write(t, root+"/sub/deep/d.go", "d")
			write(t, root+"/hard1", "1")
			must(t, os.Link(root+"/hard1", root+"/hard2"))
			must(t, os.Symlink("sub/deep/d.go", root+"/link"))
			must(t, os.Symlink("later", root+"/dangling"))
			must(t, os.Symlink("hard1", root+"/soft"))
			before := scan(t, s)
			c.change(t, root)
			after := scan(t, s)
			if got := tell(root, Diff(before, after)); got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
			if got := Diff(after, scan(t, s)); got != nil {
				t.Errorf("then found %v", got)
			}
			if got := Diff(nil, after); len(got) != len(after.Files) {
				t.Errorf("without an old one, found %v", got)
			}
		})
	}
}

func swap(t *testing.T, root string) {
	for _, r := range [][2]string{{"/a.go", "/x"}, {"/sub/b.go", "/a.go"}, {"/x", "/sub/b.go"}} {
		must(t, os.Rename(root+r[0], root+r[1]))
	}
}

// git checkout brings older contents back, of the same size.
func TestDiffOfACheckout(t *testing.T) {
	root, s := fresh(t)
	git := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-C", root, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.hooksPath=/dev/null"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-qb", "one")
	write(t, root+"/same", "1")
	write(t, root+"/edited", "1")
	write(t, root+"/gone", "1")
	git("add", "-A")
	git("commit", "-qm", "1")
	git("checkout", "-qb", "two")
	write(t, root+"/edited", "2")
	write(t, root+"/new", "2")
	must(t, os.Remove(root+"/gone"))
	git("add", "-A")
	git("commit", "-qm", "2")
	before := scan(t, s)
	git("checkout", "-q", "one")
	back := scan(t, s)
	if got := tell(root, Diff(before, back)); got != "~edited +gone -new" {
		t.Errorf("found %q", got)
	}
	if !slices.Equal(back.Skipped, []string{root + "/.git"}) {
		t.Errorf("skipped %q", back.Skipped)
	}
}

// Whatever happens to a tree, the changes that are found make the old list of files,
// with their contents, the one that is on the disk.
func TestRandomChanges(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	root, s := fresh(t)
	s.sys.tick = int64(10 * time.Millisecond)
	model := map[string]string{}
	var last *Snapshot
	pick := func() string {
		path := root
		for range 1 + r.IntN(3) {
			path += "/" + string('a'+rune(r.IntN(4)))
		}
		return path
	}
	for step := range 400 {
		for range r.IntN(6) {
			a, b := pick(), pick()
			switch r.IntN(9) { // what doesn't fit fails, and changes nothing
			case 0, 1, 2:
				_ = os.MkdirAll(filepath.Dir(a), 0o755)
				_ = os.WriteFile(a, []byte(string('A'+rune(r.IntN(26)))), 0o644)
			case 3:
				_ = os.Rename(a, b)
			case 4:
				_ = os.RemoveAll(a)
			case 5:
				_ = os.Link(a, b)
			case 6:
				_ = os.Symlink(a, b)
			case 7:
				_ = os.Mkdir(a, 0o755)
			case 8:
				_ = os.Chtimes(a, time.Unix(1, 0), time.Unix(1, 0))
			}
		}
		is := scan(t, s)
		for _, c := range Diff(last, is) {
			_, known := model[c.Path]
			if known != (c.Kind != Created) {
				t.Fatalf("step %d: %s is %s", step, c.Path, c.Kind)
			}
			if c.Kind == Deleted {
				delete(model, c.Path)
				continue
			}
			b, err := os.ReadFile(c.Path)
			must(t, err)
			model[c.Path] = string(b)
		}
		last = is
		if want := contentsOf(t, root); !maps.Equal(model, want) {
			t.Fatalf("step %d: the model is %q, the disk %q", step, model, want)
		}
	}
}

// contentsOf reads all files the plain way.
func contentsOf(t *testing.T, root string) map[string]string {
	all := map[string]string{}
	must(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			must(t, err)
			all[path] = string(b)
		}
		return err
	}))
	return all
}
