package socket_test

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/pkg/socket"
)

// soon bounds what takes microseconds, on a slow machine.
const soon = 20 * time.Second

// request is what a client asks.
type request struct {
	ID   int64
	Verb string
	Args json.RawMessage
}

// fake is a host: say answers a request with any number of lines, where %d stands for
// its id; "end" is the end of the host.
type fake func(r request) []string

// options connect a client to the host, without a socket.
func (say fake) options() socket.Options {
	return socket.Options{
		Socket: "lsp.sock", KeyName: "host", Key: []byte("a secret"),
		Dial: func(context.Context, string) (net.Conn, error) {
			client, server := net.Pipe()
			go say.serve(server)
			return client, nil
		},
	}
}

func (say fake) serve(conn net.Conn) {
	defer conn.Close()
	const nonce = "000102030405060708090a0b0c0d0e0f"
	fmt.Fprintln(conn, `{"type":"hello","v":1,"name":"lsp","version":"1.2.3","nonce":"`+nonce+`"}`)
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, 2<<20)
	if !lines.Scan() {
		return
	}
	mac := hmac.New(sha256.New, []byte("a secret"))
	raw, _ := hex.DecodeString(nonce)
	mac.Write(raw)
	if want := fmt.Sprintf(`{"key":"host","mac":"%x","type":"auth","v":1}`, mac.Sum(nil)); lines.Text() != want {
		fmt.Fprintln(conn, `{"id":0,"error":{"code":"bad_key","exit":3,"message":"that key does not open this socket"}}`)
		return
	}
	for lines.Scan() {
		var r request
		if json.Unmarshal(lines.Bytes(), &r) != nil {
			return
		}
		for _, line := range say(r) {
			if line == "end" {
				return
			}
			fmt.Fprintln(conn, strings.ReplaceAll(line, "%d", fmt.Sprint(r.ID)))
		}
	}
}

