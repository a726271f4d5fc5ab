package disk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestLinkedFolders(t *testing.T) {
	root, s := fresh(t)
	outside, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	write(t, root+"/in/a.go", "a")
	write(t, outside+"/lib/o.go", "o")
	write(t, outside+"/lib/deep/p.go", "p")
	write(t, outside+"/lib/node_modules/q.js", "q")
	for link, to := range map[string]string{
		"/inside": "in", "/self": ".", "/in/up": "..", "/loop": "loop", "/all": "/", "/parent": filepath.Dir(root),
		"/ext": outside + "/lib", "/ext2": outside + "/lib", "/in/again": outside + "/lib/deep", "/file": outside + "/lib/o.go",
		"/kernel": "/proc", "/devices": "/sys",
	} {
		must(t, os.Symlink(to, root+link))
	}
	must(t, os.Symlink(root, outside+"/lib/back"))
	must(t, os.Symlink("..", outside+"/lib/deep/out"))
	want := []string{"ext/deep/p.go", "ext/o.go", "file", "in/a.go"}
	before := scan(t, s)
	if got := names(root, before); !slices.Equal(got, want) {
		t.Fatalf("%q, want %q", got, want)
	}
	if !slices.Equal(before.Skipped, []string{root + "/ext/node_modules"}) {
		t.Errorf("skipped %q", before.Skipped)
	}
	write(t, outside+"/lib/deep/new.go", "n")
	after := scan(t, s)
	if got := tell(root, Diff(before, after)); got != "+ext/deep/new.go" {
		t.Errorf("found %q", got)
	}
	must(t, os.Remove(root+"/ext"))
	if got := names(root, scan(t, s)); !slices.Contains(got, "ext2/o.go") || slices.Contains(got, "ext/o.go") {
		t.Errorf("without the first link: %q", got)
	}
	must(t, os.Remove(root+"/in/again"))
	if got := names(root, scan(t, s)); !slices.Contains(got, "ext2/deep/p.go") {
		t.Errorf("with one link: %q", got)
	}
	must(t, os.Remove(root+"/ext2"))
	must(t, os.Symlink("in", root+"/ext2"))
	if got := names(root, scan(t, s)); !slices.Equal(got, []string{"file", "in/a.go"}) {
		t.Errorf("with the other link to a folder inside: %q", got)
	}
}

func TestSkippedFolders(t *testing.T) {
	root, s := fresh(t)
	for _, name := range []string{
		".git/HEAD", ".hg/x", ".svn/x", ".jj/x", "node_modules/a/index.js", "web/node_modules/b/index.js", "__pycache__/a.pyc",
		".tox/x", ".mypy_cache/x", ".pytest_cache/x", ".gradle/x", "rs/Cargo.toml", "rs/target/debug/x", "bin/servers/x",
		".venv/pyvenv.cfg", ".venv/lib/python3.12/site-packages/a/x.py", "venv/pyvenv.cfg", "env/pyvenv.cfg",
		"vendor/modules.txt", "vendor/a/a.go", "php/vendor/composer/installed.json", "php/vendor/a.php",
		// these only look like it
		"target/x", "docs/env/x", "docs/venv/x", "docs/vendor/x", "docs/.venv/x", "servers/x", "sub/git/x", "docs/servers/x",
	} {
		write(t, filepath.Join(root, name), "x")
	}
	write(t, root+"/sub/.git", "gitdir: elsewhere")
	modules := t.TempDir()
	write(t, modules+"/c/index.js", "x")
	must(t, os.Symlink(modules, root+"/sub/node_modules"))
	snap := scan(t, s)
	want := []string{
		"docs/.venv/x", "docs/env/x", "docs/servers/x", "docs/vendor/x", "docs/venv/x",
		"rs/Cargo.toml", "servers/x", "sub/.git", "sub/git/x", "target/x",
	}
	if got := names(root, snap); !slices.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
	marked := []string{".venv", "env", "node_modules", "php/vendor", "sub/node_modules", "vendor", "venv", "web/node_modules"}
	for i := range marked {
		marked[i] = filepath.Join(root, marked[i])
	}
	if got := slices.Sorted(maps.Keys(snap.Markers())); !slices.Equal(got, marked) {
		t.Errorf("marked %q, want %q", got, marked)
	}
	if len(snap.Skipped) != 19 {
		t.Errorf("%d are skipped: %q", len(snap.Skipped), snap.Skipped)
	}
}

