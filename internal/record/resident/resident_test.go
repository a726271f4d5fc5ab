package resident

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/record/state"
)

func open(t *testing.T) *state.State {
	t.Helper()
	st, err := state.Open(filepath.Join(t.TempDir(), "state [x]*")) // no pattern
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// Who lives holds a lock; what a lock says that nobody holds is no news.
func TestList(t *testing.T) {
	st := open(t)
	if list := List(st.Dir()); len(list) > 0 {
		t.Errorf("%v without a folder", list)
	}
	for name, says := range map[string]string{
		Approve: "12 /run/kx/approve.sock\n", "lsp-b": "13 /run/k x/lsp\n", "lsp-a": "14 /run/a\n",
		"dead": "15 /run/dead\n", "starts": "", "garbage": "x y\n", "init": "1 /run/init\n", "long": "16 " + strings.Repeat("/", maxLock) + "\n",
	} {
		if err := Prepare(st, name); err != nil {
			t.Fatal(err)
		}
		lock := Lock(st.Dir(), name)
		if err := os.WriteFile(lock, []byte(says), 0o600); err != nil {
			t.Fatal(err)
		}
		if name == "dead" {
			continue
		}
		unlock, ok, err := fsx.TryLock(lock)
		if err != nil || !ok {
			t.Fatalf("%s: %v, %v", name, ok, err)
		}
		defer unlock()
	}
	os.WriteFile(filepath.Join(st.Dir(), "hosts/lsp-a.log"), nil, 0o600)
	want := []Entry{
		{Approve, filepath.Join(st.Dir(), "approvals/host.lock"), 12, "/run/kx/approve.sock"},
		{"lsp-a", filepath.Join(st.Dir(), "hosts/lsp-a.lock"), 14, "/run/a"},
		{"lsp-b", filepath.Join(st.Dir(), "hosts/lsp-b.lock"), 13, "/run/k x/lsp"},
	}
	got := List(st.Dir())
	if len(got) != len(want) {
		t.Fatalf("got %+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %+v, want %+v", got[i], want[i])
		}
	}
	if pid, socket, held := Read(Lock(st.Dir(), "starts")); pid != 0 || socket != "" || !held {
		t.Errorf("one that starts: %d %q %v", pid, socket, held)
	}
	if _, _, held := Read(Lock(st.Dir(), "dead")); held {
		t.Error("a dead one lives")
	}
	if fi, err := os.Stat(filepath.Join(st.Dir(), "hosts")); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", fi.Mode(), err)
	}
	if fi, err := os.Stat(filepath.Join(st.Dir(), "host.key")); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("no key for clients: %v", err)
	}
	if err := Hold(Lock(st.Dir(), "starts"), 4711, "/run/s"); err != nil {
		t.Fatal(err)
	}
	if pid, socket, _ := Read(Lock(st.Dir(), "starts")); pid != 4711 || socket != "/run/s" {
		t.Errorf("it has become %d %q", pid, socket)
	}
}

// A log has its newest records, whole, and a bound.
func TestLogHasABound(t *testing.T) {
	st := open(t)
	l, err := OpenLog(st, "lsp-a", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	write := func(record string) {
		t.Helper()
		if n, err := l.Write([]byte(record)); n != len(record) || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
	}
	const records = 5000
	pad := strings.Repeat("x", 1000)
	for i := range records {
		write(pad + " " + strings.Repeat("y", i%7) + "\n")
	}
	write(strings.Repeat("z", maxRecord+1) + "\n")
	write("the last\n")
	path := filepath.Join(st.Dir(), "hosts/lsp-a.log")
	total := 0
	for _, name := range []string{path, path + ".1"} {
		b, err := os.ReadFile(name)
		if err != nil || len(b) > maxLog {
			t.Errorf("%s has %d bytes, %v", name, len(b), err)
		}
		if fi, err := os.Stat(name); err == nil && fi.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", name, fi.Mode())
		}
		for _, line := range strings.SplitAfter(string(b), "\n") {
			if line != "" && !strings.HasSuffix(line, "\n") || strings.Contains(line, "z") {
				t.Errorf("%s has a part of a record: %.80q", name, line)
			}
		}
		total += len(b)
		if name == path && !strings.HasSuffix(string(b), "a record of 65538 bytes is left out\"}\nthe last\n") {
			t.Errorf("it ends in %q", b[max(0, len(b)-100):])
		}
	}
	if total < maxLog {
		t.Errorf("only %d bytes are kept", total)
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 2 {
		t.Errorf("there are %v", files)
	}

	// It goes on where it was, and where the old one can't be kept.
	l.Close()
	if l, err = OpenLog(st, "lsp-a", time.Now()); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	write("again\n")
	if b, _ := os.ReadFile(path); !strings.HasSuffix(string(b), "the last\nagain\n") {
		t.Errorf("it ends in %q", b[max(0, len(b)-100):])
	}
	os.Remove(path + ".1")
	if err := os.MkdirAll(path+".1/x", 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 * maxLog / len(pad) {
		write(pad + "\n")
	}
	if fi, err := os.Stat(path); err != nil || fi.Size() > maxLog || fi.Size() == 0 {
		t.Errorf("it has %v, %v", fi.Size(), err)
	}
}

// Logs of residents that are long gone go, and nothing else.
func TestOldLogsGo(t *testing.T) {
	st := open(t)
	if err := Prepare(st, "x"); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(st.Dir(), "hosts")
	now := time.Now()
	for name, age := range map[string]time.Duration{
		"gone.log": 31 * 24 * time.Hour, "gone.log.1": 40 * 24 * time.Hour, "gone.lock": 31 * 24 * time.Hour,
		"new.log": 29 * 24 * time.Hour, "lives.log": 31 * 24 * time.Hour, "lives.lock": 31 * 24 * time.Hour,
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		os.Chtimes(path, now.Add(-age), now.Add(-age))
	}
	unlock, _, err := fsx.TryLock(filepath.Join(dir, "lives.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	l, err := OpenLog(st, "mine", now)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	var left []string
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		left = append(left, f.Name())
	}
	if got, want := strings.Join(left, " "), "gone.lock lives.lock lives.log mine.log new.log"; got != want {
		t.Errorf("left are %s, want %s", got, want)
	}
}

func TestLogCannotBeOpened(t *testing.T) {
	st := open(t)
	if err := os.MkdirAll(filepath.Join(st.Dir(), "hosts/x.log"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenLog(st, "x", time.Now()); err == nil || !strings.HasPrefix(fail.As(err).Hint, "ls -ld ") {
		t.Errorf("it is %+v", fail.As(err))
	}
}
