package fsx

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx/fsxtest"
)

func TestFullDisk(t *testing.T) {
	fsxtest.OnTinyDisk(t, 256, func(dir string) {
		l, err := OpenLog(filepath.Join(dir, "l.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		small := filepath.Join(dir, "small")
		if err := WriteFile(small, []byte("old"), 0); err != nil {
			t.Fatal(err)
		}
		if err := l.Append([]byte("before")); err != nil {
			t.Fatal(err)
		}
		free := fsxtest.Fill(t, dir)

		err = l.Append([]byte(strings.Repeat("x", 100_000)))
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(fail.As(err).Hint, "df -h") {
			t.Errorf("append: %v", err)
		}
		if got, _ := os.ReadFile(l.f.Name()); string(got) != "before\n" {
			t.Errorf("a stub is left: %d bytes", len(got))
		}
		for name, write := range map[string]func(string, []byte, os.FileMode) error{"small": WriteFile, "new": CreateExcl} {
			if err := write(filepath.Join(dir, name), make([]byte, 50_000), 0); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got, _ := os.ReadFile(small); string(got) != "old" {
			t.Errorf("the old content is gone: %q", got)
		}
		if names, _ := os.ReadDir(dir); len(names) != 3 { // these two and the ballast
			t.Errorf("left behind: %v", names)
		}

		free()
		if err := l.Append([]byte("after")); err != nil {
			t.Errorf("after space was made: %v", err)
		}
		if got, _ := os.ReadFile(l.f.Name()); string(got) != "before\nafter\n" {
			t.Errorf("got %q", got)
		}
	})
}
