package session

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kxtools/kx/internal/base/fsx/fsxtest"
	"github.com/kxtools/kx/pkg/wire"
)

func TestFullDisk(t *testing.T) {
	fsxtest.OnTinyDisk(t, 512, func(dir string) {
		s := openIn(t, filepath.Join(dir, "kx"))
		m := create(t, s, "a3fk", Running)
		w, err := s.OpenWriter("a3fk")
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if _, err := w.Append("text", "one"); err != nil {
			t.Fatal(err)
		}
		free := fsxtest.Fill(t, dir)
		for _, size := range []int{30_000, 300_000} { // in the line, and in a blob
			if e, err := w.Append("text", strings.Repeat("x", size)); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("%d bytes: %+v, %v", size, e.Seq, err)
			}
		}
		m.State = Completed
		m.Model = strings.Repeat("y", 50_000)
		if err := s.Save(m); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("save: %v", err)
		}
		if got, err := s.Meta("a3fk"); err != nil || got.State != Running {
			t.Errorf("meta: %s, %v", got.State, err)
		}
		if _, err := s.Create(Meta{Session: wire.Session{ID: "new", Model: strings.Repeat("z", 50_000)}}); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("create: %v", err)
		}
		free()
		if e, err := w.Append("text", "two"); err != nil || e.Seq != 2 {
			t.Errorf("%+v, %v", e, err)
		}
		if data, told := read(t, s, "a3fk"); fmt.Sprint(data) != `[1 "one" 2 "two"]` || len(told) > 0 {
			t.Errorf("read %v, told %v", data, told)
		}
	})
}
