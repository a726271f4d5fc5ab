package term

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestPager(t *testing.T) {
	for _, c := range []struct {
		value string
		set   bool
		want  string
	}{{"", false, "less"}, {"", true, ""}, {" cat ", true, ""}, {"more -s", true, "more -s"}, {"cat -n", true, "cat -n"}} {
		if got := pager(c.value, c.set); got != c.want {
			t.Errorf("%q, %v: %q, want %q", c.value, c.set, got, c.want)
		}
	}
	for line, want := range map[string]bool{"": false, "cat": true, "A=b cat -n": true, "no-such-pager -x": false, "A=b": false} {
		if got := installed(line); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

// A shell is started for what only a shell understands.
func TestPagerCommand(t *testing.T) {
	for line, want := range map[string]string{
		"less": "less", "A=b B=c sh -x": "sh -x [A=b B=c]", "cat -n | cat": "sh -c cat -n | cat", `less -P "a b"`: `sh -c less -P "a b"`, "A=$B cat": "sh -c A=$B cat",
	} {
		cmd, err := command(line)
		if err != nil {
			t.Fatal(err)
		}
		got := filepath.Base(cmd.Path) + " " + strings.Join(cmd.Args[1:], " ")
		if n := slices.Index(cmd.Env, "A=b"); n >= 0 {
			got += fmt.Sprint(" ", cmd.Env[n:])
		}
		if got = strings.TrimSpace(got); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
	if _, err := command("no-such-pager"); err == nil {
		t.Error("a pager that is not there is started")
	}
}

func TestRows(t *testing.T) {
	for _, c := range []struct {
		text              string
		width, most, want int
	}{
		{"", 10, 9, 0}, {"a\n", 10, 9, 1}, {"a\nb", 10, 9, 2}, {"\n\n", 10, 9, 2}, {"0123456789\n", 10, 9, 1}, {"0123456789x\n", 10, 9, 2},
		{"世界世界世界\n", 10, 9, 2}, {"\x1b[31m01234567\x1b[0m\n", 10, 9, 1}, {strings.Repeat("x\n", 100), 10, 9, 10},
	} {
		if got := rows(c.text, c.width, c.most); got != c.want {
			t.Errorf("%q: %d rows, want %d", c.text, got, c.want)
		}
	}
}

// paged runs f on a terminal of ten rows and returns what was shown.
func paged(t *testing.T, ctx context.Context, pager string, f func(context.Context, io.Writer) error) (string, error) {
	t.Helper()
	master, slave := pty(t)
	if err := unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 10, Col: 40}); err != nil {
		t.Fatal(err)
	}
	shown := make(chan string, 1)
	const end = "-end-"
	go func() {
		all := ""
		for b := make([]byte, 4096); !strings.Contains(all, end); {
			n, err := master.Read(b)
			if err != nil {
				break
			}
			all += string(b[:n])
		}
		text, _, _ := strings.Cut(all, end)
		shown <- strings.ReplaceAll(text, "\r\n", "\n")
	}()
	s := &IO{Out: To(slave), Err: To(slave), OutTTY: true, ErrTTY: true, Pager: pager}
	s.Hide(hideSecret)
	before := s.Out
	err := s.Paged(ctx, func(ctx context.Context) error { return f(ctx, s.Out) })
	if s.Out.w.(hiding).w != before.w.(hiding).w {
		t.Error("the stream is not as it was")
	}
	fmt.Fprint(slave, end)
	return <-shown, err
}

// hideSecret takes a secret out.
func hideSecret(b []byte) []byte { return bytes.ReplaceAll(b, []byte("hunter2"), []byte("[secret]")) }

// lines are n of them.
func lines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

// print writes text in one piece, or line by line.
func print(text string, pieces bool) func(context.Context, io.Writer) error {
	return func(_ context.Context, w io.Writer) error {
		if !pieces {
			_, err := io.WriteString(w, text)
			return err
		}
		for line := range strings.Lines(text) {
			if _, err := io.WriteString(w, line); err != nil {
				return fmt.Errorf("writing: %w", err)
			}
		}
		return nil
	}
}

// marks is a pager that marks what went through it.
const marks = "sed 's/^/| /'"

func marked(text string) string {
	return "| " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n| ") + "\n"
}

func TestPaged(t *testing.T) {
	for name, c := range map[string]struct{ pager, text, want string }{
		"fits":            {marks, lines(9), lines(9)},
		"too long":        {marks, lines(10), marked(lines(10))},
		"a wide line":     {marks, lines(8) + strings.Repeat("x", 41) + "\n", marked(lines(8) + strings.Repeat("x", 41) + "\n")},
		"much":            {marks, lines(20_000), marked(lines(20_000))},
		"nothing":         {marks, "", ""},
		"a secret":        {marks, lines(10) + "hunter2\n", marked(lines(10) + "[secret]\n")},
		"a short secret":  {marks, "hunter2\n", "[secret]\n"},
		"no pager":        {"", lines(50), lines(50)},
		"a missing pager": {"no-such-pager", lines(50), lines(50)},
		"a failing pager": {marks + "; exit 3", lines(50), marked(lines(50))},
		"enough":          {"head -n 3", lines(20_000), lines(3)},
		"does not read":   {"true", lines(20_000), ""},
		"LESS":            {"cat >/dev/null; echo $LESS", lines(20), "FRX\n"},
	} {
		for _, pieces := range []bool{false, true} {
			got, err := paged(t, t.Context(), c.pager, print(c.text, pieces))
			if got != c.want || err != nil {
				t.Errorf("%s, in pieces %v: %v, it shows\n%.200q want\n%.200q", name, pieces, err, got, c.want)
			}
		}
	}
}

// What went wrong is said, whether or not a pager ran; that of a command that was
// still at work when its reader had enough is not.
func TestPagedFails(t *testing.T) {
	broken := errors.New("broken")
	for _, n := range []int{1, 50} {
		if _, err := paged(t, t.Context(), marks, func(ctx context.Context, w io.Writer) error {
			return errors.Join(print(lines(n), false)(ctx, w), broken)
		}); !errors.Is(err, broken) {
			t.Errorf("%d lines: %v", n, err)
		}
	}
	if _, err := paged(t, t.Context(), "head -n 1", func(ctx context.Context, w io.Writer) error {
		if err := print(lines(50), false)(ctx, w); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(patience):
			return errors.New("nobody says that the pager has ended")
		}
	}); err != nil {
		t.Error(err)
	}
}

// A signal that ends kx ends the pager, too, and is what the command ends with.
func TestPagedTerminated(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := paged(t, ctx, "cat >/dev/null; cd "+dir+"; echo $$ >pid.new; mv pid.new pid; exec sleep 100", func(ctx context.Context, w io.Writer) error {
		err := print(lines(50), false)(ctx, w)
		go func() {
			defer cancel()
			for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
				if _, err := os.Stat(filepath.Join(dir, "pid")); err == nil {
					return
				}
			}
		}()
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	var pid int
	b, _ := os.ReadFile(filepath.Join(dir, "pid"))
	if fmt.Sscan(string(b), &pid); pid == 0 || syscall.Kill(pid, 0) != syscall.ESRCH {
		t.Errorf("the pager %q goes on", b)
	}
}
