package term

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestStream(t *testing.T) {
	var b bytes.Buffer
	s := To(&b)
	if n, err := fmt.Fprintf(s, "a\x1b[31m\n"); n != 7 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	if err := s.Exact([]byte("\x1b[0m\n")); err != nil {
		t.Error(err)
	}
	if want := "a\\x1b[31m\n\x1b[0m\n"; b.String() != want {
		t.Errorf("%q, want %q", &b, want)
	}
	closed, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	if _, err := To(closed).Write([]byte("x")); err == nil {
		t.Error("an error of writing is lost")
	}
}

func TestPipe(t *testing.T) {
	var b bytes.Buffer
	w, end, err := To(&b).Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", `printf 'title \033]0;x\007\n\303\244 no line end'`)
	cmd.Stderr, cmd.Stdout = w, w
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString(strings.Repeat("é", chunk)); err != nil { // more than is read at once
		t.Fatal(err)
	}
	end()
	if got := b.String(); !strings.HasPrefix(got, "title \\x1b]0;x\\x07\nä no line endéé") {
		t.Errorf("%.100q", got)
	}
}

// Somebody who holds the pipe does not hold the end.
func TestPipeEndsWhileItIsHeld(t *testing.T) {
	w, end, err := To(&bytes.Buffer{}).Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sleep", "60")
	cmd.Stderr = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end()
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
}