func connect(t *testing.T, say fake) *socket.Client {
	t.Helper()
	c, err := socket.Dial(context.Background(), say.options())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// Whoever gives up says so, whatever was the reason, and the connection stays.
func TestHostLearnsWhoGaveUp(t *testing.T) {
	heard := make(chan request, 16)
	c := connect(t, func(r request) []string {
		heard <- r
		if r.Verb == "watch" {
			return []string{`{"id":%d,"result":{"n":1}}`, `{"id":%d,"result":{"n":2}}`}
		}
		if r.Verb == "ask" {
			return []string{`{"id":%d,"result":{}}`}
		}
		return nil
	})
	if c.Name != "lsp" || c.Version != "1.2.3" {
		t.Errorf("it is %s of kx %s", c.Name, c.Version)
	}
	mine := errors.New("mine")
	ctx, cancel := context.WithCancel(within(t, soon))
	for name, c := range map[string]struct {
		do     func() error
		want   error
		cancel bool
	}{
		"its time is over": {do: func() error { return c.Ask(within(t, 20*time.Millisecond), "hang", nil, &struct{}{}) }, want: context.DeadlineExceeded, cancel: true},
		"it is told to":    {do: func() error { time.AfterFunc(20*time.Millisecond, cancel); return c.Ask(ctx, "hang", nil, &struct{}{}) }, want: context.Canceled, cancel: true},
		"a callback fails": {do: func() error {
			return c.Do(within(t, soon), "watch", nil, func(json.RawMessage) (bool, error) { return true, mine })
		}, want: mine, cancel: true},
		"it had its answer": {do: func() error { return c.Ask(within(t, soon), "ask", nil, &struct{}{}) }},
		"it has seen enough": {do: func() error {
			return c.Do(within(t, soon), "watch", nil, func(json.RawMessage) (bool, error) { return false, nil })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := c.do(); !errors.Is(err, c.want) {
				t.Errorf("it ends with %v", err)
			}
			asked := <-heard
			if !c.cancel {
				select {
				case r := <-heard:
					t.Errorf("the host hears %+v", r)
				case <-time.After(50 * time.Millisecond):
				}
				return
			}
			select {
			case r := <-heard:
				if r.Verb != "cancel" || r.ID != asked.ID || r.Args != nil {
					t.Errorf("the host hears %+v after %+v", r, asked)
				}
			case <-time.After(soon):
				t.Error("the host hears nothing")
			}
		})
	}
	if err := c.Ask(within(t, soon), "ask", map[string]int{"a": 1}, &struct{}{}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if r := <-heard; string(r.Args) != `{"a":1}` {
		t.Errorf("its arguments: %s", r.Args)
	}
}

// A request that the host does not read holds up nobody who has less patience.
func TestWritesDoNotHoldEachOtherUp(t *testing.T) {
	stuck := make(chan bool)
	defer close(stuck)
	c := connect(t, func(request) []string { <-stuck; return nil })
	go func() { _ = c.Ask(within(t, soon), "hang", nil, nil) }()
	for range 3 {
		go func() { _ = c.Ask(within(t, soon), "hang", strings.Repeat("x", 1<<19), nil) }()
	}
	began := time.Now()
	if err := c.Ask(within(t, 50*time.Millisecond), "ask", nil, nil); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > soon/2 {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

// A host that makes room reads no more and still answers; who asks then waits no longer
// than it wants to.
func TestHostReadsNoMore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	answer, ended := make(chan bool), make(chan bool)
	go func() {
		defer close(ended)
		conn, err := ln.AcceptUnix()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprintln(conn, `{"type":"hello","v":1,"nonce":"000102030405060708090a0b0c0d0e0f"}`)
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			if strings.Contains(lines.Text(), "first") {
				conn.CloseRead()
				fmt.Fprintln(conn, `{"id":1,"result":1}`)
				break
			}
		}
		<-answer
		fmt.Fprintln(conn, `{"id":1,"result":2}`)
	}()
	c, err := socket.Dial(within(t, soon), socket.Options{Socket: path, KeyName: "host"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	n := 0
	err = c.Do(within(t, soon), "first", nil, func(json.RawMessage) (bool, error) {
		if n++; n == 2 {
			return false, nil
		}
		late := make(chan error, 1)
		go func() { late <- c.Ask(within(t, 20*time.Millisecond), "second", nil, &n) }()
		select {
		case err := <-late:
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the second ends with %v", err)
			}
		case <-time.After(soon):
			t.Error("the second hangs")
		}
		close(answer)
		return true, nil
	})
	if err != nil || n != 2 {
		t.Errorf("the first ends with %v after %d answers", err, n)
	}
	<-ended
	if err := c.Ask(within(t, soon), "third", nil, &n); !errors.Is(err, socket.ErrClosed) {
		t.Errorf("the third ends with %v", err)
	}
}

// What the host says is an answer, an error, or nothing; it never holds up the client.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{
		`{"id":1,"result":{"n":1}}` + "\n", `{"id":1,"error":{"code":"x"}}`, `{"id":0,"error":{}}` + "\n", `{"id":1,"result":null}` + "\n",
		"\n\n[]\n", `{"id":1,"result":7}` + "\n", "\xff\x00\n", `{"id":1}` + "\n" + `{"id":1,"result":[]}` + "\n", `{"ID":1,"Result":{}}` + "\n",
	} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, hello, said string) {
		greets := func(context.Context, string) (net.Conn, error) {
			client, server := net.Pipe()
			go func() { fmt.Fprint(server, hello); server.Close() }()
			return client, nil
		}
		if c, err := socket.Dial(within(t, soon), socket.Options{KeyName: "host", Dial: greets}); err == nil {
			c.Close()
		} else if errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("%q: it hangs", hello)
		}
		c := connect(t, func(request) []string { return []string{said, "end"} })
		n := 0
		err := c.Do(within(t, soon), "watch", nil, func(json.RawMessage) (bool, error) { n++; return true, nil })
		if err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("%q: after %d answers: %v", said, n, err)
		}
	})
}
