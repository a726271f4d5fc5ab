package find

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
)

// What takes the place of a file after the look at it is neither followed, nor
// waited for, nor read.
func TestReaderNoticesASwap(t *testing.T) {
	tr := newTree(t)
	tr.put("secret", "secret", "a/b/f", "mine")
	root, err := os.OpenRoot(tr.dir)
	tr.must(err)
	defer root.Close()
	p := tr.path("a/b/f")
	for what, swap := range map[string]func() error{
		"a link":       func() error { return os.Symlink("../../secret", p) },
		"a link out":   func() error { return os.Symlink("/etc/passwd", p) },
		"a pipe":       func() error { return syscall.Mkfifo(p, 0o644) },
		"another file": func() error { return os.Link(tr.path("secret"), p) },
		"a folder":     func() error { return os.Mkdir(p, 0o755) },
	} {
		tr.must(os.RemoveAll(p))
		tr.put("a/b/f", "mine")
		st, err := root.Lstat("a/b/f")
		tr.must(err)
		r := reader{root: root}
		if b, err := r.read(candidate{"a/b/f", st}, 100); err != nil || string(b) != "mine" {
			t.Fatalf("%q %v", b, err)
		}
		tr.must(errors.Join(os.Rename(p, p+"-"+strings.ReplaceAll(what, " ", "")), swap()))
		if b, err := r.read(candidate{"a/b/f", st}, 100); err == nil {
			t.Errorf("%s was read: %q", what, b)
		}
		r.close()
	}
}

func TestReaderReadsWhole(t *testing.T) {
	tr := newTree(t)
	big := strings.Repeat("0123456789abcdef", keepBuffer/16+1000)
	tr.put("big", big, "small", "s", "empty", "")
	root, err := os.OpenRoot(tr.dir)
	tr.must(err)
	defer root.Close()
	r := reader{root: root}
	defer r.close()
	for _, c := range []struct {
		name string
		most int
		want string
	}{
		{"small", 100, "s"}, {"big", len(big) + 1, big}, {"small", 100, "s"}, {"empty", 100, ""}, {"big", 10, big[:10]}, {"big", len(big), big},
	} {
		st, err := root.Lstat(c.name)
		tr.must(err)
		if b, err := r.read(candidate{c.name, st}, c.most); err != nil || string(b) != c.want {
			t.Errorf("%s: %d bytes, %v, want %d", c.name, len(b), err, len(c.want))
		}
	}
	if cap(r.buf) < len(big) {
		t.Error("the buffer is not the one that is tested")
	}
	st, err := root.Lstat("small")
	tr.must(err)
	f, err := os.Open("/proc/self/status") // which says that it is empty
	if err == nil {
		defer f.Close()
		if b, err := r.readAll(int(f.Fd()), 0, 1<<20); err != nil || !strings.Contains(string(b), "Name:") {
			t.Errorf("a file without a size: %q %v", b, err)
		}
	}
	if _, err := r.read(candidate{"small", st}, 100); err != nil || cap(r.buf) > keepBuffer {
		t.Errorf("a buffer of %d bytes is kept for a small file, %v", cap(r.buf), err)
	}
}
