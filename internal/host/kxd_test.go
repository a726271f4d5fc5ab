package host

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kxtools/kx/internal/base/fail"
)

func TestKxd(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws := filepath.Join(dir, "ws")
	os.Mkdir(ws, 0o755)
	program := func(path string, mode os.FileMode) string {
		t.Helper()
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil { // whatever the umask is
			t.Fatal(err)
		}
		return path
	}
	link := func(name, to string) string {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, name)
	}
	good := program(filepath.Join(dir, "kxd"), 0o755)
	inside := program(filepath.Join(ws, "kxd"), 0o755)
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for name, c := range map[string]struct {
		path, want, why string
		workspaces      []string
	}{
		"a program":            {path: good, want: good},
		"beside the workspace": {path: program(ws+"kxd", 0o755), want: ws + "kxd"},
		"a link":               {path: link("link", good), want: good},
		"relative":             {path: "kxd", why: "not an absolute path"},
		"missing":              {path: filepath.Join(dir, "none"), why: "no such file"},
		"a folder":             {path: dir, why: "not a regular file"},
		"a FIFO":               {path: fifo, why: "not a regular file"},
		"a device":             {path: "/dev/null", why: "not a regular file"},
		"open to the group":    {path: program(filepath.Join(dir, "g"), 0o775), why: "others can write it"},
		"open to all":          {path: program(filepath.Join(dir, "o"), 0o757), why: "others can write it"},
		"in the workspace":     {path: inside, why: "lies in a workspace"},
		"a link into it":       {path: link("into", inside), why: "lies in a workspace"},
		"through a folder":     {path: filepath.Join(link("folder", ws), "kxd"), why: "lies in a workspace"},
		"a link inside it":     {path: link("ws/out", good), why: "lies in a workspace"},
		"everything inside it": {path: good, workspaces: []string{"/"}, why: "lies in a workspace"},
	} {
		if c.workspaces == nil {
			c.workspaces = []string{filepath.Join(dir, "elsewhere"), ws}
		}
		got, err := Kxd(c.path, c.workspaces)
		switch e := fail.As(err); {
		case c.why == "" && (err != nil || got != c.want):
			t.Errorf("%s: %s, %v", name, got, err)
		case c.why != "" && (err == nil || e.Exit != fail.ExitDenied || !strings.Contains(e.Msg, c.why) || e.Hint != "unset KX_KXD"):
			t.Errorf("%s: %s, %v, want %s", name, got, err, c.why)
		}
	}
	if os.Getuid() == 0 { // only root can make a file somebody else's
		other := program(filepath.Join(dir, "theirs"), 0o755)
		if err := os.Chown(other, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		if _, err := Kxd(other, nil); err == nil || !strings.Contains(err.Error(), "belongs to somebody else") {
			t.Errorf("somebody else's: %v", err)
		}
	}
}

// Without KX_KXD it lies beside the program itself, wherever a link to that is.
func TestKxdBesideItself(t *testing.T) {
	if path, err := Kxd("", nil); fail.Exit(err) != fail.ExitUnavailable {
		t.Errorf("%s, %v", path, err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	kxd := filepath.Join(filepath.Dir(self), "kxd")
	if err := os.WriteFile(kxd, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(kxd)
	if path, err := Kxd("", nil); path != kxd || err != nil {
		t.Errorf("%s, %v", path, err)
	}
}
