package approve_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kxtools/kx/pkg/approve"
	"github.com/kxtools/kx/pkg/wire"
)

// soon bounds what takes microseconds, on a slow machine.
const soon = 20 * time.Second

func connect(t *testing.T, h fakeHost) *approve.Client {
	t.Helper()
	c, err := approve.Dial(context.Background(), h.options())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	t.Cleanup(cancel)
	return ctx
}

// listener is a socket behind which somebody speaks.
func listener(t *testing.T, speak func(net.Conn)) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "kx") // short: a socket's name has 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close(); os.RemoveAll(dir) })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			speak(c)
		}
	}()
	return path
}

func TestDialWithoutHost(t *testing.T) {
	dead := filepath.Join(t.TempDir(), "dead")
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: dead, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	ln.SetUnlinkOnClose(false) // as if it had been killed
	ln.Close()
	for name, path := range map[string]string{
		"missing": filepath.Join(t.TempDir(), "none"),
		"dead":    dead,
		"ending":  listener(t, func(c net.Conn) { c.Close() }),
		"ending after its hello": listener(t, func(c net.Conn) {
			fmt.Fprintln(c, `{"type":"hello","v":1,"nonce":"`+strings.Repeat("00", 32)+`"}`)
			c.(*net.UnixConn).CloseRead() // nobody reads the answer
			c.Close()
		}),
	} {
		_, err := approve.Dial(context.Background(), approve.Options{Socket: path, KeyName: "host", Key: []byte("k")})
		if name == "ending after its hello" && err == nil {
			continue // the answer was on its way before the end
		}
		if !errors.Is(err, approve.ErrNoHost) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDialSomebodyElse(t *testing.T) {
	for _, hello := range []string{
		"SSH-2.0-OpenSSH_9.2", "{}", "[]", `{"type":"hello"}`, `{"type":"hello","nonce":"zz"}`, `{"type":"hello","nonce":"00"}`,
		`{"type":"result","nonce":"000102030405060708090a0b0c0d0e0f"}`, "\xff",
	} {
		if _, err := approve.Dial(context.Background(), fakeHost{hello: hello}.options()); err == nil || !strings.Contains(err.Error(), "is no socket of kx") {
			t.Errorf("%q: %v", hello, err)
		}
	}
}

// A host that says nothing does not outlast the context.
func TestDialEndsWithItsContext(t *testing.T) {
	path := listener(t, func(net.Conn) {})
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := approve.Dial(ctx, approve.Options{Socket: path, KeyName: "host", Key: []byte("k")})
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 2*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}

func TestWrongKey(t *testing.T) {
	o := fakeHost{}.options()
	o.Key = []byte("another")
	c, err := approve.Dial(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 2 { // it stays so
		_, err := c.List(deadline(t))
		var e *approve.Error
		if !errors.As(err, &e) || e.Code != "bad_key" || e.Exit != 3 {
			t.Fatalf("got %v", err)
		}
	}
}

// Answers go to those who asked, in whatever order they come, and what nobody
// asked for is passed over.
func TestAnswersFindTheirWay(t *testing.T) {
	var mu sync.Mutex
	var held []string
	c := connect(t, fakeHost{say: func(r request) []string {
		mu.Lock()
		defer mu.Unlock()
		held = append(held, fmt.Sprintf(`{"id":%d,"result":{"type":"approval","v":1,"id":"%s"}}`, r.ID, r.Args.ID))
		if len(held) < 10 {
			return nil
		}
		slices.Reverse(held)
		return append([]string{"garbage", `{"id":99,"result":{}}`, `{}`, ``}, held...)
	}})
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			id := fmt.Sprintf("r%d", i)
			if a, err := c.Show(deadline(t), id); err != nil || a.ID != id {
				t.Errorf("%s: %+v, %v", id, a, err)
			}
		})
	}
	wg.Wait()
}

// A callback of Watch may use the client, however much is waiting behind it.
func TestWatchMayAnswer(t *testing.T) {
	const many = 500
	c := connect(t, fakeHost{say: func(r request) []string {
		if r.Verb == "watch" {
			var lines []string
			for i := range many {
				lines = append(lines, pending(fmt.Sprintf("r%d", i), "bash", "{}"))
			}
			return lines
		}
		return []string{`{"id":%d,"result":{"type":"approval","v":1,"id":"` + r.Args.ID + `","state":"allowed","note":"` + r.Args.Note + `"}}`}
	}})
	ctx, done := deadline(t), errors.New("done")
	n := 0
	err := c.Watch(ctx, func(a *wire.Approval) error {
		if want := fmt.Sprintf("r%d", n); a.ID != want || a.State != "pending" {
			return fmt.Errorf("number %d is %+v", n, a)
		}
		got, err := c.Allow(ctx, a.ID, approve.Answer{Note: "yes"})
		if err != nil || got.ID != a.ID || got.State != "allowed" || got.Note != "yes" {
			return fmt.Errorf("allow: %+v, %v", got, err)
		}
		if n++; n == many {
			return done
		}
		return nil
	})
	if err != done {
		t.Errorf("after %d: %v", n, err)
	}
}

