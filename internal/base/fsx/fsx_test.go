package fsx

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx/fsxtest"
)

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	defer syscall.Umask(syscall.Umask(0o777))
	for _, content := range []string{"one", "", "three"} {
		if err := WriteFile(path, []byte(content), 0); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(path); string(got) != content {
			t.Errorf("got %q", got)
		}
	}
	if fi, _ := os.Stat(path); fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %o", fi.Mode().Perm())
	}
	if err := WriteFile(path, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if fi, _ := os.Stat(path); fi.Mode().Perm() != 0o755 {
		t.Errorf("mode %o", fi.Mode().Perm())
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("files are left: %v", left)
	}
	err := WriteFile(filepath.Join(dir, "no/such"), nil, 0)
	if !errors.Is(err, fs.ErrNotExist) || fail.As(err).Code != "write" || fail.As(err).Hint == "" {
		t.Errorf("got %v", err)
	}
}

func TestCreateExclHasOneWinner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	var wg sync.WaitGroup
	var mu sync.Mutex
	var winners []string
	for i := range 8 {
		wg.Go(func() {
			me := strconv.Itoa(i)
			err := CreateExcl(path, []byte(me), 0)
			switch {
			case err == nil:
				mu.Lock()
				winners = append(winners, me)
				mu.Unlock()
			case !errors.Is(err, fs.ErrExist) || fail.Exit(err) != fail.ExitConflict:
				t.Errorf("%v", err)
			}
			if got, err := os.ReadFile(path); err != nil || len(got) != 1 {
				t.Errorf("a loser sees %q, %v", got, err)
			}
		})
	}
	wg.Wait()
	got, _ := os.ReadFile(path)
	if len(winners) != 1 || string(got) != winners[0] {
		t.Errorf("winners %v, content %q", winners, got)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("files are left: %v", left)
	}
}

func TestReadRegular(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "f")
	os.WriteFile(file, []byte("12345"), 0o640)
	if data, fi, err := ReadRegular(file, 5); err != nil || string(data) != "12345" || fi.Mode().Perm() != 0o640 || Owner(fi) != os.Getuid() {
		t.Errorf("got %q, %v, %v", data, fi, err)
	}
	for path, code := range map[string]string{file: "too_large", pipe: "not_regular", dir: "not_regular"} {
		if _, _, err := ReadRegular(path, 4); fail.As(err).Code != code {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, _, err := ReadRegular(filepath.Join(dir, "none"), 4); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

func TestLogHealsATornTail(t *testing.T) {
	long := strings.Repeat("x", 3*tailChunk)
	for _, tc := range []struct{ name, before, after, torn, last string }{
		{"whole", "a\nb\n", "a\nb\n", "", "b"},
		{"empty", "", "", "", ""},
		{"torn", "a\nb\n{\"c", "a\nb\n", "{\"c\n", "b"},
		{"only torn", "{\"c", "", "{\"c\n", ""},
		{"long torn", "a\n" + long, "a\n", long + "\n", "a"},
		{"long line before", long + "\nb", long + "\n", "b\n", long},
		{"zeros after a power cut", "a\n\x00\x00\x00", "a\n", "\x00\x00\x00\n", "a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "events.jsonl")
			os.WriteFile(path, []byte(tc.before), 0o600)
			l, err := OpenLog(path)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if last, _, err := l.Before(l.Size()); err != nil || string(last) != tc.last {
				t.Errorf("last line %.20q, %v", last, err)
			}
			if err := l.Append([]byte("next")); err != nil {
				t.Fatal(err)
			}
			got, _ := os.ReadFile(path)
			torn, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "events.torn"))
			if string(got) != tc.after+"next\n" || string(torn) != tc.torn {
				t.Errorf("log %.40q, torn %.40q", got, torn)
			}
			if l.Size() != int64(len(got)) {
				t.Errorf("size %d, is %d", l.Size(), len(got))
			}
		})
	}
}

