// Package sock is the server's side of kx's local sockets: JSON, one object a
// line. The server speaks first with a nonce, the client proves with an HMAC over
// it that it can read a key of the state directory, then requests and answers go
// by number. What the verbs mean is the business of internal/host.
//
// A peer of another user is refused before anything is read. Lines are bounded in
// both directions, a client that says nothing in time is dropped, and whatever is
// wrong with one client ends its connection and nothing else.
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
	// MaxLine bounds a line with its end, in both directions.
	MaxLine = 1 << 20
	// patience is how long a client may take to prove itself or to read what
	// is sent to it. It has the key at hand, so a second is plenty; the rest is
	// for machines under load.
	patience = 5 * time.Second
	// maxOpen is how many requests of one client may be under way: far more
	// than one program waits for at once.
	maxOpen   = 256
	nonceSize = 32
)

// Listen opens the socket. A living server behind it is a conflict; what a dead
// one left is removed. The caller holds a lock against others who start.
func Listen(path string) (*net.UnixListener, error) {
	if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
		c.Close()
		return nil, fail.Conflict("already_running", "%s has a server already", path)
	}
	if fi, err := os.Lstat(path); err == nil && fi.Mode()&fs.ModeSocket == 0 {
		return nil, fail.Usage("%s is in the way: it is no socket", path).WithHint("rm %s", path)
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

// Request is one request of a client. ID is above 0: an answer with the id 0
// speaks of the connection.
type Request struct {
	ID   int64           `json:"id"`
	Verb string          `json:"verb"`
	Args json.RawMessage `json:"args"`

	Key  string       `json:"-"` // the key that the client proved: host or approver
	Peer wire.Decider `json:"-"` // who it is
	// Alive reports whether the process that connected still lives. While it does,
	// its pid is its own.
	Alive func() bool `json:"-"`
}

type response struct {
	ID     int64       `json:"id"`
	Result any         `json:"result,omitempty"`
	Error  *wire.Error `json:"error,omitempty"`
}

// Handler answers a request. It may call send any number of times before it
// returns (a stream); what it returns is the last answer, nil for none. Its
// context ends when the client has gone or the server ends.
type Handler func(ctx context.Context, r *Request, send func(doc any) error) (any, error)

// Server serves one socket.
type Server struct {
	Name    string
	Version string
	Keys    map[string]func() ([]byte, error) // by the name a client gives
	Handle  Handler
	Idle    time.Duration // ends when there was no client for so long; 0 for never

	patience time.Duration // 0 for the constant; tests have less
}

// Serve takes connections until ctx ends, nobody has been there for a while, or
// a newer client asks it to make room. It then waits for the handlers.
func (s *Server) Serve(ctx context.Context, ln *net.UnixListener) error {
	if s.patience == 0 {
		s.patience = patience
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	stop := context.AfterFunc(ctx, func() { ln.Close() })
	defer stop()
	guests := newGuests(s.Idle, end)
	defer guests.all.Wait()
	defer end()
	for {
		c, err := ln.AcceptUnix()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if !guests.come() {
			c.Close() // it is too late; the client starts another server
			continue
		}
		go func() {
			defer guests.leave()
			defer c.Close()
			s.serve(ctx, c, end)
		}()
	}
}

// serve talks to one client.
func (s *Server) serve(ctx context.Context, c *net.UnixConn, end func()) {
	stop := context.AfterFunc(ctx, func() { c.CloseRead() })
	defer stop()
	who, err := peer(c)
	if err != nil {
		return
	}
	defer who.release()
	if who.who.UID == nil || *who.who.UID != os.Getuid() {
		return
	}
	lines := bufio.NewScanner(c)
	lines.Buffer(make([]byte, 4096), MaxLine)
	out := &writer{c: c, patience: s.patience}
	key, err := s.greet(c, lines, out, end)
	if err != nil {
		out.send(response{Error: fail.As(err).Wire()})
		return
	}
	var open sync.WaitGroup
	defer open.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // the client has gone: its requests end
	room := make(chan struct{}, maxOpen)
	for lines.Scan() {
		r, err := parseRequest(lines.Bytes())
		if err != nil {
			out.send(response{ID: r.ID, Error: fail.As(err).Wire()})
			continue
		}
		r.Key, r.Peer, r.Alive = key, who.who, who.alive
		select {
		case room <- struct{}{}:
		default:
			out.send(response{ID: r.ID, Error: fail.Limit("too_many_requests", "%d requests of this client are under way", maxOpen).Wire()})
			continue
		}
		open.Go(func() {
			defer func() { <-room }()
			s.answer(ctx, r, out)
		})
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		out.send(response{Error: tooLong().Wire()})
	}
}

func tooLong() *fail.Error {
	return fail.Limit("line_too_long", "a line has more than %d bytes", MaxLine)
}

// parseRequest reads a request. What is returned with an error has the id that
// the error is an answer to, if there is one.
func parseRequest(line []byte) (*Request, error) {
	var r Request
	switch err := json.Unmarshal(line, &r); {
	case err != nil:
		return &Request{}, fail.Usage("that is no request: %v", err)
	case r.ID < 1:
		return &Request{}, fail.Usage("a request needs an id above 0")
	case r.Verb == "":
		return &r, fail.Usage("a request needs a verb")
	}
	return &r, nil
}

// greet says hello and returns the name of the key that the client has.
func (s *Server) greet(c *net.UnixConn, lines *bufio.Scanner, out *writer, end func()) (string, error) {
	nonce := make([]byte, nonceSize)
	rand.Read(nonce)
	c.SetReadDeadline(time.Now().Add(s.patience))
	defer c.SetReadDeadline(time.Time{})
	if err := out.send(Hello{"hello", wire.Version, s.Name, s.Version, hex.EncodeToString(nonce)}); err != nil {
		return "", err
	}
	if !lines.Scan() {
		if errors.Is(lines.Err(), bufio.ErrTooLong) {
			return "", tooLong()
		}
		return "", fail.Timeout("nothing was said in %v", s.patience)
	}
	var a auth
	if err := json.Unmarshal(lines.Bytes(), &a); err != nil || a.Type != "auth" {
		return "", fail.Usage("the first line has to be an auth record")
	}
	if !s.proves(a, nonce) {
		return "", fail.Denied("bad_key", "that key does not open this socket")
	}
	switch {
	case a.V > wire.Version:
		end()
		return "", fail.Unavailable("older_host", "this %s host is older than its client, and ends", s.Name)
	case a.V < wire.Version:
		return "", fail.Unavailable("newer_host", "the %s host that runs is kx %s, newer than this client", s.Name, s.Version).WithHint("kx version")
	}
	return a.Key, nil
}

// proves reports whether the client has the key that it names.
func (s *Server) proves(a auth, nonce []byte) bool {
	if s.Keys[a.Key] == nil {
		return false
	}
	key, err := s.Keys[a.Key]()
	if err != nil {
		return false
	}
	mac, err := hex.DecodeString(a.MAC)
	if err != nil {
		return false
	}
	h := hmac.New(sha256.New, key)
	h.Write(nonce)
	return hmac.Equal(h.Sum(nil), mac)
}

func (s *Server) answer(ctx context.Context, r *Request, out *writer) {
	send := func(doc any) error { return out.send(response{ID: r.ID, Result: doc}) }
	doc, err := s.Handle(ctx, r, send)
	if err == nil && doc != nil {
		err = send(doc)
	}
	if err != nil && (ctx.Err() == nil || !errors.Is(err, context.Canceled)) {
		out.send(response{ID: r.ID, Error: fail.As(err).Wire()})
	}
}

// writer writes whole lines.
type writer struct {
	mu       sync.Mutex
	c        *net.UnixConn
	patience time.Duration
}

// send writes v as a line. What is too long is not written; a line that could
// not be written whole ends the connection, for nothing can follow it.
func (w *writer) send(v any) error {
	raw, err := wire.Marshal(v)
	if err != nil {
		return err
	}
	if len(raw) >= MaxLine {
		return fail.Limit("line_too_long", "the answer has %d bytes, more than %d", len(raw), MaxLine)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.c.SetWriteDeadline(time.Now().Add(w.patience))
	if _, err = w.c.Write(append(raw, '\n')); err != nil {
		w.c.Close()
	}
	return err
}
