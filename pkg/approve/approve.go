// Package approve is a client of kx's approval socket: it lists the requests
// that wait for a person, answers them, and waits for answers.
//
//	c, err := approve.Dial(ctx, approve.Options{Socket: path, KeyName: "approver", Key: key})
//	...
//	pending, err := c.List(ctx)
//
// The approver key proves the right to answer; with the host key a client may
// only look and wait. Both lie in the state directory (kx config path state),
// which also says where the socket is (kx config path runtime). Errors are
// *Error with the code and exit status that kx itself would give.
package approve

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
	"sync"
	"time"

	"github.com/kxtools/kx/pkg/wire"
)

// maxLine is the longest line that either side sends, in bytes.
const maxLine = 1 << 20

// dialTime bounds the handshake.
const dialTime = 5 * time.Second

// Error is what the host answers when a request fails.
type Error wire.Error

func (e *Error) Error() string { return e.Message }

// ErrClosed says that the host went away. What was decided before is in the
// state directory.
var ErrClosed = errors.New("the approval host closed the connection")

// Options say where the host is and who the client is.
type Options struct {
	Socket  string
	KeyName string // "approver" or "host"
	Key     []byte

	// Dial opens the socket; nil for net.Dialer.
	Dial func(ctx context.Context, path string) (net.Conn, error)
}

// Client is a connection to the approval host. It may be used by several
// goroutines.
type Client struct {
	Version string // of the host

	conn net.Conn
	mu   sync.Mutex
	next int64
	open map[int64]chan answer
	err  error
}

type answer struct {
	ID     int64           `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *wire.Error     `json:"error"`
}

// Dial connects and proves the key.
func Dial(ctx context.Context, o Options) (*Client, error) {
	dial := o.Dial
	if dial == nil {
		dial = func(ctx context.Context, path string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		}
	}
	conn, err := dial(ctx, o.Socket)
	if err != nil {
		return nil, err
	}
	c := &Client{conn: conn, open: map[int64]chan answer{}}
	lines := bufio.NewScanner(conn)
	lines.Buffer(make([]byte, 4096), maxLine)
	conn.SetDeadline(time.Now().Add(dialTime))
	if err := c.greet(lines, o); err != nil {
		conn.Close()
		return nil, err
	}
	conn.SetDeadline(time.Time{})
	go c.read(lines)
	return c, nil
}

func (c *Client) greet(lines *bufio.Scanner, o Options) error {
	if !lines.Scan() {
		return ErrClosed
	}
	var hello struct{ Type, Version, Nonce string }
	if err := json.Unmarshal(lines.Bytes(), &hello); err != nil || hello.Type != "hello" {
		return fmt.Errorf("%s is not the socket of an approval host", o.Socket)
	}
	nonce, err := hex.DecodeString(hello.Nonce)
	if err != nil || len(nonce) < 16 {
		return fmt.Errorf("%s is not the socket of an approval host", o.Socket)
	}
	c.Version = hello.Version
	h := hmac.New(sha256.New, o.Key)
	h.Write(nonce)
	return c.send(map[string]any{"type": "auth", "v": wire.Version, "key": o.KeyName, "mac": hex.EncodeToString(h.Sum(nil))})
}

func (c *Client) send(v any) error {
	raw, err := wire.Marshal(v)
	if err != nil {
		return err
	}
	if len(raw) >= maxLine {
		return fmt.Errorf("the request has more than %d bytes", maxLine)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err = c.conn.Write(append(raw, '\n'))
	return err
}

// read hands answers to those who wait for them.
func (c *Client) read(lines *bufio.Scanner) {
	failed := error(ErrClosed)
	for lines.Scan() {
		var a answer
		if json.Unmarshal(lines.Bytes(), &a) != nil {
			continue
		}
		if a.ID == 0 && a.Error != nil {
			failed = (*Error)(a.Error) // the host refuses the connection itself
			break
		}
		c.mu.Lock()
		ch := c.open[a.ID]
		c.mu.Unlock()
		if ch != nil {
			ch <- a
		}
	}
	c.conn.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = failed
	for id, ch := range c.open {
		close(ch)
		delete(c.open, id)
	}
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

// stream sends a request and calls got for each of its answers until got
// returns false.
func (c *Client) stream(ctx context.Context, verb string, args any, got func(json.RawMessage) (more bool, err error)) error {
	ch := make(chan answer, 16)
	c.mu.Lock()
	if c.err != nil {
		defer c.mu.Unlock()
		return c.err
	}
	c.next++
	id := c.next
	c.open[id] = ch
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.open, id)
		c.mu.Unlock()
		for len(ch) > 0 { // so that the reader is not left holding one
			<-ch
		}
	}()
	if err := c.send(map[string]any{"id": id, "verb": verb, "args": args}); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case a, ok := <-ch:
			switch {
			case !ok:
				c.mu.Lock()
				defer c.mu.Unlock()
				return c.err
			case a.Error != nil:
				return (*Error)(a.Error)
			}
			if more, err := got(a.Result); err != nil || !more {
				return err
			}
		}
	}
}

func (c *Client) one(ctx context.Context, verb string, args any) (*wire.Approval, error) {
	var a wire.Approval
	err := c.stream(ctx, verb, args, func(raw json.RawMessage) (bool, error) { return false, json.Unmarshal(raw, &a) })
	if err != nil {
		return nil, err
	}
	return &a, nil
}

// List returns the requests that wait, the oldest first.
func (c *Client) List(ctx context.Context) ([]wire.Approval, error) {
	list := []wire.Approval{}
	err := c.stream(ctx, "list", map[string]any{}, func(raw json.RawMessage) (bool, error) {
		var a wire.Approval
		if err := json.Unmarshal(raw, &a); err != nil {
			return false, err
		}
		if a.Type != "approval" {
			return false, nil // the end of the list
		}
		list = append(list, a)
		return true, nil
	})
	return list, err
}

// Show returns one request. A unique beginning of an id is enough.
func (c *Client) Show(ctx context.Context, id string) (*wire.Approval, error) {
	return c.one(ctx, "show", map[string]any{"id": id})
}

// Allow lets the call of a request run once. The note goes into the record.
func (c *Client) Allow(ctx context.Context, id, note string) (*wire.Approval, error) {
	return c.one(ctx, "allow", map[string]any{"id": id, "note": note})
}

// Deny refuses the call of a request. The note is for the model that asked.
func (c *Client) Deny(ctx context.Context, id, note string) (*wire.Approval, error) {
	return c.one(ctx, "deny", map[string]any{"id": id, "note": note})
}

// Wait returns when a request is no longer pending.
func (c *Client) Wait(ctx context.Context, id string) (*wire.Approval, error) {
	return c.one(ctx, "wait", map[string]any{"id": id})
}

// Watch calls got for every request that waits, every new one, and every answer,
// until ctx ends or got fails.
func (c *Client) Watch(ctx context.Context, got func(*wire.Approval) error) error {
	return c.stream(ctx, "watch", map[string]any{}, func(raw json.RawMessage) (bool, error) {
		var a wire.Approval
		if err := json.Unmarshal(raw, &a); err != nil {
			return false, err
		}
		return true, got(&a)
	})
}
