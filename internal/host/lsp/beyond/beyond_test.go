package beyond

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What changes in the folders and files that were named shows once, and what was there
// before the server does not.
func TestLook(t *testing.T) {
	dir := t.TempDir()
	lib, config := filepath.Join(dir, "lib"), filepath.Join(dir, "base.json")
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(lib, "a.ts"), "1")
	write(config, "{}")
	began := time.Now().Add(time.Minute) // all of this is older
	var b Beyond
	defer b.Close()
	look := func() string {
		t.Helper()
		changes, why, seen, err := b.Look(t.Context(), []string{lib}, []string{config}, began)
		if err != nil {
			t.Fatal(err)
		}
		seen()
		list := []string{why}
		for _, c := range changes {
			list = append(list, fmt.Sprint(filepath.Base(c.Path), " ", c.Kind))
		}
		return strings.Join(list, "; ")
	}
	steps := []struct {
		what string
		do   func()
		want string
	}{
		{"at first", func() {}, ""},
		{"changed", func() { write(filepath.Join(lib, "a.ts"), "22"); write(config, "{ }") }, "; base.json changed; a.ts changed"},
		{"nothing more", func() {}, ""},
		{"new", func() { write(filepath.Join(lib, "sub", "b.ts"), "") }, "; b.ts created"},
		{"gone", func() { os.RemoveAll(lib); os.Remove(config) }, "; base.json deleted; a.ts deleted; b.ts deleted"},
		{"back", func() { write(filepath.Join(lib, "a.ts"), "1"); write(config, "{}") }, "; base.json created; a.ts created"},
	}
	for _, s := range steps {
		s.do()
		if got := look(); got != s.want {
			t.Errorf("%s: %q, not %q", s.what, got, s.want)
		}
	}
}

// Of a folder that is named later nobody knows what went: one that is younger than the
// server has it started again.
func TestNamedLater(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.ts"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var b Beyond
	defer b.Close()
	changes, why, _, err := b.Look(t.Context(), []string{dir}, nil, time.Now().Add(-time.Minute))
	if err != nil || len(changes) != 1 || why != "files came or went in "+dir {
		t.Errorf("%v %q %v", changes, why, err)
	}
}
