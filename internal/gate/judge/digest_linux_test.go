package judge

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A file that becomes a pipe while it is looked at holds up nobody.
func TestDigestOfWhatBecomesAPipe(t *testing.T) {
	dir := t.TempDir()
	path, pipe, file := filepath.Join(dir, "x"), filepath.Join(dir, "pipe"), filepath.Join(dir, "file")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(file, path); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for i := range 5_000 {
			next := filepath.Join(dir, "next")
			if os.Link([]string{pipe, file}[i%2], next) != nil || os.Rename(next, path) != nil {
				return
			}
			os.Remove(next) // of two names of one file, rename leaves both
		}
	}()
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		for {
			select {
			case <-over:
				return
			default:
				digest(path)
			}
		}
	}()
	select {
	case <-looked:
	case <-time.After(time.Minute):
		t.Fatal("it waits for a pipe")
	}
}
