package state

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx/fsxtest"
)

func TestOpenMakesAPrivateDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "share/kx")
	for range 2 {
		s, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if s.Dir() != dir {
			t.Errorf("Dir is %s", s.Dir())
		}
	}
	if fi, _ := os.Stat(dir); fi.Mode().Perm() != 0o700 {
		t.Errorf("mode %o", fi.Mode().Perm())
	}
	if v, _ := os.ReadFile(filepath.Join(dir, "version")); string(v) != "1\n" {
		t.Errorf("version %q", v)
	}
	s, _ := Open(dir)
	sub, err := s.Sub("sessions", "a3fk")
	if fi, serr := os.Stat(sub); err != nil || serr != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("sub: %v, %v", err, serr)
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, tc := range []struct {
		name, message, hint string
		prepare             func(dir string)
	}{
		{"newer version", "written by a newer kx", "kx version", func(dir string) {
			os.WriteFile(filepath.Join(dir, "version"), []byte("2\n"), 0o600)
		}},
		{"broken version", "not a version", "echo 1", func(dir string) {
			os.WriteFile(filepath.Join(dir, "version"), []byte("x"), 0o600)
		}},
		{"somebody's folder", "no version", "--state-dir", func(dir string) {
			os.WriteFile(filepath.Join(dir, "thesis.tex"), nil, 0o600)
		}},
		{"others may write", "mode 0770", "chmod 700", func(dir string) { os.Chmod(dir, 0o770) }},
		{"a file", "not a directory", "--state-dir", func(dir string) {
			os.Remove(dir)
			os.WriteFile(dir, nil, 0o600)
		}},
		{"version is a folder", "not a regular file", "ls -ld", func(dir string) { os.Mkdir(filepath.Join(dir, "version"), 0o700) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			os.Chmod(dir, 0o700)
			tc.prepare(dir)
			before := listing(t, dir)
			for name, open := range map[string]func(string) (*State, error){"open": Open, "peek": Peek} {
				_, err := open(dir)
				e := fail.As(err)
				if e == nil || e.Exit != fail.ExitUsage || !strings.Contains(e.Msg, tc.message) || !strings.Contains(e.Hint, tc.hint) {
					t.Errorf("%s: %+v", name, e)
				}
			}
			if after := listing(t, dir); after != before {
				t.Errorf("touched: %s, was %s", after, before)
			}
		})
	}
}

func TestUnreadableDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kx")
	if _, err := Open(dir); err != nil {
		t.Fatal(err)
	}
	os.Chmod(dir, 0)
	defer os.Chmod(dir, 0o700)
	_, err := Open(dir)
	if os.Geteuid() == 0 { // root reads everything
		if err != nil {
			t.Errorf("as root: %v", err)
		}
		return
	}
	if e := fail.As(err); e == nil || e.Exit != fail.ExitUsage || !strings.Contains(e.Msg, "permission denied") || e.Hint == "" {
		t.Errorf("got %+v", e)
	}
}

func listing(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	filepath.Walk(dir, func(p string, fi os.FileInfo, err error) error {
		if err == nil {
			all = append(all, p+" "+fi.Mode().String())
		}
		return nil
	})
	return strings.Join(all, "\n")
}

func TestPeekMakesNothing(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "kx")
	s, err := Peek(missing)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.ApproverKey(); err == nil {
		t.Error("a key of nothing")
	}
	if _, err := s.Sub("audit"); err == nil {
		t.Error("a folder of nothing")
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("the directory was made")
	}
	empty := t.TempDir()
	os.Chmod(empty, 0o700)
	if _, err := Peek(empty); err != nil {
		t.Error(err)
	}
	if names, _ := os.ReadDir(empty); len(names) != 0 {
		t.Errorf("made %v", names)
	}
}

func TestKeys(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "kx"))
	if err != nil {
		t.Fatal(err)
	}
	approver, err := s.ApproverKey()
	if err != nil || len(approver) != 32 {
		t.Fatalf("%d bytes, %v", len(approver), err)
	}
	if again, err := s.ApproverKey(); err != nil || !bytes.Equal(again, approver) {
		t.Errorf("the key changes: %v", err)
	}
	if host, err := s.HostKey(); err != nil || bytes.Equal(host, approver) {
		t.Errorf("the keys are one: %v", err)
	}
	path, err := s.ApproverKeyPath()
	data, _ := os.ReadFile(path)
	fi, _ := os.Stat(path)
	if err != nil || string(data) != hex.EncodeToString(approver)+"\n" || fi.Mode().Perm() != 0o600 {
		t.Errorf("%s: %q, %o, %v", path, data, fi.Mode().Perm(), err)
	}

	os.Chmod(path, 0o640)
	if _, err := s.ApproverKey(); fail.As(err).Hint != "chmod 600 "+path {
		t.Errorf("a readable key: %v", err)
	}
	for _, bad := range []string{"", "abcd", strings.Repeat("zz", 32), strings.Repeat("ab", 33)} {
		os.Remove(path)
		os.WriteFile(path, []byte(bad), 0o600)
		if _, err := s.ApproverKey(); fail.Exit(err) != fail.ExitUsage {
			t.Errorf("key %q: %v", bad, err)
		}
	}
}

// Processes that need the key at the same moment must get the same one.
func TestProcessesAgreeOnTheKey(t *testing.T) {
	if dir, ok := fsxtest.Child(); ok {
		s, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		key, err := s.HostKey()
		if err != nil {
			t.Fatal(err)
		}
		fsxtest.Say(hex.EncodeToString(key))
		return
	}
	for range 5 {
		dir := filepath.Join(t.TempDir(), "kx")
		outs := make([]bytes.Buffer, 4)
		wait := make([]func() error, len(outs))
		for i := range outs {
			cmd := fsxtest.Command(t, dir)
			cmd.Stdout = &outs[i]
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			wait[i] = cmd.Wait
		}
		for i := range outs {
			if err := wait[i](); err != nil {
				t.Fatal(err)
			}
			if got := strings.Fields(outs[i].String())[0]; len(got) != 64 || got != strings.Fields(outs[0].String())[0] {
				t.Fatalf("process %d has key %q, the first %q", i, got, outs[0].String())
			}
		}
	}
}
