// Package socket is a client of the local sockets of kx: those of the residents that
// it starts, such as the approval host.
//
//	c, err := socket.Dial(ctx, socket.Options{Socket: path, KeyName: "host", Key: key})
//	...
//	var about wire.Host
//	err = c.Ask(ctx, "info", nil, &about)
//
// Both sides send JSON, one object a line, at most 1 MiB. The host speaks first, the
// client proves that it has a key of the state directory, then requests and answers go
// by number; kx-json(7) has the lines. Every host knows the verbs info, ready and stop;
// what else one knows is its own, see pkg/approve for the approval host.
//
// Errors are *Error with the code and exit status that kx itself would give,
// ErrNoHost and ErrClosed where there is no host, and those of the context. Nothing
// that came before the end of a connection is lost.
package socket

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
	"syscall"
	"time"

	"github.com/kxtools/kx/pkg/wire"
)

// maxLine is the longest line that either side sends, with its end, in bytes.
const maxLine = 1 << 20

// dialTime bounds the handshake.
const dialTime = 5 * time.Second

// minNonce is the shortest nonce, in bytes, that a key is proved with.
const minNonce = 16

// Error is what a host answers when a request fails.
type Error wire.Error

func (e *Error) Error() string { return e.Message }

// ErrNoHost says that nobody listens on the socket.
var ErrNoHost = errors.New("no host listens on the socket")

// ErrClosed says that the host went away. Whether it did what it was asked to do last
// is not known.
var ErrClosed = errors.New("the host closed the connection")

// Options say where the host is and who the client is.
type Options struct {
	Socket  string
	KeyName string // "host", or "approver" where that may do more
	Key     []byte

	// Dial opens the socket; nil for net.Dialer.
	Dial func(ctx context.Context, path string) (net.Conn, error)
}

// Dial connects and offers the key. A host that refuses the key says so in answer
// to the first request.
func Dial(ctx context.Context, o Options) (*Client, error) {
	dial := o.Dial
	if dial == nil {
		dial = func(ctx context.Context, path string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		}
	}
	conn, err := dial(ctx, o.Socket)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return nil, fmt.Errorf("%w: %w", ErrNoHost, err)
	case err != nil:
		return nil, err
	}
	c := newClient(conn)
	lines := bufio.NewScanner(conn)
	lines.Buffer(make([]byte, 4096), maxLine)
	conn.SetDeadline(time.Now().Add(dialTime))
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now()) })
	err = c.greet(lines, o)
	if !stop() {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	conn.SetDeadline(time.Time{})
	go c.read(lines)
	return c, nil
}

// greet reads what the host says of itself and answers its nonce.
func (c *Client) greet(lines *bufio.Scanner, o Options) error {
	if !lines.Scan() {
		return gone(lines.Err())
	}
	var hello struct {
		Type, Name, Version, Nonce string
		V                          int
	}
	if err := json.Unmarshal(lines.Bytes(), &hello); err != nil || hello.Type != "hello" {
		return fmt.Errorf("%s is no socket of kx", o.Socket)
	}
	nonce, err := hex.DecodeString(hello.Nonce)
	if err != nil || len(nonce) < minNonce {
		return fmt.Errorf("%s is no socket of kx", o.Socket)
	}
	c.Name, c.Version = hello.Name, hello.Version
	h := hmac.New(sha256.New, o.Key)
	h.Write(nonce)
	line, err := encode(map[string]any{"type": "auth", "v": wire.Version, "key": o.KeyName, "mac": hex.EncodeToString(h.Sum(nil))})
	if err != nil {
		return err
	}
	if _, err := c.conn.Write(line); err != nil {
		return gone(err)
	}
	return nil
}

// gone returns ErrNoHost if the host ended during the greeting. A scanner says nil
// at the end of what it reads.
func gone(err error) error {
	if err == nil || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		return ErrNoHost
	}
	return err
}

func encode(v any) ([]byte, error) {
	raw, err := wire.Marshal(v)
	if err == nil && len(raw) >= maxLine {
		err = fmt.Errorf("the request has more than %d bytes", maxLine)
	}
	return append(raw, '\n'), err
}
