package sock

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
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/pkg/wire"
)

// soon bounds what takes microseconds, on a slow machine.
const soon = 20 * time.Second

var keys = map[string][]byte{"host": []byte("the key of hosts"), "approver": []byte("the key of people")}

// serve runs a server and returns its socket; it has ended when the test ends.
func serve(t testing.TB, s *Server) (path string, ended chan error) {
	t.Helper()
	dir, err := os.MkdirTemp("", "kx") // short: a socket's name has 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "s.sock")
	ln, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	s.Name, s.Version = "test", "1.2.3"
	s.Keys = map[string]func() ([]byte, error){
		"host":     func() ([]byte, error) { return keys["host"], nil },
		"approver": func() ([]byte, error) { return keys["approver"], nil },
		"lost":     func() ([]byte, error) { return nil, errors.New("no such file") },
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended = make(chan error, 1)
	go func() { ended <- s.Serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("the server ended with %v", err)
			}
		case <-time.After(soon):
			t.Error("the server does not end")
		}
		os.RemoveAll(dir)
	})
	return path, ended
}

// peerConn is a client that says whatever it is told to.
type peerConn struct {
	t testing.TB
	*net.UnixConn
	lines *bufio.Scanner
	nonce []byte
}

func dial(t testing.TB, path string) *peerConn {
	t.Helper()
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(soon))
	p := &peerConn{t: t, UnixConn: c, lines: bufio.NewScanner(c)}
	p.lines.Buffer(nil, MaxLine)
	hello := p.line()
	var h Hello
	if err := json.Unmarshal([]byte(hello), &h); err != nil {
		t.Fatalf("hello %q: %v", hello, err)
	}
	if p.nonce, err = hex.DecodeString(h.Nonce); err != nil || len(p.nonce) != nonceSize {
		t.Fatalf("hello %q: no nonce", hello)
	}
	if want := fmt.Sprintf(`{"type":"hello","v":1,"name":"test","version":"1.2.3","nonce":"%x"}`, p.nonce); hello != want {
		t.Fatalf("hello %s, want %s", hello, want)
	}
	return p
}

// friend is a client that has proved its key.
func friend(t testing.TB, path, key string) *peerConn {
	t.Helper()
	p := dial(t, path)
	p.say(`{"type":"auth","v":1,"key":"%s","mac":"%s"}`, key, mac(keys[key], p.nonce))
	return p
}

func mac(key, nonce []byte) string {
	h := hmac.New(sha256.New, key)
	h.Write(nonce)
	return hex.EncodeToString(h.Sum(nil))
}

// say writes a line. That the server has gone shows in what it answered.
func (p *peerConn) say(format string, args ...any) {
	fmt.Fprintf(p, format+"\n", args...)
}

// line returns the next line, "" at the end.
func (p *peerConn) line() string {
	p.t.Helper()
	if !p.lines.Scan() {
		if err := p.lines.Err(); err != nil && !errors.Is(err, syscall.ECONNRESET) {
			p.t.Fatalf("reading: %v", err)
		}
		return ""
	}
	return p.lines.Text()
}

// ends expects the connection to be over.
func (p *peerConn) ends() {
	p.t.Helper()
	if line := p.line(); line != "" {
		p.t.Errorf("the connection goes on: %s", line)
	}
}

func (p *peerConn) fails(id int64, code string, exit int) {
	p.t.Helper()
	line := p.line()
	var r struct {
		ID    int64
		Error *wire.Error
	}
	if err := json.Unmarshal([]byte(line), &r); err != nil || r.Error == nil || r.ID != id || r.Error.Code != code || r.Error.Exit != exit {
		p.t.Errorf("answer %q, want the error %s (%d) to %d", line, code, exit, id)
	}
}

// echo answers with the verb, the key and the arguments.
func echo(_ context.Context, r *Request, send func(any) error) (any, error) {
	switch r.Verb {
	case "count":
		for i := range 3 {
			if err := send(map[string]int{"n": i}); err != nil {
				return nil, err
			}
		}
		return map[string]bool{"end": true}, nil
	case "fail":
		return nil, fail.Conflict("taken", "it is taken").WithHint("kx approve list")
	case "big":
		return map[string]string{"x": strings.Repeat("x", MaxLine)}, nil
	case "silent":
		return nil, nil
	}
	return map[string]any{"verb": r.Verb, "key": r.Key, "args": r.Args}, nil
}

