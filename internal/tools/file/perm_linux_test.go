package file

import (
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/tools/file/place"
)

// asNobody runs f without the superuser's power over files.
func asNobody(w *workspace, f func()) {
	const nobody = 65534
	if os.Getuid() == 0 {
		for dir := w.dir; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
			w.must(os.Chmod(dir, 0o755))
		}
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		_, err := unix.SetfsuidRetUid(nobody)
		w.must(err)
		defer unix.SetfsuidRetUid(0)
	}
	f()
}

func TestPermissions(t *testing.T) {
	w := newWorkspace(t)
	w.put("unreadable", "old", 0o000)
	w.put("shut/f", "old", 0o644)
	w.put("fixed/f", "old", 0o666)
	w.put("readable", "old", 0o644)
	w.must(os.Chmod(w.path("shut"), 0o000))
	w.must(os.Chmod(w.path("fixed"), 0o555))
	asNobody(w, func() {
		w.fails("read", "read_file", map[string]any{"path": "unreadable"}, "unreadable", 1, "permission denied")
		w.fails("read in a shut folder", "read_file", map[string]any{"path": "shut/f"}, "unreadable", 1, "permission denied")
		w.fails("list a shut folder", "list_files", map[string]any{"path": "shut"}, "unreadable", 1, "permission denied")
		w.fails("grep an unreadable folder", "grep_search", map[string]any{"path": "shut", "pattern": "x"}, "unreadable", 1, "permission denied")
		w.fails("write", "write_file", map[string]any{"path": "unreadable", "content": "new"}, "read_only", 1, "mode 0000")
		w.fails("write in a fixed folder", "write_file", map[string]any{"path": "fixed/f", "content": "new"}, "unreadable", 1, "permission denied")
		w.fails("create in a fixed folder", "write_file", map[string]any{"path": "fixed/g/h", "content": "new"}, "unreadable", 1, "permission denied")
		if os.Getuid() == 0 { // it belongs to the superuser, who is not at work here
			w.fails("write another's file", "write_file", map[string]any{"path": "readable", "content": "new"}, "read_only", 1, "mode 0644")
		}
	})
	w.must(os.Chmod(w.path("shut"), 0o755))
	w.must(os.Chmod(w.path("unreadable"), 0o644))
	for _, f := range []string{"unreadable", "shut/f", "fixed/f", "readable"} {
		if f != "readable" && w.get(f) != "old" {
			t.Errorf("%s was changed", f)
		}
	}
	w.clean()
}

func TestOwnerStays(t *testing.T) {
	if os.Getuid() != 0 {
		return // nobody else can give files away
	}
	w := newWorkspace(t)
	w.put("f", "old", 0o754)
	w.must(os.Chown(w.path("f"), 1234, 5678))
	if _, err := w.call("write_file", map[string]any{"path": "f", "content": "new"}); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(w.path("f"))
	w.must(err)
	if sys := st.Sys().(*syscall.Stat_t); sys.Uid != 1234 || sys.Gid != 5678 || st.Mode() != 0o754 {
		t.Errorf("owner %d, group %d, mode %o", sys.Uid, sys.Gid, st.Mode())
	}
}

// A write that fails half way leaves the old file and nothing else.
func TestFailedWrite(t *testing.T) {
	w := newWorkspace(t)
	w.put("f", "old", 0o644)
	var was syscall.Rlimit
	w.must(syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was))
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	w.must(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1 << 20, Max: was.Max}))
	content := strings.Repeat("x", 2<<20)
	w.fails("write", "write_file", map[string]any{"path": "f", "content": content}, "not_written", 1, "f: file too large")
	w.fails("create", "write_file", map[string]any{"path": "g", "content": content}, "not_written", 1, "file too large")
	w.fails("edit", "edit_file", map[string]any{"path": "f", "old_string": "old", "new_string": content}, "not_written", 1, "file too large")
	w.must(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was))
	if w.get("f") != "old" {
		t.Error("the old file was changed")
	}
	if _, err := os.Lstat(w.path("g")); err == nil {
		t.Error("half a file was made")
	}
	w.clean()
}

// Another process writes between the look and the rename.
func TestWriteNoticesOthers(t *testing.T) {
	w := newWorkspace(t)
	env := toolEnv(w)
	for what, meddle := range map[string]func(string){
		"a write":    func(p string) { w.must(os.WriteFile(p, []byte("theirs"), 0o644)) },
		"a rename":   func(p string) { w.must(os.WriteFile(p+"2", []byte("old"), 0o644)); w.must(os.Rename(p+"2", p)) },
		"a link":     func(p string) { w.must(os.Remove(p)); w.must(os.Symlink("/etc/passwd", p)) },
		"a removal":  func(p string) { w.must(os.Remove(p)) },
		"a new file": func(p string) { w.must(os.WriteFile(p, []byte("theirs"), 0o644)) },
		"a new link": func(p string) { w.must(os.Symlink("nonesuch", p)) },
	} {
		name := strings.ReplaceAll(what, " ", "_")
		if !strings.Contains(what, "new") {
			w.put(name, "old", 0o644)
		}
		p, err := place.Open(env, w.path(name))
		w.must(err)
		target, err := newTarget(p)
		w.must(err)
		meddle(w.path(name))
		if err := target.replace([]byte("mine")); fail.As(err) == nil || fail.As(err).Code != "changed_meanwhile" {
			t.Errorf("%s: %v", what, err)
		}
		p.Close()
		if b, err := os.ReadFile(w.path(name)); err == nil && string(b) == "mine" {
			t.Errorf("%s was overwritten", what)
		}
	}
	w.clean()
}
