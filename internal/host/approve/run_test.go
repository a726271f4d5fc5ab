package approve

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A host ends when nobody is there any more; one that is to stay does not.
func TestIdle(t *testing.T) {
	old := syscall.Umask(0)
	t.Cleanup(func() { syscall.Umask(old) })
	for _, idle := range []time.Duration{20 * time.Millisecond, 0} {
		dir, err := os.MkdirTemp("", "kx") // short: a socket's name has 100 bytes
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		said, says := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			ended <- Run(ctx, Options{State: filepath.Join(dir, "state"), Config: dir, Socket: filepath.Join(dir, "s"), Version: "1", Idle: idle}, says)
		}()
		line := make([]byte, len("ready\n"))
		if _, err := io.ReadFull(said, line); err != nil || string(line) != "ready\n" {
			t.Fatalf("it says %q, %v", line, err)
		}
		if idle > 0 {
			select {
			case err := <-ended:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(soon):
				t.Fatal("it does not end")
			}
			continue
		}
		for range 3 {
			c, err := net.Dial("unix", filepath.Join(dir, "s"))
			if err != nil {
				t.Fatalf("it ended by itself: %v", err)
			}
			if _, err := c.Read(line); err != nil { // its hello
				t.Errorf("it says nothing: %v", err)
			}
			c.Close()
		}
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(soon):
			t.Fatal("it does not end")
		}
	}
}
