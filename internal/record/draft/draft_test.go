package draft

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/record/state"
)

func TestDraft(t *testing.T) {
	st, err := state.Open(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	s := New(st, func() time.Time { return now })
	path, err := s.Open("7k2q", ".sh", []byte("one\n"))
	if err != nil || filepath.Ext(path) != ".sh" {
		t.Fatalf("%q, %v", path, err)
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi.Mode(), err)
	}
	if err := os.WriteFile(path, []byte("two\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if again, err := s.Open("7k2q", ".sh", []byte("one\n")); again != path || err != nil {
		t.Errorf("opened again it is %q, %v", again, err)
	}
	if text, err := s.Read(path); string(text) != "two\n" || err != nil {
		t.Errorf("what was left is %q, %v", text, err)
	}
	now = now.Add(25 * time.Hour)
	other, err := s.Open("7k3w", ".json", []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(path); err == nil {
		t.Error("a draft of yesterday is still there")
	}
	s.Drop(other)
	if _, err := os.Stat(other); err == nil {
		t.Error("a dropped draft is still there")
	}
}

// Neither a folder nor a pipe in its place is read.
func TestDraftOfAnotherKind(t *testing.T) {
	st, err := state.Open(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	s := New(st, time.Now)
	dir := t.TempDir()
	if _, err := s.Read(dir); err == nil {
		t.Error("a folder was read")
	}
	if _, err := s.Read(filepath.Join(dir, "none")); err == nil {
		t.Error("nothing was read")
	}
}

// What can't be written is named once, with a way on.
func TestDraftThatCannotBeWritten(t *testing.T) {
	st, err := state.Open(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = New(st, time.Now).Open(strings.Repeat("x", 300), ".sh", nil)
	if e := fail.As(err); err == nil || strings.Count(e.Msg, "can't be written") != 1 || e.Hint == "" {
		t.Errorf("%+v", e)
	}
}
