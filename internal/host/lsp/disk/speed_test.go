package disk

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// sources makes a workspace of 1,600 files, as a module of 50,000 lines is.
func sources(t testing.TB) string {
	t.Helper()
	root := t.TempDir()
	for i := range 1600 {
		dir := filepath.Join(root, fmt.Sprintf("area%d", i%10), fmt.Sprintf("package%d", i%200))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, fmt.Sprintf("file%d.go", i)), "package x\n")
	}
	return root
}

func plain(t testing.TB, root string) {
	n := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		_, err = os.Lstat(path)
		n++
		return err
	})
	if err != nil || n != 1600 {
		t.Fatal(n, err)
	}
}

func BenchmarkScan(b *testing.B) {
	s := New(sources(b))
	defer s.Close()
	time.Sleep(2 * tick)
	for b.Loop() {
		if _, err := s.Scan(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPlainWalk(b *testing.B) {
	root := sources(b)
	for b.Loop() {
		plain(b, root)
	}
}

// A look is no slower than the plain one, which knows nothing of what was; with slack
// and many rounds, as others may use the machine and a look wants more of it at once.
func TestScanIsFast(t *testing.T) {
	root := sources(t)
	s := New(root)
	defer s.Close()
	scan(t, s)
	best := [2]time.Duration{time.Hour, time.Hour}
	slow := func() bool { return best[0] > best[1]*3/2 }
	for n := 0; n < 20 || n < 400 && slow(); n++ {
		start := time.Now()
		scan(t, s)
		best[0] = min(best[0], time.Since(start))
		start = time.Now()
		plain(t, root)
		best[1] = min(best[1], time.Since(start))
	}
	t.Logf("a look %s, the plain one %s", best[0], best[1])
	if slow() {
		t.Errorf("a look takes %s, the plain one %s", best[0], best[1])
	}
}
