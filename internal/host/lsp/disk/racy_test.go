package disk

import (
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A second write within a step of the disk's clock leaves size, times and inode as
// they are. The steps of this disk may be too small to try it: larger ones are made.
func TestWritesWithinATick(t *testing.T) {
	root, s := fresh(t)
	s.sys.tick = int64(10 * time.Millisecond)
	path := root + "/a.go"
	write(t, path, "x0000")
	last := scan(t, s)
	blind := 0
	for i, deadline := 1, time.Now().Add(time.Minute); blind < 10; i++ {
		if time.Now().After(deadline) {
			t.Fatalf("only %d pairs of writes share a tick", blind)
		}
		write(t, path, fmt.Sprintf("x%04d", i%10000))
		is := scan(t, s)
		if got := tell(root, Diff(last, is)); got != "~a.go" {
			t.Fatalf("write %d: found %q", i, got)
		}
		a, b := last.Files[path], is.Files[path]
		if a.Edit, b.Edit = 0, 0; a == b {
			blind++
		}
		if got := Diff(is, scan(t, s)); got != nil {
			t.Fatalf("write %d: without another, found %v", i, got)
		}
		last = scan(t, s)
	}
	// at rest, nothing changes, and nothing is read again
	for deadline := time.Now().Add(time.Minute); ; {
		is := scan(t, s)
		if got := Diff(last, is); got != nil {
			t.Fatalf("at rest, found %v", got)
		}
		if s.was.folders[root].entries[0].sum == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the contents of a file at rest are read for ever")
		}
	}
	// two looks that are not neighbours agree
	first := last
	for deadline := time.Now().Add(time.Minute); ; {
		if time.Now().After(deadline) {
			t.Fatal("no two writes share a tick")
		}
		write(t, path, "y1111")
		one := scan(t, s)
		write(t, path, "y2222")
		two := scan(t, s)
		scan(t, s)
		if Diff(one, two) == nil || Diff(first, two) == nil || Diff(one, scan(t, s)) == nil {
			t.Fatal("a write is not seen by looks that are apart")
		}
		a, b := one.Files[path], two.Files[path]
		if a.Edit, b.Edit = 0, 0; a == b {
			break
		}
	}
}

func TestRacy(t *testing.T) {
	second := int64(time.Second)
	now := 1_000_000*second + 500_000_000
	for _, c := range []struct {
		mtime, ctime int64 // before now
		want         bool
	}{
		{second - 1, second - 1, false}, {0, 0, true}, {int64(tick) - 1, second - 1, true}, {second - 1, int64(tick) - 1, true},
		{int64(tick), int64(tick), false},
		{-second - 1, second - 1, false}, // an mtime in the future is anyone's
		{second - 1, -second - 1, true},  // a ctime there is another clock's
		{500_000_000 + second, 500_000_000 + second, true},
		{500_000_000 + 2*second, 500_000_000 + 2*second, false}, // a disk that keeps seconds
	} {
		if got := racy(File{MTime: now - c.mtime, CTime: now - c.ctime}, now); got != c.want {
			t.Errorf("mtime %d, ctime %d ago: %v", c.mtime, c.ctime, got)
		}
	}
}

// A large file counts as written as long as it can be; others by what is in them.
func TestContents(t *testing.T) {
	root, _ := fresh(t)
	path := root + "/a"
	write(t, path, "x")
	if contents(path, 1, 1) != contents(path, 1, 2) {
		t.Error("the same contents differ")
	}
	x := contents(path, 1, 1)
	write(t, path, "y")
	if contents(path, 1, 1) == x {
		t.Error("different contents are the same")
	}
	if contents(path, maxSum+1, 1) == contents(path, maxSum+1, 2) {
		t.Error("a large file that may have been written counts as unchanged")
	}
	must(t, os.Remove(path))
	must(t, unix.Mkfifo(path, 0o600))
	if contents(path, 1, 1) != contents(path, 1, 2) { // and doesn't wait for a writer
		t.Error("what can't be read changes")
	}
}