// What happens when packages are installed, and whose marker it changes.
func TestMarkers(t *testing.T) {
	root, s := fresh(t)
	for _, name := range []string{
		"node_modules/a/index.js", "node_modules/@types/node/index.d.ts", "node_modules/@scope/x/index.js", "node_modules/.package-lock.json",
		".venv/pyvenv.cfg", ".venv/lib/python3.12/site-packages/a/x.py", "vendor/modules.txt", "vendor/a/a.go",
	} {
		write(t, filepath.Join(root, name), "x")
	}
	last := scan(t, s)
	for _, c := range []struct {
		what, path, changes string
	}{
		{"a package", "node_modules/b/index.js", "node_modules"},
		{"types", "node_modules/@types/react/index.d.ts", "node_modules"},
		{"one of a scope", "node_modules/@scope/y/index.js", "node_modules"},
		{"a new scope", "node_modules/@new/y/index.js", "node_modules"},
		{"npm's list", "node_modules/.package-lock.json", "node_modules"},
		{"pnpm's list", "node_modules/.modules.yaml", "node_modules"},
		{"Yarn's list", "node_modules/.yarn-state.yml", "node_modules"},
		{"a package of Python", ".venv/lib/python3.12/site-packages/b/x.py", ".venv"},
		{"another Python", ".venv/lib/python3.13/site-packages/b/x.py", ".venv"},
		{"the settings of Python", ".venv/pyvenv.cfg", ".venv"},
		{"go mod vendor", "vendor/modules.txt", "vendor"},
		{"an edit by hand", "vendor/a/a.go", ""},
		{"a source", "src/a.go", ""},
	} {
		write(t, filepath.Join(root, c.path), "some more of "+c.what)
		is := scan(t, s)
		for path, mark := range is.Markers() {
			if changed := mark != last.Markers()[path]; changed != (path == filepath.Join(root, c.changes)) {
				t.Errorf("%s: the marker of %s: changed %v", c.what, path, changed)
			}
		}
		last = is
	}
	must(t, os.RemoveAll(root+"/node_modules"))
	if is := scan(t, s); len(is.Markers()) != 2 {
		t.Errorf("without node_modules, the markers are %q", is.Markers())
	}
}

func TestRootMoved(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, root string){
		"moved":   func(t *testing.T, root string) { must(t, os.Rename(root, root+"2")) },
		"deleted": func(t *testing.T, root string) { must(t, os.RemoveAll(root)) },
		"made again": func(t *testing.T, root string) {
			must(t, os.RemoveAll(root))
			write(t, root+"/a.go", "a")
		},
		"a file now": func(t *testing.T, root string) { must(t, os.RemoveAll(root)); write(t, root, "x") },
		"a link to another": func(t *testing.T, root string) {
			must(t, os.Rename(root, root+"2"))
			write(t, root+"3/a.go", "a")
			must(t, os.Symlink(root+"3", root))
		},
	} {
		t.Run(name, func(t *testing.T) {
			parent, _ := fresh(t)
			root := parent + "/root"
			write(t, root+"/a.go", "a")
			s := New(root)
			defer s.Close()
			scan(t, s)
			change(t, root)
			if snap, err := s.Scan(context.Background()); !errors.Is(err, ErrMoved) {
				t.Errorf("%v, %v", snap, err)
			}
		})
	}
	root, s := fresh(t)
	write(t, root+"/sub/a.go", "a")
	asked := 0
	s.sys.now = func() time.Time {
		if asked++; asked == 2 { // the look is under way
			must(t, os.Rename(root, root+"2"))
		}
		return time.Now()
	}
	if snap, err := s.Scan(context.Background()); !errors.Is(err, ErrMoved) {
		t.Errorf("moved during a look: %v, %v", snap, err)
	}
	must(t, os.RemoveAll(root+"2"))
	if _, err := New(t.TempDir() + "/none").Scan(context.Background()); !errors.Is(err, ErrMoved) {
		t.Errorf("a root that never was: %v", err)
	}
}

