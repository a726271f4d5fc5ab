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
	"cmp"
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
	// grace is what the requests that are under way have to end when the server
	// makes room for another one: enough for an answer, too little for one who
	// watches.
	grace = 2 * time.Second
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
// context ends when the client has gone or cancels the request, or the server ends.
type Handler func(ctx context.Context, r *Request, send func(doc any) error) (any, error)

// Server serves one socket.
type Server struct {
	Name    string
	Version string
	Keys    map[string]func() ([]byte, error) // by the name a client gives
	Handle  Handler
	Idle    time.Duration // ends when there was no client for so long; 0 for never
	// Outdated reports whether another program has taken the place of this one, which
	// then ends with its last client; nil for never.
	Outdated func() bool

	patience, grace time.Duration // 0 for the constants; tests have less

	mu     sync.Mutex
	leave  func()
	guests *guests
}

// Leave has the server make room: it takes no more clients and requests, and ends once
// those that are under way are answered, or after a short while.
func (s *Server) Leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leave != nil {
		s.leave()
	}
}

// Clients is how many connections there are.
func (s *Server) Clients() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.guests == nil {
		return 0
	}
	return s.guests.count()
}

// Serve takes connections until ctx ends, nobody has been there for a while, or it
// makes room for another one. It then waits for the handlers.
func (s *Server) Serve(ctx context.Context, ln *net.UnixListener) error {
	s.patience, s.grace = cmp.Or(s.patience, patience), cmp.Or(s.grace, grace)
	if s.Outdated == nil {
		s.Outdated = func() bool { return false }
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	leaving, leave := context.WithCancel(ctx)
	defer context.AfterFunc(leaving, func() {
		ln.Close()
		time.AfterFunc(s.grace, end)
	})()
	guests := newGuests(s.Idle, s.Outdated, leave)
	defer guests.all.Wait()
	s.mu.Lock()
	s.guests, s.leave = guests, leave
	s.mu.Unlock()
	for {
		c, err := ln.AcceptUnix()
		if err != nil {
			if leaving.Err() != nil {
				return nil
			}
			end()
			return err
		}
		if !guests.come() {
			c.Close() // it is too late; the client starts another server
			continue
		}
		go func() {
			defer guests.leave()
			defer c.Close()
			s.serve(ctx, leaving, c)
		}()
	}
}

// serve talks to one client.
func (s *Server) serve(ctx, leaving context.Context, c *net.UnixConn) {
	stop := context.AfterFunc(leaving, func() { c.CloseRead() })
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
	key, err := s.greet(leaving, c, lines, out)
	if err != nil {
		out.send(response{Error: fail.As(err).Wire()})
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	open := requests{byID: map[int64]*context.CancelFunc{}}
	for lines.Scan() && leaving.Err() == nil {
		r, err := parseRequest(lines.Bytes())
		switch {
		case err != nil:
		case r.Verb == "cancel":
			open.end(r.ID)
			continue
		default:
			r.Key, r.Peer, r.Alive = key, who.who, who.alive
			err = open.begin(ctx, r.ID, func(ctx context.Context) { s.answer(ctx, r, out) })
		}
		if err != nil {
			out.send(response{ID: r.ID, Error: fail.As(err).Wire()})
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		out.send(response{Error: tooLong().Wire()})
	}
	if leaving.Err() == nil {
		cancel() // the client has gone: its requests end
	}
	open.all.Wait()
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
func (s *Server) greet(leaving context.Context, c *net.UnixConn, lines *bufio.Scanner, out *writer) (string, error) {
	nonce := make([]byte, nonceSize)
	rand.Read(nonce)
	c.SetReadDeadline(time.Now().Add(s.patience))
	defer c.SetReadDeadline(time.Time{})
	if err := out.send(Hello{"hello", wire.Version, s.Name, s.Version, hex.EncodeToString(nonce)}); err != nil {
		return "", err
	}
	if !lines.Scan() {
		switch {
		case errors.Is(lines.Err(), bufio.ErrTooLong):
			return "", tooLong()
		case leaving.Err() != nil:
			return "", s.Older()
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
		return "", s.Older()
	case a.V < wire.Version:
		return "", fail.Unavailable("newer_host", "the %s host that runs is kx %s, newer than this client", s.Name, s.Version).WithHint("kx version")
	}
	return a.Key, nil
}

// CodeOlder is the code of the error for a client that comes while the server makes
// room: it waits, and starts another one.
const CodeOlder = "older_host"

// Older makes room for the server of a client that is newer, and returns what that is
// told.
func (s *Server) Older() error {
	s.Leave()
	return fail.Unavailable(CodeOlder, "this %s host is older than its client, and ends", s.Name)
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