func TestRequests(t *testing.T) {
	path, _ := serve(t, &Server{Handle: echo})
	p := friend(t, path, "host")
	for _, c := range []struct{ say, want string }{
		{`{"id":7,"verb":"hi","args":{"a":[1]}}`, `{"id":7,"result":{"args":{"a":[1]},"key":"host","verb":"hi"}}`},
		{`{"id":1,"verb":"count"}`, `{"id":1,"result":{"n":0}}` + "\n" + `{"id":1,"result":{"n":1}}` + "\n" + `{"id":1,"result":{"n":2}}` + "\n" + `{"id":1,"result":{"end":true}}`},
		{`{"id":2,"verb":"fail"}`, `{"id":2,"error":{"code":"taken","exit":7,"message":"it is taken","hint":"kx approve list"}}`},
		{`{"id":3,"verb":"silent"}`, ``},
		{`{"id":4,"verb":"big"}`, `{"id":4,"error":{"code":"line_too_long","exit":6,"message":"the answer has 1048602 bytes, more than 1048576"}}`},
		{`{"id":5,"verb":""}`, `{"id":5,"error":{"code":"usage","exit":2,"message":"a request needs a verb"}}`},
		{`{"verb":"hi"}`, `{"id":0,"error":{"code":"usage","exit":2,"message":"a request needs an id above 0"}}`},
		{`{"id":-1,"verb":"hi"}`, `{"id":0,"error":{"code":"usage","exit":2,"message":"a request needs an id above 0"}}`},
		{`{"id":9,"verb":"bye"}`, `{"id":9,"result":{"args":null,"key":"host","verb":"bye"}}`},
	} {
		p.say("%s", c.say)
		if c.want == "" {
			continue // what comes next shows that nothing came
		}
		for _, want := range strings.Split(c.want, "\n") {
			if got := p.line(); got != want {
				t.Errorf("%s: %s, want %s", c.say, got, want)
			}
		}
	}
}

// Garbage is answered as such, and the connection goes on.
func TestGarbage(t *testing.T) {
	path, _ := serve(t, &Server{Handle: echo})
	p := friend(t, path, "approver")
	for _, line := range []string{``, `x`, `[]`, `null`, `7`, `"verb"`, `{`, `{"id":"one","verb":"hi"}`, "\x00\xff\xfe", `{"id":1e99,"verb":"hi"}`} {
		p.say("%s", line)
		p.fails(0, "usage", fail.ExitUsage)
	}
	p.say(`{"id":1,"verb":"hi"}`)
	if got := p.line(); !strings.HasPrefix(got, `{"id":1,"result"`) {
		t.Errorf("after garbage: %s", got)
	}
}

func TestHandshakeRefuses(t *testing.T) {
	path, _ := serve(t, &Server{Handle: echo})
	seen := dial(t, path) // whose nonce and mac somebody has listened to
	replay := mac(keys["approver"], seen.nonce)
	for name, c := range map[string]struct {
		line func(p *peerConn) string
		code string
		exit int
	}{
		"garbage":        {func(*peerConn) string { return "garbage" }, "usage", 2},
		"a request":      {func(*peerConn) string { return `{"id":1,"verb":"list"}` }, "usage", 2},
		"an array":       {func(*peerConn) string { return `[]` }, "usage", 2},
		"no mac":         {func(*peerConn) string { return `{"type":"auth","v":1,"key":"approver"}` }, "bad_key", 3},
		"no hex":         {func(*peerConn) string { return `{"type":"auth","v":1,"key":"approver","mac":"zz"}` }, "bad_key", 3},
		"a replayed mac": {func(*peerConn) string { return `{"type":"auth","v":1,"key":"approver","mac":"` + replay + `"}` }, "bad_key", 3},
		"the key itself": {func(*peerConn) string {
			return fmt.Sprintf(`{"type":"auth","v":1,"key":"approver","mac":"%x"}`, keys["approver"])
		}, "bad_key", 3},
		"another's key":   {func(p *peerConn) string { return auth1(1, "approver", mac(keys["host"], p.nonce)) }, "bad_key", 3},
		"a short mac":     {func(p *peerConn) string { return auth1(1, "approver", mac(keys["approver"], p.nonce)[:62]) }, "bad_key", 3},
		"an unknown name": {func(p *peerConn) string { return auth1(1, "root", mac(keys["approver"], p.nonce)) }, "bad_key", 3},
		"a lost key":      {func(p *peerConn) string { return auth1(1, "lost", mac(nil, p.nonce)) }, "bad_key", 3},
		"an older client": {func(p *peerConn) string { return auth1(0, "host", mac(keys["host"], p.nonce)) }, "newer_host", 5},
		"a forged newer":  {func(p *peerConn) string { return auth1(2, "host", mac(keys["host"], seen.nonce)) }, "bad_key", 3},
		"a long line":     {func(*peerConn) string { return strings.Repeat("x", MaxLine) }, "line_too_long", 6},
	} {
		t.Run(name, func(t *testing.T) {
			p := dial(t, path)
			p.say("%s", c.line(p))
			p.fails(0, c.code, c.exit)
			p.ends()
		})
	}
	p := friend(t, path, "host")
	p.say(`{"id":1,"verb":"hi"}`)
	if got := p.line(); !strings.HasPrefix(got, `{"id":1,"result"`) {
		t.Errorf("afterwards: %s", got)
	}
}