// What came before the host went away counts.
func TestHostGoesAway(t *testing.T) {
	c := connect(t, fakeHost{say: func(r request) []string {
		switch r.Verb {
		case "wait":
			return []string{`{"id":%d,"result":{"type":"approval","v":1,"id":"a","state":"allowed"}}`, "end"}
		case "watch":
			return []string{pending("a", "bash", "{}"), pending("b", "bash", "{}"), "end"}
		}
		return []string{"end"}
	}})
	if a, err := c.Wait(deadline(t), "a"); err != nil || a.State != "allowed" {
		t.Errorf("wait: %+v, %v", a, err)
	}
	if _, err := c.List(deadline(t)); !errors.Is(err, approve.ErrClosed) {
		t.Errorf("afterwards: %v", err)
	}

	var seen []string
	err := connect(t, fakeHost{say: func(request) []string {
		return []string{pending("a", "bash", "{}"), pending("b", "bash", "{}"), "end"}
	}}).Watch(deadline(t), func(a *wire.Approval) error { seen = append(seen, a.ID); return nil })
	if !errors.Is(err, approve.ErrClosed) || !slices.Equal(seen, []string{"a", "b"}) {
		t.Errorf("watch saw %v, then %v", seen, err)
	}
	if _, err := connect(t, fakeHost{say: func(request) []string { return []string{"end"} }}).Wait(deadline(t), "a"); !errors.Is(err, approve.ErrClosed) {
		t.Errorf("wait: %v", err)
	}
}

// One request that nobody waits for any more is not in the way of others.
func TestRequestEndsWithItsContext(t *testing.T) {
	c := connect(t, fakeHost{say: func(r request) []string {
		if r.Verb == "wait" {
			return nil
		}
		return []string{`{"id":%d,"result":{"type":"end","v":1,"count":0}}`}
	}})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.Wait(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("wait: %v", err)
	}
	if list, err := c.List(deadline(t)); err != nil || list == nil || len(list) > 0 {
		t.Errorf("list: %v, %v", list, err)
	}
}

// Who gives up on a host that reads nothing is not held up. A request of which
// nothing was sent leaves the connection to others; half of one ends it.
func TestHostDoesNotRead(t *testing.T) {
	over := func(d time.Duration) context.Context {
		ctx, cancel := context.WithTimeout(context.Background(), d)
		t.Cleanup(cancel)
		return ctx
	}
	stuck := make(chan bool)
	c := connect(t, fakeHost{say: func(r request) []string {
		if r.Verb == "wait" {
			<-stuck
			return nil
		}
		return []string{`{"id":%d,"result":{"type":"end","v":1,"count":0}}`}
	}})
	for range 2 { // the first is read
		if _, err := c.Wait(over(20*time.Millisecond), "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("wait: %v", err)
		}
	}
	close(stuck)
	if _, err := c.List(deadline(t)); err != nil {
		t.Errorf("list: %v", err)
	}

	path := listener(t, func(c net.Conn) {
		t.Cleanup(func() { c.Close() })
		fmt.Fprintln(c, `{"type":"hello","v":1,"name":"approve","version":"1","nonce":"000102030405060708090a0b0c0d0e0f"}`)
	})
	c, err := approve.Dial(deadline(t), approve.Options{Socket: path, KeyName: "approver", Key: []byte("a secret")})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Deny(over(time.Second), "a", approve.Answer{Note: strings.Repeat("x", 1_000_000)}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("deny: %v", err)
	}
	if _, err := c.List(deadline(t)); !errors.Is(err, approve.ErrClosed) {
		t.Errorf("list: %v", err)
	}
}

func TestTooLong(t *testing.T) {
	c := connect(t, fakeHost{say: func(request) []string {
		return []string{`{"id":%d,"result":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`}
	}})
	if _, err := c.Allow(deadline(t), "a", approve.Answer{Note: strings.Repeat("x", 1<<20)}); err == nil || !strings.Contains(err.Error(), "1048576 bytes") {
		t.Errorf("a long request: %v", err)
	}
	if _, err := c.Show(deadline(t), "a"); !errors.Is(err, approve.ErrClosed) {
		t.Errorf("a long answer: %v", err)
	}
}

func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		`{"id":1,"result":{"type":"approval","id":"a"}}` + "\n", `{"id":1,"error":{"code":"x"}}`, `{"id":0,"error":{}}` + "\n",
		`{"id":1,"result":null}` + "\n", "\n\n[]\n", `{"id":1,"result":7}` + "\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, said string) {
		h := fakeHost{say: func(request) []string { return []string{said, "end"} }}
		c, err := approve.Dial(context.Background(), h.options())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ctx, cancel := context.WithTimeout(context.Background(), soon)
		defer cancel()
		if _, err := c.Show(ctx, "a"); errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("%q: it hangs", said)
		}
	})
}
