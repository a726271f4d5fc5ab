package audit

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kxtools/kx/internal/base/fsx/fsxtest"
)

func TestFullDisk(t *testing.T) {
	fsxtest.OnTinyDisk(t, 512, func(dir string) {
		l, c := openIn(t, filepath.Join(dir, "kx"))
		appendN(t, l, 2)
		free := fsxtest.Fill(t, dir)
		big := outcome(strings.Repeat("c", 100_000))
		for range 3 {
			if seq, err := l.Append(big, true); !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("seq %d, %v", seq, err)
			}
			verify(t, l, 2)
			c.Time = c.AddDate(0, 0, 1) // on a new day even the file can't be made
		}
		if _, err := l.Blob(make([]byte, 100_000)); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("blob: %v", err)
		}
		free()
		if seq, err := l.Append(big, true); err != nil || seq != 3 {
			t.Fatalf("seq %d, %v", seq, err)
		}
		verify(t, l, 3)
	})
}
