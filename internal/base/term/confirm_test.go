package term

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	xterm "golang.org/x/term"
)

// console is a terminal made of buffers.
type console struct {
	io.Reader
	shown  bytes.Buffer
	closed bool
}

func (c *console) Write(b []byte) (int, error) { return c.shown.Write(b) }
func (c *console) Close() error                { c.closed = true; return nil }

func TestConfirm(t *testing.T) {
	for typed, want := range map[string]bool{
		"y\n": true, "yes\r\n": true, "Y\n": true, "n\n": false, "\n": false, "": false, "y": false, "yy\n": false, "maybe\ny\n": false,
	} {
		c := &console{Reader: strings.NewReader(typed)}
		s, _, out, _ := Test()
		s.OpenTTY = func() (io.ReadWriteCloser, error) { return c, nil }
		got, err := s.Confirm(t.Context(), "Write \x1b[2Jit?")
		if got != want || err != nil || !c.closed {
			t.Errorf("%q: %v, %v, closed %v", typed, got, err, c.closed)
		}
		if c.shown.String() != `Write \x1b[2Jit? [y/N] ` || out.Len() > 0 {
			t.Errorf("the question was %q, on the output %q", &c.shown, out)
		}
	}
}

func TestAsk(t *testing.T) {
	for typed, want := range map[string]struct {
		line string
		err  error
	}{
		"a line\nanother\n": {"a line", nil}, "\r\n": {"", nil}, " x \n": {" x ", nil}, "": {"", io.EOF}, "cut off": {"", io.EOF},
	} {
		c := &console{Reader: strings.NewReader(typed)}
		s, _, out, _ := Test()
		s.OpenTTY = func() (io.ReadWriteCloser, error) { return c, nil }
		if got, err := s.Ask(t.Context(), "What \x1b[2J?"); got != want.line || err != want.err || !c.closed {
			t.Errorf("%q: %q, %v, closed %v", typed, got, err, c.closed)
		}
		if c.shown.String() != `What \x1b[2J? ` || out.Len() > 0 {
			t.Errorf("the question was %q, on the output %q", &c.shown, out)
		}
	}
	s, _, _, _ := Test()
	if _, err := s.Ask(t.Context(), "?"); !errors.Is(err, ErrNoTerminal) || !errors.Is(s.Bell(), ErrNoTerminal) {
		t.Errorf("without a terminal: %v", err)
	}
	c := &console{}
	s.OpenTTY = func() (io.ReadWriteCloser, error) { return c, nil }
	if err := s.Bell(); err != nil || c.shown.String() != "\a" || !c.closed {
		t.Errorf("%q, %v", &c.shown, err)
	}
}

// A question that is no longer asked takes nothing from the next one: neither what
// was typed for it nor the line that comes then.
func TestAskAgain(t *testing.T) {
	master, slave := pty(t)
	name := slave.Name()
	s, _, _, _ := Test()
	s.OpenTTY = func() (io.ReadWriteCloser, error) { return os.OpenFile(name, os.O_RDWR|unix.O_NOCTTY, 0) }
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := s.Ask(ctx, "First?"); done <- err }()
	reads(t, master, "First? ")
	if _, err := master.WriteString("half a l"); err != nil {
		t.Fatal(err)
	}
	reads(t, master, "half a l")
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	lines := make(chan string, 1)
	go func() { line, _ := s.Ask(t.Context(), "Second?"); lines <- line }()
	reads(t, master, "Second? ")
	if _, err := master.WriteString("all of it\n"); err != nil {
		t.Fatal(err)
	}
	select {
	case line := <-lines:
		if line != "all of it" {
			t.Errorf("%q", line)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the line went to a question that nobody asks any more")
	}
}

