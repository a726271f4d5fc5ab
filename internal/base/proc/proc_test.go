package proc

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func sh(script string) Spec {
	return Spec{Argv: []string{"/bin/bash", "--noprofile", "--norc", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}}
}

func run(t *testing.T, s Spec) Result {
	t.Helper()
	res, err := Run(context.Background(), s)
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	return res
}

func TestRunReportsHowItEnded(t *testing.T) {
	for _, c := range []struct {
		script      string
		code        int
		signal      string
		out, errOut string
	}{
		{"echo out; echo err >&2", 0, "", "out\n", "err\n"},
		{"exit 7", 7, "", "", ""},
		{"kill -KILL $$", 137, "SIGKILL", "", ""},
		{"kill -TERM $$", 143, "SIGTERM", "", ""},
		{"cat; echo end", 0, "", "end\n", ""},
		{"nonesuch", 127, "", "", "/bin/bash: line 1: nonesuch: command not found\n"},
	} {
		res := run(t, sh(c.script))
		got := []any{res.ExitCode, res.Signal, string(res.Stdout), string(res.Stderr), res.Truncated, res.TimedOut}
		want := []any{c.code, c.signal, c.out, c.errOut, false, false}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", c.script, d)
		}
	}
}

func TestRunFeedsStdin(t *testing.T) {
	in := bytes.Repeat([]byte("0123456789abcdef"), 1<<14) // more than a pipe holds
	s := sh("wc -c")
	s.Stdin = in
	if got := strings.TrimSpace(string(run(t, s).Stdout)); got != strconv.Itoa(len(in)) {
		t.Errorf("the command read %s bytes, want %d", got, len(in))
	}
	s = sh("exec 0<&-; echo deaf")
	s.Stdin = in
	if got := string(run(t, s).Stdout); got != "deaf\n" {
		t.Errorf("a command that doesn't read: %q", got)
	}
}

func TestRunCannotStart(t *testing.T) {
	for name, s := range map[string]Spec{
		"program": {Argv: []string{"/nonesuch/program"}},
		"folder":  {Argv: []string{"/bin/true"}, Dir: "/nonesuch"},
	} {
		if _, err := Run(context.Background(), s); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("missing %s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, sh("true")); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: %v", err)
	}
}

// What a process substitution still has to write is not lost.
func TestRunWaitsForLastWords(t *testing.T) {
	res := run(t, sh(`exec > >(sleep 0.03; cat); echo last`))
	if string(res.Stdout) != "last\n" {
		t.Errorf("stdout %q", res.Stdout)
	}
}

func TestRunIsSerial(t *testing.T) {
	dir := t.TempDir()
	errs := make(chan error, 3)
	for range cap(errs) {
		go func() {
			s := sh("mkdir lock && rmdir lock")
			s.Dir = dir
			res, err := Run(context.Background(), s)
			if res.ExitCode != 0 {
				err = errors.New(string(res.Stderr))
			}
			errs <- err
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func TestRunCapsOutput(t *testing.T) {
	s := sh(`head -c 3000000 /dev/zero | tr '\0' x; printf END; printf '%s' $'\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac' >&2`)
	s.OutCap = 1000
	res := run(t, s)
	mark := "\n[... 2999003 bytes left out ...]\n"
	want := strings.Repeat("x", 500) + mark + strings.Repeat("x", 497) + "END"
	if !res.Truncated || string(res.Stdout) != want {
		t.Errorf("truncated %v, %d bytes: ...%q", res.Truncated, len(res.Stdout), res.Stdout[490:])
	}
	s.OutCap = 8
	res = run(t, s)
	if got := string(res.Stderr); got != "€\n[... 3 bytes left out ...]\n€" {
		t.Errorf("runes were split: %q", got)
	}
}

func TestEnv(t *testing.T) {
	vars := map[string]string{
		"HOME": "/h", "PATH": "/bin", "KX_MODE": "plan", "SECRET": "s", "GOFLAGS": "-v", "ENV": "/rc", "BASH_ENV": "/rc",
		"LANG": "", "USER": "u", "A=B": "x",
	}
	getenv := func(k string) string { return vars[k] }
	got := Env([]string{"GOFLAGS", "KX_MODE", "ENV", "BASH_ENV", "", "A=B", "HOME", "UNSET"}, getenv)
	want := []string{"GOFLAGS=-v", "HOME=/h", "PATH=/bin", "USER=u"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// FuzzCapture holds the capture against the plain way to do it.
func FuzzCapture(f *testing.F) {
	f.Add([]byte("hello"), uint8(4), uint8(2))
	f.Add([]byte("€€€€€"), uint8(7), uint8(1))
	f.Add([]byte("\xff\x80\x80\x80\x80\xe2"), uint8(4), uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, size, step uint8) {
		c := newCapture(int(size))
		for rest := data; len(rest) > 0; {
			n := min(int(step)+1, len(rest))
			_, _ = c.Write(rest[:n])
			rest = rest[n:]
		}
		got, cut := c.bytes()
		if whole := len(data) <= 2*c.half; whole != !cut || whole && !bytes.Equal(got, data) {
			t.Fatalf("%q at %d: %q, cut %v", data, size, got, cut)
		}
		if cut && utf8.Valid(data) && !utf8.Valid(got) {
			t.Fatalf("%q at %d split a rune: %q", data, size, got)
		}
	})
}
