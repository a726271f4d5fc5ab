package client

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sourcegraph/go-lsp"

	"github.com/kxtools/kx/internal/host/lsp/faketest"
	"github.com/kxtools/kx/internal/host/lsp/position"
	"github.com/kxtools/kx/internal/host/lsp/protocol"
)

// patience is what a loaded machine may need for what takes a moment.
const patience = time.Minute

// TestMain lets the test binary be the server.
func TestMain(m *testing.M) {
	if faketest.Called() {
		os.Exit(faketest.Main())
	}
	os.Exit(m.Run())
}

// workspace is a folder with a small program.
func workspace(t *testing.T) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err == nil {
		err = os.WriteFile(filepath.Join(root, "a.fk"), []byte("let one\n  use two\nlet two BUG\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func options(t *testing.T, does ...string) Options {
	t.Helper()
	root := workspace(t)
	return Options{Argv: faketest.Argv(t, does...), Dir: root, Root: root, Env: []string{"PATH=/usr/bin:/bin", "GORACE=atexit_sleep_ms=0"}}
}

func start(t *testing.T, opt Options) *Client {
	t.Helper()
	c, err := Start(within(t), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if left := c.Close(); len(left) > 0 {
			t.Errorf("it left %v", left)
		}
	})
	return c
}

// place asks about a line and a column from 0 in a.fk.
func place(c *Client, line, column int) lsp.TextDocumentPositionParams {
	return lsp.TextDocumentPositionParams{
		TextDocument: lsp.TextDocumentIdentifier{URI: protocol.FromPath(filepath.Join(c.opt.Root, "a.fk"))},
		Position:     lsp.Position{Line: line, Character: column},
	}
}

// hover asks for a hover over the name in the first line.
func hover(t *testing.T, c *Client) (*protocol.Hover, error) {
	t.Helper()
	var h *protocol.Hover
	err := c.Call(within(t), "textDocument/hover", place(c, 0, 5), &h)
	return h, err
}

func mustHover(t *testing.T, c *Client) {
	t.Helper()
	h, err := hover(t, c)
	if err != nil || h == nil || !strings.Contains(string(h.Contents), "declared at a.fk:1:5") {
		t.Fatalf("hover %+v, %v", h, err)
	}
}

func TestConversation(t *testing.T) {
	c := start(t, options(t, "name=fake", `version={"Version":"v1.2"}`))
	mustHover(t, c)
	if c.Name() != "fake" || c.Version() != "v1.2" || c.Encoding() != position.UTF16 || c.PID() <= 0 || c.Err() != nil {
		t.Errorf("%s %s %s %d %v", c.Name(), c.Version(), c.Encoding(), c.PID(), c.Err())
	}
	if !c.Has("textDocument/rename") || c.Has("textDocument/diagnostic") || !c.Has("textDocument/prepareRename") || !c.Has("textDocument/didSave") {
		t.Errorf("capabilities %+v", c.Caps())
	}
	if c.Memory() < 1<<20 && runtime.GOOS == "linux" {
		t.Errorf("%d bytes of memory", c.Memory())
	}
	if left := c.Close(); left != nil || !errors.Is(c.Err(), ErrEnded) {
		t.Errorf("left %v, %v", left, c.Err())
	}
	if _, err := hover(t, c); !errors.Is(err, ErrEnded) || !strings.Contains(err.Error(), "fake was ended") {
		t.Errorf("after the end: %v", err)
	}
}

func TestEncodings(t *testing.T) {
	for word, want := range map[string]position.Encoding{"utf8": position.UTF8, "utf32": position.UTF32} {
		if c := start(t, options(t, word)); c.Encoding() != want {
			t.Errorf("%s: %s", word, c.Encoding())
		}
	}
}

// What doesn't start says why, and leaves nothing behind.
func TestNoStart(t *testing.T) {
	missing := options(t)
	missing.Argv = []string{"/nonesuch/server"}
	for name, c := range map[string]struct {
		opt  Options
		want []string
	}{
		"exit":    {options(t, "exit=7"), []string{"ended (exit status 7)", "it can't start, as it was told"}},
		"die":     {options(t, "die=initialize"), []string{"ended (exit status 3)", "panic: it died of initialize"}},
		"refuse":  {options(t, "refuse=no tsserver.js"), []string{"refuses to start: no tsserver.js"}},
		"garbage": {options(t, "garbage=hello\x1b[31m\nworld\n"), []string{`printed what is no message of a language server: hello\x1b[31m`}},
		"huge":    {options(t, "huge"), []string{"announced a message of 1073741824 bytes, more than 64 MiB"}},
		"missing": {missing, []string{"server can't be started", "no such file"}},
	} {
		before := children(t)
		client, err := Start(within(t), c.opt)
		if err == nil {
			client.Close()
			t.Errorf("%s: it starts", name)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
		if after := children(t); after > before {
			t.Errorf("%s: %d children more", name, after-before)
		}
	}
}

// children counts the processes below this one that are not zombies of others.
func children(t *testing.T) int {
	t.Helper()
	list, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range list {
		b, _ := os.ReadFile(f) // of a thread that has ended
		n += len(strings.Fields(string(b)))
	}
	return n
}

func TestMute(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if _, err := Start(ctx, options(t, "mute")); err == nil || !strings.Contains(err.Error(), "did not answer when it was started") || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestItDies(t *testing.T) {
	c := start(t, options(t, "die=textDocument/hover", "silent=textDocument/definition"))
	waiting := make(chan error)
	go func() { waiting <- c.Call(within(t), "textDocument/definition", place(c, 0, 5), nil) }()
	pushed := make(chan error)
	go func() {
		_, err := c.WaitPushed(within(t), "file:///x", func(protocol.Published) bool { return true })
		pushed <- err
	}()
	_, err := hover(t, c)
	for _, err := range []error{err, <-waiting, <-pushed, c.Err()} {
		if !errors.Is(err, ErrEnded) || !strings.Contains(err.Error(), "ended (exit status 3): fakelsp: panic: it died of textDocument/hover") {
			t.Errorf("%v", err)
		}
	}
	<-c.Done()
	if err := c.Notify(within(t), "x", nil); !errors.Is(err, ErrEnded) {
		t.Errorf("notify: %v", err)
	}
	if c.Memory() != 0 {
		t.Error("the dead have memory")
	}
}

func TestOutOfOrder(t *testing.T) {
	c := start(t, options(t, "pairs=textDocument/*"))
	var h *protocol.Hover
	var found protocol.Locations
	var wait sync.WaitGroup
	wait.Go(func() {
		if err := c.Call(within(t), "textDocument/hover", place(c, 0, 5), &h); err != nil {
			t.Error(err)
		}
	})
	wait.Go(func() {
		if err := c.Call(within(t), "textDocument/definition", place(c, 1, 7), &found); err != nil {
			t.Error(err)
		}
	})
	wait.Wait()
	if h == nil || len(found) != 1 || found[0].Range.Start.Line != 2 {
		t.Errorf("hover %+v, definition %+v", h, found)
	}
}

// Answers that nobody waits for, twice, and messages that are none, change nothing.
func TestAnswersTooMany(t *testing.T) {
	c := start(t, options(t, "double=textDocument/hover"))
	for range 3 {
		mustHover(t, c)
	}
}

func TestErrorsOfTheServer(t *testing.T) {
	c := start(t, options(t, "error=textDocument/hover,-32801"))
	_, err := hover(t, c)
	var theirs *protocol.Error
	if !errors.As(err, &theirs) || theirs.Code != protocol.ContentModified || theirs.Message != "it was told to fail" {
		t.Errorf("%v", err)
	}
	mustHover(t, c)
}

// Who goes away tells the server; nobody else notices.
func TestCancel(t *testing.T) {
	c := start(t, options(t, "silent=textDocument/definition"))
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := c.Call(ctx, "textDocument/definition", place(c, 0, 5), nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	mustHover(t, c)
	var told []string
	if err := c.Call(within(t), "fake/told", nil, &told); err != nil {
		t.Fatal(err)
	}
	want := []string{"initialize", "initialized", "textDocument/definition", "$/cancelRequest", "textDocument/hover", "fake/told"}
	if d := cmp.Diff(want, told); d != "" {
		t.Error(d)
	}
}

func TestLongAnswer(t *testing.T) {
	const size = 20 << 20
	c := start(t, options(t, "big=20971520"))
	if h, err := hover(t, c); err != nil || len(h.Contents) != size {
		t.Errorf("%v", err)
	}
}

// Every request of the server is answered, whatever its id is.
func TestItAsks(t *testing.T) {
	opt := options(t, "asks")
	opt.Settings = func(section string) any {
		if section == "fake" {
			return map[string]int{"a": 1}
		}
		return nil
	}
	c := start(t, opt)
	var got map[string]json.RawMessage
	for deadline := time.Now().Add(patience); len(got) < 13 && time.Now().Before(deadline); {
		mustHover(t, c) // our ids are its ids
		if err := c.Call(within(t), "fake/answers", nil, &got); err != nil {
			t.Fatal(err)
		}
	}
	root := string(protocol.FromPath(c.opt.Root))
	want := map[string]string{
		"1": `[{"a":1},null]`, "2": `null`, `"1"`: `null`, `"two"`: `[{"uri":"` + root + `","name":"` + filepath.Base(c.opt.Root) + `"}]`,
		"-1": `{"applied":false}`, "1.5": `null`, "3": `{"success":false}`, "4": `null`, "5": `null`,
		"6": `{"code":-32601,"message":"kx does not know fake/unknown"}`, "0": `null`, `"watch"`: `null`,
	}
	for id, text := range want {
		if string(got[id]) != text {
			t.Errorf("the answer to %s is %s, want %s", id, got[id], text)
		}
	}
	if !strings.Contains(string(got["7"]), `"code":-32602`) {
		t.Errorf("to nonsense: %s", got["7"])
	}
	if c.Refreshes() != 1 || c.Registered("textDocument/rename") {
		t.Errorf("%d refreshes, registered %v", c.Refreshes(), c.Registered("textDocument/rename"))
	}
}

// A flood is kept out of the memory and of the log, and answers come through it.
func TestFlood(t *testing.T) {
	opt := options(t, "flood=20000")
	var mu sync.Mutex
	logged := 0
	opt.Log = func(string) {
		mu.Lock()
		defer mu.Unlock()
		logged++
	}
	c := start(t, opt)
	mustHover(t, c)
	c.push.mu.Lock()
	files, size := len(c.push.files), c.push.bytes
	c.push.mu.Unlock()
	c.load.mu.Lock()
	work := len(c.load.work)
	c.load.mu.Unlock()
	mu.Lock()
	defer mu.Unlock()
	if files != maxPublished || size > maxPublishedBytes || work > maxWork || logged == 0 || logged > maxLines*int(patience/window) {
		t.Errorf("%d files, %d bytes, %d pieces of work, %d lines", files, size, work, logged)
	}
	if !strings.HasPrefix(c.Said(), "flood 19999 xxx") {
		t.Errorf("it said %.60s", c.Said())
	}
	if _, ok := c.Pushed("file:///flood/19999"); !ok {
		t.Error("the last is not kept")
	}
}

// A server that reads nothing holds nobody up for longer than they want, and is ended.
func TestDeaf(t *testing.T) {
	opt := options(t, "deaf")
	opt.stuck = 500 * time.Millisecond
	c := start(t, opt)
	large := strings.Repeat("x", 10<<20)
	err := c.Notify(within(t), "fake/large", large) // the first is on its way, however slow the machine is
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	for range 10 { // more than may wait
		if err = c.Notify(ctx, "fake/large", large); err != nil {
			break
		}
	}
	if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrEnded) {
		t.Errorf("told: %v", err)
	}
	if err := c.Call(within(t), "textDocument/hover", place(c, 0, 5), nil); !errors.Is(err, ErrEnded) || !strings.Contains(err.Error(), "has read nothing for 500ms") {
		t.Errorf("asked: %v", err)
	}
}

// What doesn't want to end is ended, with what it has started.
func TestStays(t *testing.T) {
	opt := options(t, "stays", "child")
	opt.Grace = 50 * time.Millisecond
	before := children(t)
	c := start(t, opt)
	mustHover(t, c)
	if left := c.Close(); left != nil {
		t.Errorf("it left %v", left)
	}
	if after := children(t); after > before {
		t.Errorf("%d children more", after-before)
	}
}

func TestTwoAtOnce(t *testing.T) {
	c := start(t, options(t, "late=1ms"))
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			for range 10 {
				if h, err := hover(t, c); err != nil || h == nil {
					t.Errorf("%+v, %v", h, err)
					return
				}
			}
		})
	}
	wait.Wait()
}

// One that reads no more is ended, also where it lives on, and whoever tells or asks it
// something hears why.
func TestClosedInput(t *testing.T) {
	c := start(t, options(t, "closes=fake/close"))
	if err := c.Notify(within(t), "fake/close", nil); err != nil {
		t.Fatal(err)
	}
	for ctx := within(t); ; time.Sleep(time.Millisecond) {
		err := c.Notify(ctx, "fake/more", nil)
		if errors.Is(err, ErrEnded) && strings.Contains(err.Error(), "closed its input") {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
