package scratch

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/record/state"
)

type clock struct{ now time.Time }

func open(t *testing.T) (*Store, *clock) {
	t.Helper()
	st, err := state.Open(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	c := &clock{time.Now()}
	return New(st, func() time.Time { return c.now }), c
}

func TestTemp(t *testing.T) {
	s, _ := open(t)
	dir, err := s.Temp("s1")
	if err != nil || dir != s.TempPath("s1") {
		t.Fatal(dir, err)
	}
	fi, err := os.Stat(dir)
	if err != nil || fi.Mode() != fs.ModeDir|fs.ModeSticky|0o777 {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
	if fi, _ := os.Stat(filepath.Dir(dir)); fi.Mode().Perm() != 0o700 {
		t.Errorf("others get as far as to it: %v", fi.Mode())
	}
	if err := os.WriteFile(filepath.Join(dir, "f"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Temp("s1"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "f")); err != nil {
		t.Error("it is another one now")
	}
	if other, _ := s.Temp("s2"); other == dir {
		t.Error("two sessions share one")
	}
}

// Each program of a workspace has layers of its own, and the same ones again.
func TestLayers(t *testing.T) {
	s, _ := open(t)
	a, err := s.Layers("/ws")
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Layers("/ws")
	if err != nil {
		t.Fatal(err)
	}
	other, err := s.Layers("/other")
	if err != nil {
		t.Fatal(err)
	}
	up := func(l *Layers) string {
		u, w, err := l.Layer("cache")
		if err != nil || filepath.Dir(u) != filepath.Dir(w) {
			t.Fatal(u, w, err)
		}
		return u
	}
	first := up(a)
	if first == up(b) || first == up(other) || up(b) == up(other) {
		t.Error("two programs share layers")
	}
	a.Release()
	again, err := s.Layers("/ws")
	if err != nil || up(again) != first {
		t.Errorf("%s, was %s, %v", up(again), first, err)
	}
}

func TestTooManyPrograms(t *testing.T) {
	s, _ := open(t)
	var all []*Layers
	for range maxSlots {
		l, err := s.Layers("/ws")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	defer func() {
		for _, l := range all {
			l.Release()
		}
	}()
	if _, err := s.Layers("/ws"); fail.Exit(err) != fail.ExitLimit {
		t.Errorf("got %v", err)
	}
}

func TestWalls(t *testing.T) {
	s, _ := open(t)
	if got := s.Walls(); got != nil {
		t.Errorf("got %s", got)
	}
	if err := s.SetWalls([]byte("{}")); err != nil || !bytes.Equal(s.Walls(), []byte("{}")) {
		t.Errorf("%v, %s", err, s.Walls())
	}
	s.ForgetWalls()
	if got := s.Walls(); got != nil {
		t.Errorf("got %s", got)
	}
}

// What nobody has used for long goes, also what overlayfs has closed to everybody.
func TestSweep(t *testing.T) {
	s, c := open(t)
	begin := c.now
	old, _ := s.Temp("old")
	l, err := s.Layers("/ws")
	if err != nil {
		t.Fatal(err)
	}
	_, work, _ := l.Layer("cache")
	if err := os.MkdirAll(filepath.Join(work, "work"), 0o700); err != nil {
		t.Fatal(err)
	}
	os.Chmod(filepath.Join(work, "work"), 0)
	l.Release()
	aside, err := s.Aside()
	if err != nil {
		t.Fatal(err)
	}
	c.now = begin.Add(keep - time.Hour)
	kept, _ := s.Temp("kept")
	os.Chtimes(s.mark(kept), c.now, c.now)
	c.now = begin.Add(keep + time.Minute)
	fresh, _ := s.Temp("fresh")
	next, err := s.Layers("/next")
	if err != nil {
		t.Fatal(err)
	}
	next.Release()
	if _, err := s.Aside(); err != nil {
		t.Fatal(err)
	}
	for dir, there := range map[string]bool{old: false, filepath.Dir(l.dir): false, aside: false, kept: true, fresh: true, filepath.Dir(next.dir): true} {
		if _, err := os.Lstat(dir); (err == nil) != there {
			t.Errorf("%s: %v", dir, err)
		}
		if _, err := os.Lstat(s.mark(dir)); err == nil && !there {
			t.Errorf("the mark of %s is left", dir)
		}
	}
}

// A dry run makes nothing.
func TestDryRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	st, err := state.Peek(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := New(st, time.Now)
	_, err1 := s.Temp("s")
	_, err2 := s.Layers("/ws")
	_, err3 := s.Aside()
	for _, err := range []error{err1, err2, err3, s.SetWalls(nil)} {
		if err == nil || !strings.Contains(err.Error(), "dry run") {
			t.Errorf("got %v", err)
		}
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("the state directory was made")
	}
}