func auth1(v int, key, mac string) string {
	return fmt.Sprintf(`{"type":"auth","v":%d,"key":"%s","mac":"%s"}`, v, key, mac)
}

// A newer client is told that the server ends, and it does, with the answers of
// the others delivered.
func TestNewerClientMakesRoom(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	path, ended := serve(t, &Server{Handle: func(ctx context.Context, r *Request, _ func(any) error) (any, error) {
		close(entered)
		<-leave
		return map[string]bool{"done": true}, nil
	}})
	other := friend(t, path, "approver")
	other.say(`{"id":1,"verb":"x"}`)
	<-entered
	p := dial(t, path)
	p.say("%s", auth1(2, "host", mac(keys["host"], p.nonce)))
	p.fails(0, "older_host", fail.ExitUnavailable)
	p.ends()
	close(leave)
	if got := other.line(); got != `{"id":1,"result":{"done":true}}` {
		t.Errorf("the other's answer: %q", got)
	}
	other.ends()
	select {
	case err := <-ended:
		ended <- err // for the end of the test
	case <-time.After(soon):
		t.Error("the server goes on")
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("the socket is still there")
	}
}

func TestLineTooLong(t *testing.T) {
	path, _ := serve(t, &Server{Handle: echo})
	frame := len(`{"id":1,"verb":"hi","args":""}` + "\n")
	p := friend(t, path, "host")
	p.say(`{"id":1,"verb":"hi","args":"%s"}`, strings.Repeat("x", MaxLine-frame-len(`,"result":{"key":"host"}`)))
	if got := p.line(); !strings.HasPrefix(got, `{"id":1,"result"`) {
		t.Errorf("just short enough: %.100s", got)
	}
	p.say(`{"id":2,"verb":"hi","args":"%s"}`, strings.Repeat("x", MaxLine-frame+1))
	p.fails(0, "line_too_long", fail.ExitLimit)
	p.ends()
}

// One who says nothing is dropped, and so is one who does not read.
func TestPatienceEnds(t *testing.T) {
	gone := make(chan error, 1)
	path, _ := serve(t, &Server{patience: 50 * time.Millisecond, Handle: func(ctx context.Context, r *Request, send func(any) error) (any, error) {
		if r.Verb != "flood" {
			return echo(ctx, r, send)
		}
		for {
			if err := send(map[string]string{"x": strings.Repeat("x", 1000)}); err != nil {
				gone <- err
				return nil, err
			}
		}
	}})
	quiet := dial(t, path)
	quiet.fails(0, "timeout", fail.ExitTimeout)
	quiet.ends()

	deaf := friend(t, path, "host")
	deaf.say(`{"id":1,"verb":"flood"}`)
	select {
	case err := <-gone:
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("sending ended with %v", err)
		}
	case <-time.After(soon):
		t.Fatal("the server waits for a client that does not read")
	}
	for n := 0; ; n++ { // what it reads later are whole lines, and then the end, perhaps in the middle of one
		line := deaf.line()
		if line == "" {
			break
		}
		if n > 0 && !json.Valid([]byte(line)) && deaf.line() != "" {
			t.Fatalf("a torn line, and more after it")
		}
	}
	p := friend(t, path, "host")
	p.say(`{"id":1,"verb":"hi"}`)
	if got := p.line(); !strings.HasPrefix(got, `{"id":1,"result"`) {
		t.Errorf("another client: %s", got)
	}
}

