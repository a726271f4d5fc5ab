package lines

import (
	"errors"
	"io"
	"strings"
	"testing"

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
