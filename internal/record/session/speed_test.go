package session

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/kxtools/kx/pkg/wire"
)

// Listing 10,000 sessions takes 200 ms. The machine of a test has other things to do, so
// what counts is the time of the processor, and memory that others use, too, is slow.
const (
	perList  = 200 * time.Millisecond
	patience = 3
)

func processor() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// manySessions makes n of them as runs leave them.
func manySessions(t testing.TB, n int) *Store {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "kx-test-") // they are read from memory, anyway
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := openIn(t, dir+"/kx")
	for i := range n {
		m, err := s.Create(Meta{
			Session: wire.Session{ID: fmt.Sprintf("s%05d", i), Workspace: "/home/you/src/project", Mode: "default", Model: "anthropic/claude", State: Completed, Turns: 7},
			Agent:   []byte(`{"prompt":"make the failing test pass","cwd":"/home/you/src/project","caller":"agent","scope":{"capability":{},"credential":{}}}`),
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(s.dir(m.ID)+"/"+eventsFile, []byte("{}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestListOfManySessions(t *testing.T) {
	s := manySessions(t, 10_000)
	best := time.Hour
	for range 3 {
		start := processor()
		if all, bad := s.List(); len(all) != 10_000 || len(bad) > 0 {
			t.Fatalf("%d sessions, %v", len(all), bad)
		}
		best = min(best, processor()-start)
	}
	t.Logf("10,000 sessions are listed in %v", best)
	if best > patience*perList {
		t.Errorf("10,000 sessions are listed in %v", best)
	}
}

func BenchmarkList(b *testing.B) {
	s := manySessions(b, 10_000)
	for b.Loop() {
		s.List()
	}
}
