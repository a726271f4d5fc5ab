package term

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
)

func TestInput(t *testing.T) {
	s, _, _, _ := Test()
	want := strings.Repeat("line of text\n", 20_000)
	for _, in := range []io.Reader{strings.NewReader(want), iotest.HalfReader(strings.NewReader(want)), iotest.DataErrReader(strings.NewReader(want))} {
		s.In = in
		if err := iotest.TestReader(s.Input(context.Background()), []byte(want)); err != nil {
			t.Error(err)
		}
	}
}

// A pipe on which nothing comes does not hold up the end of the context, and
// what came before is not lost.
func TestInputEnds(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	defer r.Close()
	s, _, _, _ := Test()
	s.In = r
	ctx, cancel := context.WithCancel(context.Background())
	in := s.Input(ctx)
	if _, err := io.WriteString(w, "abc"); err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 2)
	if n, err := in.Read(p); n != 2 || err != nil {
		t.Fatalf("read %d, %v", n, err)
	}
	cancel()
	got, err := io.ReadAll(in)
	if string(got) != "c" || !errors.Is(err, context.Canceled) {
		t.Errorf("read %q, %v", got, err)
	}
}
