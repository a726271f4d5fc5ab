package place

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/tool"
)

func folder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// What takes the place of a file between the look and the opening is neither
// followed nor waited for.
func TestOpenRegularNoticesASwap(t *testing.T) {
	dir := folder(t)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	p := filepath.Join(dir, "f")
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	for what, swap := range map[string]func() error{
		"a link":       func() error { return os.Symlink("secret", p) },
		"a link out":   func() error { return os.Symlink("/etc/passwd", p) },
		"a pipe":       func() error { return syscall.Mkfifo(p, 0o644) },
		"another file": func() error { return os.WriteFile(p, []byte("other"), 0o644) },
		"a folder":     func() error { return os.Mkdir(p, 0o755) },
	} {
		if err := os.WriteFile(p, []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
		seen, err := root.Lstat("f")
		if err != nil {
			t.Fatal(err)
		}
		// The old file stays, under another name, so that its inode is not given out again.
		if err := errors.Join(os.Rename(p, p+"-"+strings.ReplaceAll(what, " ", "")), swap()); err != nil {
			t.Fatal(err)
		}
		if f, err := OpenRegular(root, "f", seen); err == nil {
			b, _ := io.ReadAll(f)
			t.Errorf("%s was opened: %q", what, b)
		}
		if err := os.RemoveAll(p); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOpen(t *testing.T) {
	dir, other := folder(t), folder(t)
	env := &tool.Env{Workspace: dir}
	for _, c := range []struct{ abs, root, rel, show string }{
		{dir, dir, ".", "."},
		{dir + "/a/b", dir, "a/b", "a/b"},
		{other + "/x", other, "x", other + "/x"},
		{other + "/new/x", other, "new/x", other + "/new/x"},
		{dir + "x/y", filepath.Dir(dir), filepath.Base(dir) + "x/y", dir + "x/y"}, // a neighbour, not below
		{"/", "/", ".", "/"},
	} {
		p, err := Open(env, c.abs)
		if err != nil {
			t.Errorf("%s: %v", c.abs, err)
			continue
		}
		if p.Root.Name() != c.root || p.Rel != c.rel || p.Show != c.show {
			t.Errorf("%s: root %s, rel %s, show %s", c.abs, p.Root.Name(), p.Rel, p.Show)
		}
		p.Close()
	}
	if _, err := Open(&tool.Env{Workspace: dir + "/gone"}, dir+"/gone/x"); fail.Exit(err) != fail.ExitNotFound {
		t.Errorf("a workspace that has gone: %v", err)
	}
}

func TestNamesAndHints(t *testing.T) {
	for in, want := range map[string]string{
		"a/b.go": "a/b.go", "a b": "a b", "é日": "é日", "": `""`, "a\nb": `"a\nb"`, "\x1b[0m": `"\x1b[0m"`, "\xff": `"\xff"`, "\u202e": `"\u202e"`,
	} {
		if got := Name(in); got != want {
			t.Errorf("Name(%q) = %s, want %s", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"/a/b c":  `kx call read_file '{"path":"/a/b c"}'`,
		"/it's":   "kx tool show read_file",
		"/a\"b":   "kx tool show read_file",
		"/a\\b":   "kx tool show read_file",
		"/a\nb":   "kx tool show read_file",
		"/$(x)`y": "kx call read_file '{\"path\":\"/$(x)`y\"}'", // plain between single quotes
	} {
		if got := Hint("read_file", "path", in); got != want {
			t.Errorf("Hint(%q) = %s, want %s", in, got, want)
		}
	}
	for in, want := range map[int64]string{0: "0 bytes", 1: "1 byte", 10239: "10239 bytes", 10240: "10.0 KiB", 64 << 20: "64.0 MiB"} {
		if got := Size(in); got != want {
			t.Errorf("Size(%d) = %s, want %s", in, got, want)
		}
	}
	if Within("/a", "/ab") || !Within("/a", "/a") || !Within("/a", "/a/b") || !Within("/", "/a") || Within("", "/a") {
		t.Error("Within")
	}
}

func TestIsBinary(t *testing.T) {
	for in, want := range map[string]bool{
		"": false, "plain\n": false, "caf\xe9 au lait": false, "日本語": false, "a\x00": true, "\xff\xfe\xfd\xfc": true,
		strings.Repeat("x", SniffLen) + "\x00":    false, // beyond what is looked at
		strings.Repeat("é", SniffLen/2-1) + "x日日": false, // the look ends in a character
		"\xc8\xcf\xd2\xcf\xdb\xcf":                true,  // KOI8-R: nothing of it can be shown
	} {
		if got := IsBinary([]byte(in)); got != want {
			t.Errorf("IsBinary(%.20q) = %v", in, got)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add([]byte("é日\xff\x00"), 2)
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		head, left := CutRunes(b, n)
		if len(head)+left != len(b) || n >= 0 && utf8.RuneCount(head) > n {
			t.Errorf("CutRunes(%q, %d) = %q, %d", b, n, head, left)
		}
		if s := Readable(string(b)); !utf8.ValidString(s) || strings.Contains(s, "\x00") {
			t.Errorf("Readable(%q) = %q", b, s)
		}
		_ = CheckText(b, int64(len(b)), "f")
	})
}

// The folder of a file is held: what takes its name later is not it.
func TestFile(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	at := func(rel string) string { return filepath.Join(dir, rel) }
	must(os.MkdirAll(at("ws/a/b"), 0o755))
	must(os.MkdirAll(at("out"), 0o755))
	must(os.WriteFile(at("ws/a/b/f"), []byte("mine"), 0o600))
	must(os.WriteFile(at("out/f"), []byte("theirs"), 0o600))
	must(os.Symlink(at("ws"), at("link")))
	env := &tool.Env{Workspace: at("ws")}
	p, err := File(env, at("ws/a/b/f"))
	must(err)
	defer p.Close()
	if p.Rel != "f" || p.Show != "a/b/f" {
		t.Errorf("%+v", p)
	}
	must(os.Rename(at("ws/a"), at("ws/c")))
	must(os.MkdirAll(at("ws/a"), 0o755))
	must(os.Symlink(at("out"), at("ws/a/b")))
	if b, err := p.Root.ReadFile(p.Rel); err != nil || string(b) != "mine" {
		t.Errorf("%q %v", b, err)
	}
	for _, c := range []struct{ ws, path, code string }{
		{"ws", "ws/a/b/f", "path_changed"}, {"link", "link/c/b/f", "path_changed"}, {"", "link/c/b/f", "path_changed"}, {"ws", "ws/c/b/f/g", "not_a_folder"},
	} {
		if _, err := File(&tool.Env{Workspace: at(c.ws)}, at(c.path)); err == nil || fail.As(err).Code != c.code {
			t.Errorf("%s in %s: %v, want %s", c.path, c.ws, err, c.code)
		}
	}

	p, err = File(env, at("ws/n/e/w"))
	must(err)
	defer p.Close()
	must(p.MakeFolders())
	must(p.Root.WriteFile(p.Rel, nil, 0o600))
	if _, err := os.Lstat(at("ws/n/e/w")); err != nil || p.Rel != "w" {
		t.Errorf("%v %+v", err, p)
	}
	p.RemoveFolders()
	if _, err := os.Lstat(at("ws/n/e/w")); err != nil {
		t.Error("a folder was removed that was in use")
	}
	must(p.Root.Remove(p.Rel))
	p.RemoveFolders()
	if _, err := os.Lstat(at("ws/n")); err == nil {
		t.Error("the folders are still there")
	}
}