// A folder whose path is too long can't be opened by it. Those without permission are
// the same, but not for root.
func TestUnreadableFolders(t *testing.T) {
	root, s := fresh(t)
	write(t, root+"/a.go", "a")
	dir, err := unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	must(t, err)
	long := strings.Repeat("x", 250)
	for range 20 {
		must(t, unix.Mkdirat(dir, long, 0o755))
		next, err := unix.Openat(dir, long, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		must(t, err)
		unix.Close(dir)
		dir = next
	}
	unix.Close(dir)
	snap := scan(t, s)
	if got := names(root, snap); len(snap.Unreadable) != 1 || !slices.Equal(got, []string{"a.go"}) {
		t.Errorf("files %q, unreadable %q", got, snap.Unreadable)
	}
	for err, want := range map[error][2]bool{
		unix.EACCES: {false, true}, unix.EPERM: {false, true}, unix.ENOENT: {true, false}, unix.ENOTDIR: {true, false}, unix.ELOOP: {true, false},
		unix.EMFILE: {}, unix.EIO: {}, unix.ENOMEM: {}, // what these hide was not deleted
	} {
		if got := [2]bool{passing(err), unreadable(err)}; got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}

func TestLimits(t *testing.T) {
	root, s := fresh(t)
	for i := range 30 {
		write(t, fmt.Sprintf("%s/d%02d/f", root, i), "x")
	}
	write(t, root+"/a", "x")
	write(t, root+"/z", "x")
	s.sys.files = 32
	if snap := scan(t, s); snap.Partial || len(snap.Files) != 32 || snap.Folders != 31 {
		t.Errorf("partial %v: %d files in %d folders", snap.Partial, len(snap.Files), snap.Folders)
	}
	s.sys.files = 10
	s.was = nil
	first := scan(t, s)
	if !first.Partial || len(first.Files) != 10 || first.Files[root+"/a"].Size != 1 || first.Files[root+"/z"].Size != 1 {
		t.Errorf("partial %v: %q", first.Partial, names(root, first))
	}
	if again := scan(t, s); Diff(first, again) != nil {
		t.Errorf("found %v", Diff(first, again))
	}
	write(t, root+"/b", "x") // the last one falls out, but is not deleted
	if got := tell(root, Diff(first, scan(t, s))); got != "+b" {
		t.Errorf("found %q", got)
	}
	must(t, os.Remove(root+"/d07/f"))
	if got := tell(root, Diff(first, scan(t, s))); !strings.Contains(got, "-d07/f") || strings.Count(got, "-") > 1 {
		t.Errorf("found %q", got)
	}
	s.sys.files, s.sys.folders, s.was = 100, 5, nil
	if snap := scan(t, s); !snap.Partial || snap.Folders != 5 {
		t.Errorf("partial %v: %d folders", snap.Partial, snap.Folders)
	}
	s.sys.folders, s.was = MaxFolders, nil
	whole := scan(t, s)
	s.sys.folders = 5
	scan(t, s)
	must(t, os.Remove(root+"/d20/f")) // in a folder that is not walked any more
	if got := tell(root, Diff(whole, scan(t, s))); got != "-d20/f" {
		t.Errorf("found %q", got)
	}
	many, m := fresh(t)
	for i := range 30 {
		write(t, fmt.Sprintf("%s/%02d", many, i), "x")
	}
	m.sys.files = 10
	if snap := scan(t, m); !snap.Partial || len(snap.Files) != 10 {
		t.Errorf("one large folder: partial %v, %d files", snap.Partial, len(snap.Files))
	}
}
