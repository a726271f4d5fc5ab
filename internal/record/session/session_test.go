package session

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/wire"
)

func openNew(t *testing.T) *Store {
	t.Helper()
	return openIn(t, filepath.Join(t.TempDir(), "kx"))
}

func openIn(t testing.TB, dir string) *Store {
	t.Helper()
	st, err := state.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return New(st, time.Now)
}

func create(t *testing.T, s *Store, id, state string) Meta {
	t.Helper()
	m, err := s.Create(Meta{Session: wire.Session{ID: id, Workspace: "/w", State: state}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestCreate(t *testing.T) {
	s := newStoreWithoutFolder(t)
	m, err := s.Create(Meta{Session: wire.Session{Workspace: "/w", Mode: "plan", State: Running}, Agent: json.RawMessage(`{"script":["a"]}`)})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.ID) != 4 || strings.ContainsAny(m.ID, "0o1li") || CheckID(m.ID) != nil {
		t.Errorf("id %q", m.ID)
	}
	data, _ := os.ReadFile(filepath.Join(s.dir(m.ID), metaFile))
	if !strings.HasPrefix(string(data), `{"type":"session","v":1,"id":"`+m.ID+`","workspace":"/w","mode":"plan"`) ||
		!strings.HasSuffix(string(data), `"pending":[],"agent":{"script":["a"]}}`+"\n") {
		t.Errorf("meta %s", data)
	}
	if _, err := s.Create(Meta{Session: wire.Session{ID: m.ID}}); fail.Exit(err) != fail.ExitConflict {
		t.Errorf("a taken id: %v", err)
	}
	for _, bad := range []string{"..", "a/b", "A", "-a", "a_b", strings.Repeat("a", 65), "a\n", "é"} {
		if _, err := s.Create(Meta{Session: wire.Session{ID: bad}}); fail.Exit(err) != fail.ExitUsage {
			t.Errorf("id %q: %v", bad, err)
		}
		if _, err := s.Meta(bad); fail.Exit(err) != fail.ExitUsage {
			t.Errorf("meta of %q: %v", bad, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(s.st.Dir(), folder, ".new*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if fi, _ := os.Stat(s.dir(m.ID)); fi.Mode().Perm() != 0o700 {
		t.Errorf("mode %o", fi.Mode().Perm())
	}
}

func newStoreWithoutFolder(t *testing.T) *Store {
	t.Helper()
	s := openNew(t)
	if all, bad := s.List(); len(all)+len(bad) != 0 {
		t.Errorf("sessions before the first: %v %v", all, bad)
	}
	return s
}

func TestNewIDsUseEveryLetter(t *testing.T) {
	seen := map[rune]bool{}
	for range 2000 {
		for _, c := range NewID(5) {
			seen[c] = true
		}
	}
	if len(seen) != len(idLetters) {
		t.Errorf("%d letters of %d", len(seen), len(idLetters))
	}
}

func TestWorkspaceSession(t *testing.T) {
	s := openNew(t)
	id, err := s.EnsureWorkspace("/home/you/src")
	if err != nil || id != WorkspaceID("/home/you/src") || len(id) != 16 || !strings.HasPrefix(id, "cli-") {
		t.Fatalf("%q, %v", id, err)
	}
	if again, err := s.EnsureWorkspace("/home/you/src"); err != nil || again != id {
		t.Errorf("%q, %v", again, err)
	}
	for i := range 3 {
		e, err := s.AppendShared(id, "tool_call", map[string]int{"n": i}, i == 2)
		if err != nil || e.Seq != int64(i+1) {
			t.Errorf("event %d: %+v, %v", i, e, err)
		}
	}
	if s.Running(id) || s.PID(id) != 0 {
		t.Error("nobody runs it")
	}
}

func TestOneWriter(t *testing.T) {
	s := openNew(t)
	m := create(t, s, "a3fk", Running)
	w, err := s.OpenWriter(m.ID)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.OpenWriter(m.ID)
	if e := fail.As(err); e == nil || e.Exit != fail.ExitConflict || e.Msg != fmt.Sprintf("session a3fk is running (pid %d)", os.Getpid()) {
		t.Errorf("a second writer: %v", err)
	}
	if !s.Running(m.ID) || s.PID(m.ID) != os.Getpid() {
		t.Errorf("running %v, pid %d", s.Running(m.ID), s.PID(m.ID))
	}
	if got, _ := s.Meta(m.ID); got.State != Running {
		t.Errorf("state %s", got.State)
	}
	w.Close()
	if s.Running(m.ID) || s.PID(m.ID) != 0 {
		t.Error("still running after Close")
	}
	if _, err := s.OpenWriter("none"); fail.Exit(err) != fail.ExitNotFound {
		t.Errorf("no session: %v", err)
	}
}

func TestStateOfAKilledRun(t *testing.T) {
	s := openNew(t)
	create(t, s, "dead", Running)
	waiting := create(t, s, "waiting", Running)
	waiting.Pending = []string{"7k2q"}
	if err := s.Save(waiting); err != nil {
		t.Fatal(err)
	}
	create(t, s, "done", Completed)
	for id, want := range map[string]string{"dead": Failed, "waiting": Parked, "done": Completed} {
		if m, err := s.Meta(id); err != nil || m.State != want {
			t.Errorf("%s: %s, %v, want %s", id, m.State, err, want)
		}
	}
}

func TestList(t *testing.T) {
	s := openNew(t)
	for i, id := range []string{"old", "mid", "new"} {
		s.now = func() time.Time { return time.Date(2026, 3, 1+i, 0, 0, 0, 0, time.UTC) }
		create(t, s, id, Completed)
	}
	create(t, s, "bad", Completed)
	os.WriteFile(filepath.Join(s.dir("bad"), metaFile), []byte("{"), 0o600)
	create(t, s, "liar", Completed)
	os.WriteFile(filepath.Join(s.dir("liar"), metaFile), []byte(`{"id":"old"}`), 0o600)
	os.Mkdir(s.dir(".new-123"), 0o700)
	os.Mkdir(s.dir("half"), 0o700)
	os.WriteFile(s.dir("file"), nil, 0o600)
	all, bad := s.List()
	var ids []string
	for _, m := range all {
		ids = append(ids, m.ID)
	}
	if fmt.Sprint(ids) != "[new mid old]" || len(bad) != 3 {
		t.Errorf("list %v, bad %v", ids, bad)
	}
	// An event makes it the last touched one.
	w, _ := s.OpenWriter("old")
	w.Append("text", "x")
	w.Close()
	if all, _ := s.List(); all[0].ID != "old" {
		t.Errorf("first is %s", all[0].ID)
	}
}
