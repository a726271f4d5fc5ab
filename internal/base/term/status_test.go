package term

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long what takes moments may take on a slow machine.
const patience = 30 * time.Second

// glass is a terminal of so many columns with a status line; shown is what was
// written to it so far.
func glass(t *testing.T, cells uint16, every time.Duration, line func(cells int) string) (s *IO, st *Status, shown func(has string) string) {
	t.Helper()
	master, slave := pty(t)
	if err := unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: cells}); err != nil {
		t.Fatal(err)
	}
	s = &IO{Out: To(slave), Err: To(slave), OutTTY: true, ErrTTY: true}
	s.Hide(hideSecret)
	if st = s.status(line, every); st == nil {
		t.Fatal("there is no status line")
	}
	t.Cleanup(st.Close)
	all := ""
	return s, st, func(has string) string {
		t.Helper()
		deadline := time.Now().Add(patience)
		for b := make([]byte, 4096); !strings.Contains(all, has); {
			if time.Now().After(deadline) {
				t.Fatalf("%q is not in %q", has, all)
			}
			fds := []unix.PollFd{{Fd: int32(master.Fd()), Events: unix.POLLIN}}
			if n, _ := unix.Poll(fds, 100); n == 1 {
				n, err := master.Read(b)
				if err != nil {
					t.Fatal(err)
				}
				all += string(b[:n])
			}
		}
		got := all
		all = ""
		return got
	}
}

// While a question stands there is no line over it; what is written meanwhile brings
// none back.
func TestStatusLeavesQuestionsAlone(t *testing.T) {
	for name, ask := range map[string]func(s *IO) (string, error){
		"hidden": func(s *IO) (string, error) { return s.Hidden(t.Context(), "Passphrase: ") },
		"shown":  func(s *IO) (string, error) { return s.Ask(t.Context(), "Passphrase:") },
	} {
		s, st, shown := glass(t, 40, time.Millisecond, func(int) string { return "working" })
		master, slave := pty(t) // of its own, to tell the two apart
		s.OpenTTY = func() (io.ReadWriteCloser, error) { return os.OpenFile(slave.Name(), os.O_RDWR, 0) }
		shown("working\r")
		answered := make(chan string, 1)
		go func() {
			line, err := ask(s)
			answered <- fmt.Sprint(line, err)
		}()
		reads(t, master, "Passphrase: ")
		fmt.Fprint(s.Out, "before\n")
		shown("before\r\n")
		for range 5 {
			st.redraw(true)
		}
		fmt.Fprint(s.Out, "a line\n")
		if got := shown("a line\r\n"); strings.Contains(got, "working") {
			t.Errorf("%s: %q", name, got)
		}
		if _, err := master.WriteString("yes\n"); err != nil {
			t.Fatal(err)
		}
		if got := <-answered; got != "yes<nil>" {
			t.Errorf("%s: the answer is %s", name, got)
		}
		shown("working\r")
		st.Close()
	}
}

// What is written comes to stand above the line, a line that is not ended has none
// below it, and when all is over nothing of it is left.
func TestStatusStaysBelow(t *testing.T) {
	line := "working"
	s, st, shown := glass(t, 20, time.Hour, func(int) string { return line })
	for _, step := range []struct {
		does func()
		want string
	}{
		{func() {}, "working\r"},
		{func() { fmt.Fprint(s.Out, "one\n") }, "\r\x1b[Jone\r\nworking\r"},
		{func() { fmt.Fprint(s.Err, "two \x1b[2J\n") }, "\r\x1b[Jtwo \\x1b[2J\r\nworking\r"},
		{func() { fmt.Fprint(s.Out, "thr") }, "\r\x1b[Jthr"},
		{func() { st.Redraw(); fmt.Fprint(s.Out, "ee") }, "ee"},
		{func() { fmt.Fprint(s.Out, "\n") }, "\r\nworking\r"},
		{func() { line = "世界世界世界世界世界\x1b"; st.Redraw() }, "\r\x1b[J世界世界世界世界世…\r"},
		{func() { line = "with hunter2"; fmt.Fprint(s.Out, "hunter2\n") }, "\r\x1b[J[secret]\r\nwith [secret]\r"},
		{func() { line = ""; st.Redraw() }, "\r\x1b[J"},
		{func() { line = "again"; st.Redraw() }, "again\r"},
		{st.Close, "\r\x1b[J"},
		{func() { fmt.Fprint(s.Out, "over\n"); st.Redraw(); st.Close() }, "over\r\n"},
	} {
		step.does()
		if got := shown(step.want); got != step.want {
			t.Errorf("it writes %q, want %q", got, step.want)
		}
	}
}

// It ticks while it stands, with colour where that is welcome, and not a byte after.
func TestStatusTicks(t *testing.T) {
	var n atomic.Int64
	_, st, shown := glass(t, 0, time.Millisecond, func(cells int) string {
		if cells != usual-1 {
			t.Errorf("%d columns", cells)
		}
		return fmt.Sprintf("%d", n.Add(1))
	})
	shown("1\r")
	shown("\r\x1b[J3\r")
	st.Close()
	select {
	case <-st.done:
	default:
		t.Error("somebody still draws it")
	}
}

func TestStatusNeedsATerminal(t *testing.T) {
	_, slave := pty(t)
	_, other := pty(t)
	file, err := os.Create(t.TempDir() + "/log")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer pipe.Close()
	for name, c := range map[string]struct {
		out, err       io.Writer
		outTTY, errTTY bool
		dumb, stands   bool
	}{
		"one terminal":  {slave, slave, true, true, false, true},
		"dumb":          {slave, slave, true, true, true, false},
		"two terminals": {other, slave, true, true, false, false},
		"to a file":     {file, slave, false, true, false, true},
		"to a pipe":     {pipe, slave, false, true, false, false},
		"errors only":   {slave, file, true, false, false, false},
		"buffers":       {io.Discard, io.Discard, true, true, false, false},
		"a buffer":      {io.Discard, slave, false, true, false, false},
	} {
		s := &IO{Out: To(c.out), Err: To(c.err), OutTTY: c.outTTY, ErrTTY: c.errTTY, Dumb: c.dumb}
		st := s.Status(func(int) string { return "x" })
		if (st != nil) != c.stands {
			t.Errorf("%s: a status line: %v", name, st != nil)
		}
		st.Redraw()
		st.Close()
		if s.Out.w != c.out || s.Err.w != c.err {
			t.Errorf("%s: the streams are not as they were", name)
		}
	}
}