func TestConfirmFails(t *testing.T) {
	s, _, _, _ := Test()
	if ok, err := s.Confirm(t.Context(), "?"); ok || !errors.Is(err, ErrNoTerminal) {
		t.Errorf("without a terminal: %v, %v", ok, err)
	}
	c := &console{Reader: strings.NewReader(strings.Repeat("y", maxAnswer+1))}
	s.OpenTTY = func() (io.ReadWriteCloser, error) { return c, nil }
	if ok, err := s.Confirm(t.Context(), "?"); ok || err == nil || errors.Is(err, ErrNoTerminal) {
		t.Errorf("a flood: %v, %v", ok, err)
	}
	never, feed := io.Pipe()
	defer feed.Close()
	c = &console{Reader: never}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if ok, err := s.Confirm(ctx, "?"); ok || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("nobody answers: %v, %v", ok, err)
	}
}

// pty opens a pseudo-terminal.
func pty(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	slave = openSlave(t, master)
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

// answer is what Confirm returns.
type answer struct {
	ok  bool
	err error
}

// question asks on the slave, waits for the invitation on the master and returns
// the answer to come.
func question(t *testing.T, master, slave *os.File) (done chan answer) {
	t.Helper()
	s, _, _, _ := Test()
	s.OpenTTY = func() (io.ReadWriteCloser, error) { return slave, nil }
	done = make(chan answer, 1)
	go func() {
		ok, err := s.Confirm(context.Background(), "Sure?")
		done <- answer{ok, err}
	}()
	reads(t, master, "Sure? [y/N] ")
	return done
}

// reads reads from the master until it has shown some text.
func reads(t *testing.T, master *os.File, until string) {
	t.Helper()
	shown := ""
	for b := make([]byte, 256); !strings.Contains(shown, until); {
		n, err := master.Read(b)
		if err != nil {
			t.Fatalf("%q, %v", shown, err)
		}
		shown += string(b[:n])
	}
}

// What is typed before the question is on the screen does not answer it; what is
// typed then does.
func TestConfirmForgetsTypeAhead(t *testing.T) {
	for _, c := range []struct {
		before, after string
		want          bool
	}{
		{"", "y\n", true},
		{"", "n\n", false},
		{"y\n", "n\n", false},
		{"y\n", "y\n", true},
		{"y\ny\nyes\n", "\n", false},
		{"y", "\n", false},
		{"n", "y\n", true},
		{"y\n", "\x04", false}, // ^D
		{"y", "\x04", false},
		{"", "y\x04\x04", false}, // ends in the middle of a line
	} {
		for _, raw := range []bool{false, true} {
			if raw && strings.Contains(c.after, "\x04") {
				continue // a letter like any other
			}
			master, slave := pty(t)
			if raw {
				if _, err := xterm.MakeRaw(int(slave.Fd())); err != nil {
					t.Fatal(err)
				}
			}
			typed := func(s string) {
				t.Helper()
				if raw {
					s = strings.ReplaceAll(s, "\n", "\r")
				}
				if _, err := master.WriteString(s); err != nil {
					t.Fatal(err)
				}
			}
			typed(c.before)
			if raw && c.before != "" {
				waitForInput(t, slave)
			} else { // it is there when it is echoed
				reads(t, master, strings.ReplaceAll(c.before, "\n", "\r\n"))
			}
			done := question(t, master, slave)
			typed(c.after)
			if got := <-done; got.ok != c.want || got.err != nil {
				t.Errorf("%q before the question, %q after it, raw %v: %+v, want %v", c.before, c.after, raw, got, c.want)
			}
		}
	}
}

func TestConfirmWithoutAPersonAnyMore(t *testing.T) {
	master, slave := pty(t)
	if _, err := master.WriteString("y\n"); err != nil {
		t.Fatal(err)
	}
	waitForInput(t, slave)
	done := question(t, master, slave)
	master.Close()
	if got := <-done; got.ok || got.err != nil && !errors.Is(got.err, ErrNoTerminal) {
		t.Errorf("a terminal that has gone: %+v", got)
	}
}

// waitForInput returns once the slave has something to read.
func waitForInput(t *testing.T, slave *os.File) {
	t.Helper()
	fds := []unix.PollFd{{Fd: int32(slave.Fd()), Events: unix.POLLIN}}
	if n, err := unix.Poll(fds, 10_000); n != 1 || err != nil {
		t.Fatalf("nothing to read: %d, %v", n, err)
	}
}
