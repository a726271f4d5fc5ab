package notify

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kxtools/kx/pkg/wire"
)

// soon bounds what takes milliseconds, on a slow machine.
const soon = 20 * time.Second

func request(id string) *wire.Approval {
	return &wire.Approval{Type: "approval", V: wire.Version, ID: id, Tool: "bash", Input: json.RawMessage(`{"command":"echo '\"$(x)"}`), State: wire.ApprovalPending}
}

// until waits for what happens soon.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(soon); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func lines(file string) []string {
	b, _ := os.ReadFile(file)
	return strings.Fields(string(b))
}

func alive(pid string) bool {
	n, err := strconv.Atoi(pid)
	return err == nil && syscall.Kill(n, 0) == nil
}

// words collects what a queue says.
type words struct {
	sync.Mutex
	list []string
}

func (w *words) add(s string) {
	w.Lock()
	defer w.Unlock()
	w.list = append(w.list, s)
}

func (w *words) all() string {
	w.Lock()
	defer w.Unlock()
	return strings.Join(w.list, "\n")
}

func TestDetach(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("KX_NOTIFY_TEST", "mine")
	t.Setenv("TMPDIR", t.TempDir())
	began := time.Now()
	if err := Detach(`echo $$ >pid; cat >got.part; mv got.part got; echo $KX_NOTIFY_TEST $PWD >env; exec sleep 100`, dir, request("abcd")); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("the start took %s", d)
	}
	until(t, "the command writes", func() bool { return len(lines(filepath.Join(dir, "env"))) == 2 })
	pid := lines(filepath.Join(dir, "pid"))[0]
	n, _ := strconv.Atoi(pid)
	defer syscall.Kill(n, syscall.SIGKILL)
	raw, err := os.ReadFile(filepath.Join(dir, "got"))
	if err != nil {
		t.Fatal(err)
	}
	var a wire.Approval
	if err := json.Unmarshal(raw, &a); err != nil || a.ID != "abcd" || string(a.Input) != string(request("").Input) || strings.Count(string(raw), "\n") != 1 {
		t.Errorf("it reads %q, %v", raw, err)
	}
	if got := lines(filepath.Join(dir, "env")); got[0] != "mine" || got[1] != dir {
		t.Errorf("environment and folder are %q", got)
	}
	if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) > 0 {
		t.Errorf("%s was left behind", left[0].Name())
	}
	if sid, err := syscall.Getpgid(n); err != nil || sid != n {
		t.Errorf("its group is %d, %v", sid, err)
	}
}

func TestDetachWithoutAFolder(t *testing.T) {
	if err := Detach("true", filepath.Join(t.TempDir(), "none"), request("abcd")); err == nil {
		t.Error("a command ran in a folder that is not there")
	}
}

// Each request gets one run, with that request.
func TestQueueRunsOncePerRequest(t *testing.T) {
	dir := t.TempDir()
	var said words
	q := NewQueue(fmt.Sprintf(`cat >%s/$$`, dir), nil, said.add)
	for i := range 20 {
		q.Add(request(fmt.Sprintf("id%d", i)))
	}
	seen := map[string]int{}
	until(t, "20 runs", func() bool {
		clear(seen)
		files, _ := os.ReadDir(dir)
		for _, f := range files {
			var a wire.Approval
			if b, _ := os.ReadFile(filepath.Join(dir, f.Name())); json.Unmarshal(b, &a) == nil {
				seen[a.ID]++
			}
		}
		return len(seen) == 20
	})
	q.Close()
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%s had %d runs", id, n)
		}
	}
	if s := said.all(); s != "" {
		t.Errorf("it says %s", s)
	}
}

// Commands that hang hold up nobody: so many run, so many wait, the rest is
// dropped with a word, and none outlives the queue.
func TestQueueIsBounded(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	var said words
	q := NewQueue(fmt.Sprintf(`trap "" TERM; echo $$ >>%s; sleep 100 & echo $! >>%s; wait`, pids, pids), nil, said.add)
	began := time.Now()
	q.Add(request("id0"))
	for i := 1; i < most; i++ { // each is taken from the queue before the next comes
		q.Add(request(fmt.Sprintf("id%d", i)))
	}
	until(t, "8 run", func() bool { return len(lines(pids)) == 2*most })
	for i := range maxQueue + 3 {
		q.Add(request(fmt.Sprintf("more%d", i)))
	}
	if d := time.Since(began); d > soon {
		t.Errorf("Add took %s", d)
	}
	if n := strings.Count(said.all(), "wait already"); n != 3 {
		t.Errorf("%d were dropped, want 3: %s", n, said.all())
	}
	q.Close()
	if list := lines(pids); len(list) != 2*most {
		t.Errorf("%d processes, want %d", len(list), 2*most)
	}
	for _, pid := range lines(pids) {
		if alive(pid) {
			t.Errorf("process %s survived", pid)
		}
	}
}

func TestQueueSaysWhatFailed(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	for command, want := range map[string]string{
		"exit 3":         "request abcd failed: exit status 3",
		"kill -9 $$":     "request abcd failed: signal: killed",
		"no-such-thing":  "request abcd failed: exit status 127",
		"exec sleep 100": "request abcd failed: it took more than 300ms and was ended",
		fmt.Sprintf("sleep 100 & echo $! >%s; exit 4", pids): "request abcd failed: exit status 4",
	} {
		var said words
		q := newQueue(command, nil, said.add, 300*time.Millisecond)
		q.Add(request("abcd"))
		until(t, command+" is told", func() bool { return said.all() != "" })
		q.Close()
		if got := said.all(); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
	if pid := lines(pids); len(pid) != 1 || alive(pid[0]) {
		t.Errorf("what a command left behind lives: %v", pid)
	}
}
