package lsp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/host/lsp/door"
	"github.com/kxtools/kx/internal/host/lsp/faketest"
	"github.com/kxtools/kx/internal/record/config"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/socket"
	"github.com/kxtools/kx/pkg/wire"
)

// A host that nobody asks ends, and its servers with it; one question puts that off.
func TestIdle(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dirs := paths.Dirs{State: filepath.Join(root, "state"), Config: filepath.Join(root, "config")}
	file := filepath.Join(root, "p", "a.fk")
	sockets, err := os.MkdirTemp("", "kx") // short: a socket's name has 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(sockets) })
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("let one\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	st, err := state.Open(dirs.State)
	if err != nil {
		t.Fatal(err)
	}
	key, err := st.HostKey()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	at, ended := filepath.Join(sockets, "s"), make(chan error, 1)
	said, says := io.Pipe()
	const idle = 2 * time.Second
	go func() {
		ended <- run(ctx, door.Place{Root: filepath.Dir(file), Dirs: dirs}, at, "1", says, idle)
	}()
	if line, err := bufio.NewReader(said).ReadString('\n'); err != nil {
		t.Fatalf("it says %q, %v, %v", line, err, <-ended)
	}
	c, err := socket.Dial(ctx, socket.Options{Socket: at, KeyName: "host", Key: key})
	if err != nil {
		t.Fatal(err)
	}
	query, err := json.Marshal(wire.CodeQuery{Path: file, Line: 1, Column: 5, WaitMS: patience.Milliseconds()})
	if err != nil {
		t.Fatal(err)
	}
	args := door.Args{Query: query, Setup: door.Setup{Code: true, Env: []string{"PATH=/usr/bin:/bin", "GORACE=atexit_sleep_ms=0"}, Servers: []config.LanguageServer{{
		Name: "fake", Command: faketest.Argv(t, "says", "stays"), Extensions: map[string]string{".fk": "fake"}}}}}
	var a wire.CodeAnswer
	if err := c.Ask(ctx, "hover", args, &a); err != nil || !strings.Contains(a.Hover, "let one") {
		t.Fatalf("%+v, %v", a, err)
	}
	var s wire.LanguageServer
	if err := c.Do(ctx, "status", args, func(doc json.RawMessage) (bool, error) { return false, json.Unmarshal(doc, &s) }); err != nil || s.PID == 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	c.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if ctx.Err() != nil {
		t.Errorf("it has not ended in %v", patience)
	}
	if _, err := os.Stat(fmt.Sprint("/proc/", s.PID)); err == nil {
		t.Errorf("the server %d goes on", s.PID)
	}
}
