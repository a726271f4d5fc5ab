// Package sock is the server's side of kx's local sockets: JSON, one object a
// line. The server speaks first with a nonce, the client proves with an HMAC over
// it that it can read a key of the state directory, then requests and answers go
// by number. What the verbs mean is the business of internal/host.
//
// A peer of another user is refused before anything is read. Lines are bounded,
// and a client that says nothing in time is dropped.
package sock

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/pkg/wire"
)

const (
	// MaxLine bounds a line in both directions.
	MaxLine = 1 << 20
	// helloTime is how long a client may take to prove itself: it has the key
	// at hand, so a second is plenty even on a loaded machine.
	helloTime = 5 * time.Second
	nonceSize = 32
)

// Listen opens the socket. A living server behind it is a conflict; what a dead
// one left is removed. The caller holds a lock against others who start.
func Listen(path string) (*net.UnixListener, error) {
	if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
		c.Close()
		return nil, fail.Conflict("already_running", "%s has a server already", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	old := syscall.Umask(0o177)
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	syscall.Umask(old)
	return ln, err
}

// Hello is what a server says first.
type Hello struct {
	Type    string `json:"type"`
	V       int    `json:"v"`
	Name    string `json:"name"`
	Version string `json:"version"`
	Nonce   string `json:"nonce"`
}

type auth struct {
	Type string `json:"type"`
	V    int    `json:"v"`
	Key  string `json:"key"`
	MAC  string `json:"mac"`
}

// Request is one request of a client.
type Request struct {
	ID   int64           `json:"id"`
	Verb string          `json:"verb"`
	Args json.RawMessage `json:"args"`

	Key  string       `json:"-"` // the key that the client proved: host or approver
	Peer wire.Decider `json:"-"` // who it is
}

type response struct {
	ID     int64       `json:"id"`
	Result any         `json:"result,omitempty"`
	Error  *wire.Error `json:"error,omitempty"`
}

// Handler answers a request. It may call send any number of times before it
// returns (a stream); what it returns is the last answer, nil for none.
type Handler func(ctx context.Context, r *Request, send func(doc any) error) (any, error)

// Server serves one socket.
type Server struct {
	Name    string
	Version string
	Keys    map[string]func() ([]byte, error) // by the name a client gives
	Handle  Handler
}

// Serve takes connections until ctx ends; it then waits for the handlers.
func (s *Server) Serve(ctx context.Context, ln *net.UnixListener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { ln.Close() })
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		c, err := ln.AcceptUnix()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer c.Close()
			s.serve(ctx, c)
		}()
	}
}

// serve talks to one client. Whatever is wrong with it ends its connection and
// nothing else.
func (s *Server) serve(ctx context.Context, c *net.UnixConn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	who, err := peer(c)
	if err != nil || who.UID == nil || *who.UID != os.Getuid() {
		return
	}
	lines := bufio.NewScanner(c)
	lines.Buffer(make([]byte, 4096), MaxLine)
	out := &writer{c: c}
	key := s.greet(c, lines, out)
	if key == "" {
		return
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel() // the client has gone: its requests end
	for lines.Scan() {
		var r Request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil || r.Verb == "" {
			out.send(response{ID: r.ID, Error: fail.Usage("that is no request").Wire()})
			continue
		}
		r.Key, r.Peer = key, who
		wg.Add(1)
		go func() {
			defer wg.Done()
			s.answer(ctx, &r, out)
		}()
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		out.send(response{Error: fail.Limit("line_too_long", "a line has more than %d bytes", MaxLine).Wire()})
	}
}

// greet says hello and returns the name of the key that the client has, or "".
func (s *Server) greet(c *net.UnixConn, lines *bufio.Scanner, out *writer) string {
	nonce := make([]byte, nonceSize)
	rand.Read(nonce)
	c.SetReadDeadline(time.Now().Add(helloTime))
	defer c.SetReadDeadline(time.Time{})
	if out.send(Hello{"hello", wire.Version, s.Name, s.Version, hex.EncodeToString(nonce)}) != nil || !lines.Scan() {
		return ""
	}
	var a auth
	if json.Unmarshal(lines.Bytes(), &a) == nil && a.Type == "auth" && s.Keys[a.Key] != nil {
		key, err := s.Keys[a.Key]()
		mac, decodeErr := hex.DecodeString(a.MAC)
		if err == nil && decodeErr == nil {
			h := hmac.New(sha256.New, key)
			h.Write(nonce)
			if hmac.Equal(h.Sum(nil), mac) {
				return a.Key
			}
		}
	}
	out.send(response{Error: fail.Denied("bad_key", "that key does not open this socket").Wire()})
	return ""
}

func (s *Server) answer(ctx context.Context, r *Request, out *writer) {
	doc, err := s.Handle(ctx, r, func(doc any) error { return out.send(response{ID: r.ID, Result: doc}) })
	switch {
	case err != nil:
		out.send(response{ID: r.ID, Error: fail.As(err).Wire()})
	case doc != nil:
		out.send(response{ID: r.ID, Result: doc})
	}
}

// writer writes whole lines.
type writer struct {
	mu sync.Mutex
	c  *net.UnixConn
}

func (w *writer) send(v any) error {
	raw, err := wire.Marshal(v)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.c.SetWriteDeadline(time.Now().Add(helloTime))
	_, err = w.c.Write(append(raw, '\n'))
	return err
}