func TestLogBefore(t *testing.T) {
	l, err := OpenLog(filepath.Join(t.TempDir(), "l.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	want := []string{"first", "", strings.Repeat("y", tailChunk+7), "last"}
	for _, w := range want {
		if err := l.Append([]byte(w)); err != nil {
			t.Fatal(err)
		}
	}
	end := l.Size()
	for i := len(want) - 1; i >= 0; i-- {
		line, start, err := l.Before(end)
		if err != nil || string(line) != want[i] {
			t.Fatalf("line %d: %.20q, %v", i, line, err)
		}
		end = start
	}
	if end != 0 {
		t.Errorf("the first line starts at %d", end)
	}
}

func TestLogRefusesWhatIsNotALine(t *testing.T) {
	l, err := OpenLog(filepath.Join(t.TempDir(), "l.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if l.Append([]byte("a\nb")) == nil || l.Append(make([]byte, MaxLine)) == nil || l.Size() != 0 {
		t.Errorf("size %d", l.Size())
	}
}

func TestReadLines(t *testing.T) {
	big := strings.Repeat("z", 2*tailChunk)
	var got []string
	for line, err := range ReadLines(strings.NewReader("a\n\n" + big + "\nend")) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%d %d %d %v", line.N, len(line.Data), line.End, line.Torn))
	}
	want := fmt.Sprintf("[1 1 2 false 2 0 3 false 3 %d %d false 4 3 %d true]", len(big), len(big)+4, len(big)+7)
	if fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
	for line, err := range ReadLines(strings.NewReader("")) {
		t.Errorf("an empty log has %v, %v", line, err)
	}
	for range Lines(filepath.Join(t.TempDir(), "none")) {
		t.Error("a missing log has lines")
	}
}

// zeros is an endless line.
type zeros struct{ left int64 }

func (z *zeros) Read(p []byte) (int, error) {
	n := min(int64(len(p)), z.left)
	if z.left -= n; z.left == 0 {
		return copy(p, append(bytes.Repeat([]byte{'0'}, int(n)-7), "\nafter\n"...)), nil
	}
	return copy(p, bytes.Repeat([]byte{'0'}, int(n))), nil
}

func TestReadLinesCapsALine(t *testing.T) {
	var got []string
	z := &zeros{left: MaxLine + 100}
	for line, err := range ReadLines(z) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%d %v %s", line.N, line.TooLong, line.Data))
		if line.N == 2 {
			break
		}
	}
	if fmt.Sprint(got) != "[1 true  2 false after]" {
		t.Errorf("got %.100v", got)
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, err := TryLock(path); ok || err != nil {
		t.Errorf("a held lock is given again: %v", err)
	}
	if !Locked(path) || Locked(path+"none") {
		t.Error("Locked is wrong")
	}
	got := make(chan error)
	go func() {
		second, err := Lock(path)
		if err == nil {
			defer second()
		}
		got <- err
	}()
	unlock()
	if err := <-got; err != nil {
		t.Errorf("the second waiter: %v", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the lock file is gone: %v", err)
	}
	again, ok, err := TryLock(path)
	if !ok || err != nil {
		t.Fatalf("a free lock is not given: %v", err)
	}
	again()
	if Locked(path) {
		t.Error("a free lock is said to be held")
	}
	// Readers that look do not make each other or a taker see a held lock.
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 300 {
				if Locked(path) {
					t.Error("another reader is taken for a holder")
					return
				}
			}
		})
	}
	wg.Wait()
	stop := make(chan struct{})
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					Locked(path)
				}
			}
		})
	}
	for range 50 {
		unlock, ok, err := TryLock(path)
		if !ok || err != nil {
			t.Errorf("readers keep the lock: %v", err)
			break
		}
		unlock()
	}
	close(stop)
	wg.Wait()
}

// A child appends numbered lines of very different lengths and says each one
// that is written; it is killed at some moment; the next one goes on.
func TestKillWhileAppending(t *testing.T) {
	if path, ok := fsxtest.Child(); ok {
		l, err := OpenLog(path)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		if last, _, err := l.Before(l.Size()); err == nil && len(last) > 0 {
			n, _ = strconv.Atoi(strings.Trim(string(last), "."))
		}
		for {
			n++
			if err := l.Append([]byte(strconv.Itoa(n) + strings.Repeat(".", n%7*20_000))); err != nil {
				t.Fatal(err)
			}
			fsxtest.Say(strconv.Itoa(n))
		}
	}
	path := filepath.Join(t.TempDir(), "l.jsonl")
	acknowledged := 0
	for round := range 25 {
		said := fsxtest.KillAfter(t, path, 1+round*3%11)
		acknowledged, _ = strconv.Atoi(said[len(said)-1])
	}
	want := 0
	for line, err := range Lines(path) {
		if err != nil {
			t.Fatal(err)
		}
		if line.Torn {
			continue
		}
		want++
		if got, _ := strconv.Atoi(strings.Trim(string(line.Data), ".")); got != want || len(line.Data) != len(strconv.Itoa(want))+want%7*20_000 {
			t.Fatalf("line %d is %.20q, %d bytes", line.N, line.Data, len(line.Data))
		}
	}
	if want < acknowledged {
		t.Errorf("%d lines are there, %d were acknowledged", want, acknowledged)
	}
}

func FuzzReadLines(f *testing.F) {
	f.Add([]byte("a\nb\n"))
	f.Add([]byte("\x00\n\n\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var all []byte
		n := 0
		for line, err := range ReadLines(bytes.NewReader(data)) {
			n++
			if err != nil || line.N != n {
				t.Fatalf("line %d is %d, %v", n, line.N, err)
			}
			all = append(all, line.Data...)
			if !line.Torn {
				all = append(all, '\n')
			}
			if int(line.End) != len(all) {
				t.Fatalf("line %d ends at %d, not %d", n, line.End, len(all))
			}
		}
		if !bytes.Equal(all, data) {
			t.Fatalf("%q was read as %q", data, all)
		}
	})
}

func TestWhere(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.Mkdir(path("d"), 0o700), os.WriteFile(path("d/a (deleted)"), nil, 0o600), os.WriteFile(path("d/b\n"), nil, 0o600),
		os.Symlink("d", path("folder")), os.Symlink("folder/b\n", path("link")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"link": "d/b\n", "folder/b\n": "d/b\n", "d/a (deleted)": "d/a (deleted)"} {
		f, err := os.Open(path(name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if got, err := Where(f); err != nil || got != path(want) {
			t.Errorf("%q is at %q, %v; want %q", name, got, err, path(want))
		}
		if err := os.Remove(path(want)); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if got, err := Where(f); err == nil {
			t.Errorf("%q was deleted, and is at %q", name, got)
		}
		if err := os.WriteFile(path(want), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
