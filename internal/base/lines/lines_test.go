package lines

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/kxtools/kx/internal/base/fail"
)

func TestNext(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	r := New(strings.NewReader("a\n\n  \nb \n"+long+"\nc\n"+long[:150_000]+"\nd"), 160_000)
	var got []string
	for {
		line, n, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			if want := "a b 6 c 150000 d"; strings.Join(got, " ") != strings.Replace(want, "6", "limit", 1) {
				t.Errorf("got %v", got)
			}
			return
		case err != nil:
			if fail.Exit(err) != fail.ExitLimit || n != 5 {
				t.Errorf("line %d: %v", n, err)
			}
			got = append(got, "limit")
		case len(line) > 100:
			got = append(got, "150000")
		default:
			got = append(got, string(line))
		}
	}
}

func TestNextLongWithoutEnd(t *testing.T) {
	r := New(strings.NewReader(strings.Repeat("x", 100_000)), 10)
	if _, _, err := r.Next(); fail.Exit(err) != fail.ExitLimit {
		t.Errorf("got %v", err)
	}
	if _, _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("then %v", err)
	}
}

func TestReadObject(t *testing.T) {
	for in, want := range map[string]string{
		"{}": "", ` {"a":[1]} `: "", "": "is empty", " \n": "is empty", "[1]": "not a JSON object", "null": "not a JSON object", "{} {}": "not a JSON object",
		"{\"a\":\"\xff\"}": "UTF-8", `{"a":"` + strings.Repeat("x", 100) + `"}`: "more than 50 bytes",
	} {
		raw, err := ReadObject(strings.NewReader(in), 50)
		switch {
		case want == "" && (err != nil || string(raw) != in):
			t.Errorf("%q: %q, %v", in, raw, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %s", in, err, want)
		}
	}
	if _, err := ReadObject(iotest.ErrReader(context.Canceled), 50); !errors.Is(err, context.Canceled) {
		t.Errorf("an interruption came to %v", err)
	}
}

// The end of a line does not count, whatever it is; and the bound is exact.
func TestNextBound(t *testing.T) {
	for in, want := range map[string]string{
		"1234567890\n": "1234567890", "1234567890\r\n": "1234567890", "1234567890": "1234567890",
		"12345678901\n": "", "12345678901": "", "123456789 1\n": "",
	} {
		line, n, err := New(strings.NewReader(in), 10).Next()
		if string(line) != want || n != 1 || (want == "") != (fail.Exit(err) == fail.ExitLimit) {
			t.Errorf("%q: %q, line %d, %v", in, line, n, err)
		}
	}
}

func TestNextPassesOnOtherErrors(t *testing.T) {
	broken := errors.New("broken")
	r := New(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), 10)
	if line, _, err := r.Next(); string(line) != "a" || err != nil {
		t.Errorf("%q, %v", line, err)
	}
	if line, n, err := r.Next(); line != nil || n != 2 || err != broken {
		t.Errorf("%q, line %d, %v", line, n, err)
	}
}

// FuzzNext compares with the whole input split at once.
func FuzzNext(f *testing.F) {
	for _, seed := range []string{"", "a\nb", "\n\n \r\n", "0123456789012345678901\nx\r\n\r", "\xff\x00\n"} {
		f.Add([]byte(seed), uint8(16))
	}
	f.Fuzz(func(t *testing.T, data []byte, max uint8) {
		r := New(iotest.HalfReader(bytes.NewReader(data)), int(max))
		all := bytes.Split(data, []byte("\n"))
		for i, want := range all {
			tooLong := len(bytes.TrimRight(want, "\r")) > int(max)
			want = bytes.TrimSpace(want)
			if !tooLong && len(want) == 0 {
				continue
			}
			line, n, err := r.Next()
			if n != i+1 || tooLong != (fail.Exit(err) == fail.ExitLimit) || !tooLong && !bytes.Equal(line, want) {
				t.Fatalf("line %d of %q is %q (%d, %v), want %q", i+1, data, line, n, err, want)
			}
		}
		if line, _, err := r.Next(); err != io.EOF {
			t.Fatalf("after the end of %q: %q, %v", data, line, err)
		}
	})
}
