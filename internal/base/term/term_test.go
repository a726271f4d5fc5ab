package term

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

func TestSanitize(t *testing.T) {
	for in, want := range map[string][2]string{
		"plain\ttext\n":               {"plain\ttext\n", `plain\ttext\n`},
		"\x1b]0;title\a":              {`\x1b]0;title\x07`, `\x1b]0;title\x07`},
		"a\rb\b\x7f\x00":              {`a\rb\x08\x7f\x00`, `a\rb\x08\x7f\x00`},
		"\u009b31m":                   {`\u009b31m`, `\u009b31m`},
		"\x9b31m":                     {`\x9b31m`, `\x9b31m`},
		"abc\u202etxt.exe":            {`abc\u202etxt.exe`, `abc\u202etxt.exe`},
		"z\u200bw\u2066x\ufeff\u00ad": {`z\u200bw\u2066x\ufeff\u00ad`, `z\u200bw\u2066x\ufeff\u00ad`},
		"\u2028\u2029\u3164\u115f":    {`\u2028\u2029\u3164\u115f`, `\u2028\u2029\u3164\u115f`},
		"tag\U000e0041\U000e0100":     {`tag\U000e0041\U000e0100`, `tag\U000e0041\U000e0100`},
		"Grüße 世界 émoji 🎉 … · ─":      {"Grüße 世界 émoji 🎉 … · ─", "Grüße 世界 émoji 🎉 … · ─"},
		"":                            {"", ""},
	} {
		if got := Sanitize(in); got != want[0] {
			t.Errorf("Sanitize(%q) = %q, want %q", in, got, want[0])
		}
		if got := Line(in); got != want[1] {
			t.Errorf("Line(%q) = %q, want %q", in, got, want[1])
		}
	}
}

func FuzzSanitize(f *testing.F) {
	f.Add("\x1b[31m\u202e\xff\u0085\n\t")
	f.Fuzz(func(t *testing.T, s string) {
		for got, keep := range map[string]string{Sanitize(s): "\n\t", Line(s): ""} {
			if !utf8.ValidString(got) {
				t.Fatalf("%q became %q, which is no UTF-8", s, got)
			}
			for _, r := range got {
				if (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) && !strings.ContainsRune(keep, r) {
					t.Fatalf("%q became %q, with %U in it", s, got, r)
				}
			}
		}
	})
}

func TestJSONStaysTheSameDocument(t *testing.T) {
	in := []byte("{\"a\": \"x\u202ey\u009b\U000e0041\x7fä\",\n\t\"b\": 1}")
	got := JSON(in)
	want := "{\"a\": \"x\\u202ey\\u009b\\udb40\\udc41\\u007fä\",\n\t\"b\": 1}"
	if string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var a, b map[string]any
	if json.Unmarshal(in, &a) != nil || json.Unmarshal(got, &b) != nil || a["a"] != b["a"] {
		t.Errorf("%v became %v", a, b)
	}
}

func TestColor(t *testing.T) {
	for _, c := range []struct {
		noColor, term  string
		outTTY, errTTY bool
		out, err       bool
	}{
		{"", "xterm", true, true, true, true},
		{"", "xterm", false, true, false, true},
		{"", "xterm", true, false, true, false},
		{"1", "xterm", true, true, false, false},
		{"", "dumb", true, true, false, false},
		{"", "", true, true, false, false},
	} {
		s := &IO{OutTTY: c.outTTY, ErrTTY: c.errTTY}
		s.color(c.noColor, c.term)
		if s.OutColor != c.out || s.ErrColor != c.err {
			t.Errorf("%+v: out %v, err %v", c, s.OutColor, s.ErrColor)
		}
	}
}

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

// TestConfirmForgetsTypeAhead types an answer before the question: it must not
// count.
func TestConfirmForgetsTypeAhead(t *testing.T) {
	master, slave := pty(t)
	if _, err := master.WriteString("y\n"); err != nil {
		t.Fatal(err)
	}
	waitForInput(t, slave)
	s, _, _, _ := Test()
	s.OpenTTY = func() (io.ReadWriteCloser, error) { return slave, nil }
	type result struct {
		ok  bool
		err error
	}
	done := make(chan result, 1)
	go func() {
		ok, err := s.Confirm(context.Background(), "Sure?")
		done <- result{ok, err}
	}()
	shown := ""
	for b := make([]byte, 256); !strings.Contains(shown, "[y/N]"); {
		n, err := master.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		shown += string(b[:n])
	}
	if _, err := master.WriteString("n\n"); err != nil {
		t.Fatal(err)
	}
	if r := <-done; r.ok || r.err != nil {
		t.Errorf("the answer typed ahead counted: %+v", r)
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
