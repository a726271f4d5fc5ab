package agentroot

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/record/state"
)

func open(t *testing.T) (*Store, string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	st, err := state.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return New(st, time.Now), filepath.Join(dir, "agentroot")
}

// child starts a process below this one and returns its pid.
func child(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd.Process.Pid
}

func TestAbove(t *testing.T) {
	s, _ := open(t)
	pid := child(t)
	if r, err := s.Above(pid); err != nil || r != nil {
		t.Fatalf("before anything is entered: %v, %v", r, err)
	}
	if err := s.Register(os.Getpid(), Tool, ""); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Above(pid); err != nil || r == nil || r.PID != os.Getpid() || r.Kind != Tool {
		t.Errorf("a child of a root: %+v, %v", r, err)
	}
	if r, err := s.Above(os.Getpid()); err != nil || r != nil {
		t.Errorf("the root itself: %+v, %v", r, err)
	}
	s.Leave(os.Getpid())
	if r, err := s.Above(pid); err != nil || r != nil {
		t.Errorf("after it left: %+v, %v", r, err)
	}
}

// The pid of a root that died may be given to somebody else.
func TestAnotherStartOrBoot(t *testing.T) {
	s, dir := open(t)
	pid := child(t)
	for _, change := range []string{`"start":1`, `"boot":"x"`} {
		if err := s.Register(os.Getpid(), Agent, "x"); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, strconv.Itoa(os.Getpid())+".json")
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// The last of two keys counts.
		if err := os.WriteFile(file, append(raw[:len(raw)-2], []byte(","+change+"}\n")...), 0o600); err != nil {
			t.Fatal(err)
		}
		if r, err := s.Above(pid); err != nil || r != nil {
			t.Errorf("%s: %+v, %v", change, r, err)
		}
		if err := s.Register(pid, Agent, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%s: the entry of the dead is still there", change)
		}
		s.Leave(pid)
	}
}

func TestDamagedCountsAsAlive(t *testing.T) {
	s, dir := open(t)
	pid := child(t)
	if err := s.Register(os.Getpid(), Agent, ""); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(os.Getpid())+".json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Above(pid); err != nil || r == nil {
		t.Errorf("got %+v, %v", r, err)
	}
}