// The requests of a client end with it, and so do those of all with the server,
// without a word.
func TestRequestsEndWithTheirClient(t *testing.T) {
	entered, left := make(chan string, 8), make(chan string, 8)
	path, _ := serve(t, &Server{Handle: func(ctx context.Context, r *Request, _ func(any) error) (any, error) {
		entered <- r.Verb
		<-ctx.Done()
		left <- r.Verb
		return nil, ctx.Err()
	}})
	p := friend(t, path, "host")
	p.say(`{"id":1,"verb":"a"}`)
	<-entered
	p.Close()
	select {
	case <-left:
	case <-time.After(soon):
		t.Fatal("the request goes on without its client")
	}
}

func TestTooManyRequests(t *testing.T) {
	var mu sync.Mutex
	n := 0
	path, _ := serve(t, &Server{Handle: func(ctx context.Context, r *Request, _ func(any) error) (any, error) {
		mu.Lock()
		n++
		mu.Unlock()
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	p := friend(t, path, "host")
	for i := range maxOpen + 1 {
		p.say(`{"id":%d,"verb":"wait"}`, i+1)
	}
	p.fails(maxOpen+1, "too_many_requests", fail.ExitLimit)
	p.Close()
	q := friend(t, path, "host") // another client has its own room
	q.say(`{"id":1,"verb":""}`)
	q.fails(1, "usage", fail.ExitUsage)
	mu.Lock()
	defer mu.Unlock()
	if n > maxOpen {
		t.Errorf("%d requests ran", n)
	}
}

func TestIdle(t *testing.T) {
	path, ended := serve(t, &Server{Handle: echo, Idle: 100 * time.Millisecond})
	p := friend(t, path, "host")
	select {
	case <-ended:
		t.Fatal("the server ended with a client there")
	case <-time.After(300 * time.Millisecond):
	}
	p.say(`{"id":1,"verb":"hi"}`)
	if got := p.line(); !strings.HasPrefix(got, `{"id":1,"result"`) {
		t.Errorf("after a pause: %s", got)
	}
	began := time.Now()
	p.Close()
	select {
	case err := <-ended:
		ended <- err
		if took := time.Since(began); took < 100*time.Millisecond {
			t.Errorf("it ended after %v", took)
		}
	case <-time.After(soon):
		t.Fatal("the server does not end")
	}
}

// Without a time it stays, however often the last client goes.
func TestStays(t *testing.T) {
	path, ended := serve(t, &Server{Handle: echo})
	for range 5 {
		p := friend(t, path, "host")
		p.say(`{"id":1,"verb":"hi"}`)
		if got := p.line(); !strings.HasPrefix(got, `{"id":1,"result"`) {
			t.Fatalf("it says %s", got)
		}
		p.Close()
	}
	select {
	case <-ended:
		t.Error("the server ended")
	default:
	}
}

func TestListen(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	dir := t.TempDir()
	path := filepath.Join(dir, "s")

	ln, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Lstat(path); err != nil || fi.Mode() != os.ModeSocket|0o600 {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
	if _, err := Listen(path); fail.Exit(err) != fail.ExitConflict {
		t.Errorf("beside a living server: %v", err)
	}
	ln.SetUnlinkOnClose(false) // as if it had been killed
	ln.Close()
	ln, err = Listen(path)
	if err != nil {
		t.Fatalf("after a dead server: %v", err)
	}
	ln.Close()
	if _, err := os.Lstat(path); err == nil {
		t.Error("a server that ends leaves its socket")
	}
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(path); fail.Exit(err) != fail.ExitUsage {
		t.Errorf("over a file: %v", err)
	}
	if b, _ := os.ReadFile(path); string(b) != "precious" {
		t.Errorf("the file holds %q", b)
	}
}

func FuzzServe(f *testing.F) {
	path, _ := serve(f, &Server{Handle: echo})
	for _, seed := range []string{
		`{"id":1,"verb":"hi"}` + "\n", "{}\n\n\n[", `{"id":1,"verb":"count","args":{}}` + "\n" + `{"id":1,"verb":"fail"}`,
		"\xff\x00\n", `{"id":9223372036854775807,"verb":"\u0000"}` + "\n", `{"ID":2,"Verb":"x","verb":"y"}` + "\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p := friend(t, path, "host")
		if _, err := p.Write(data); err != nil {
			t.Fatal(err)
		}
		p.CloseWrite()
		for {
			line := p.line()
			if line == "" {
				return
			}
			var r struct {
				ID     *int64
				Result json.RawMessage
				Error  *wire.Error
			}
			if err := json.Unmarshal([]byte(line), &r); err != nil || r.ID == nil || (r.Result == nil) == (r.Error == nil) {
				t.Fatalf("%q: the answer %q: %v", data, line, err)
			}
		}
	})
}
