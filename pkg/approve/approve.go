// Package approve is a client of kx's approval socket: it lists the requests
// that wait for a person, answers them, and waits for answers.
//
//	c, err := approve.Dial(ctx, approve.Options{Socket: path, KeyName: "approver", Key: key})
//	...
//	pending, err := c.List(ctx)
//
// The approver key proves the right to answer; with the host key a client may
// only look and wait. Both lie in the state directory (kx config path state) as
// hexadecimal digits; the socket is approve.sock in the runtime directory (kx
// config path runtime), and the state directory's approvals/host.lock names it
// where it lies elsewhere. The host runs while somebody needs it; kx approve allow,
// deny and wait start it.
//
// Errors are *Error with the code and exit status that kx itself would give,
// ErrNoHost and ErrClosed where there is no host, and those of the context.
package approve

import (
	"context"
	"encoding/json"

	"github.com/kxtools/kx/pkg/socket"
	"github.com/kxtools/kx/pkg/wire"
)

// Error is what the host answers when a request fails.
type Error = socket.Error

// ErrNoHost says that no host listens on the socket.
var ErrNoHost = socket.ErrNoHost

// ErrClosed says that the host went away. What was decided before is in the
// state directory.
var ErrClosed = socket.ErrClosed

// Options say where the host is and who the client is: with KeyName "approver" it may
// answer, with "host" it may look and wait.
type Options = socket.Options

// Client is a connection to the approval host. It may be used by several
// goroutines.
type Client struct {
	Version string // of the host

	socket *socket.Client
}

// Dial connects and offers the key. A host that refuses the key says so in answer
// to the first request.
func Dial(ctx context.Context, o Options) (*Client, error) {
	c, err := socket.Dial(ctx, o)
	if err != nil {
		return nil, err
	}
	return New(c), nil
}

// New returns a client that speaks through a connection to the approval host.
func New(c *socket.Client) *Client { return &Client{Version: c.Version, socket: c} }

// Close ends the connection.
func (c *Client) Close() error { return c.socket.Close() }

func (c *Client) one(ctx context.Context, verb string, args any) (*wire.Approval, error) {
	var a wire.Approval
	if err := c.socket.Ask(ctx, verb, args, &a); err != nil {
		return nil, err
	}
	return &a, nil
}

// List returns the requests that wait, the oldest first.
func (c *Client) List(ctx context.Context) ([]wire.Approval, error) {
	return c.many(ctx, "list", map[string]any{})
}

// Show returns one request. A unique beginning of an id is enough.
func (c *Client) Show(ctx context.Context, id string) (*wire.Approval, error) {
	return c.one(ctx, "show", map[string]any{"id": id})
}

// Answer is what goes with a yes or a no. The zero value is a plain answer.
type Answer struct {
	// Note goes into the record; the model hears that of a denial.
	Note string `json:"note,omitempty"`
	// Scope of an allow: "once" (also if empty), "session", or "always", which
	// adds literal rules for exactly this call to the session or to the user's
	// policy. The rules are in the answer.
	Scope string `json:"scope,omitempty"`
	// Input of an allow takes the place of the one that was asked for. It is
	// judged anew before it runs.
	Input json.RawMessage `json:"input,omitempty"`
	// IdempotencyKey makes it safe to answer again after a failure: the same
	// key with the same answer gives the same result, with another answer a
	// conflict.
	IdempotencyKey string `json:"idempotency_key,omitempty"`
}

type answerArgs struct {
	ID string `json:"id"`
	Answer
}

// Allow lets the call of a request run.
func (c *Client) Allow(ctx context.Context, id string, a Answer) (*wire.Approval, error) {
	return c.one(ctx, "allow", answerArgs{id, a})
}

// Deny refuses the call of a request. A denial has no scope and no input.
func (c *Client) Deny(ctx context.Context, id string, a Answer) (*wire.Approval, error) {
	return c.one(ctx, "deny", answerArgs{id, a})
}

// Reply answers the questions of a request of kind "question", each once.
func (c *Client) Reply(ctx context.Context, id string, answers []wire.QuestionAnswer, note string) (*wire.Approval, error) {
	return c.one(ctx, "answer", map[string]any{"id": id, "answers": answers, "note": note})
}

// Wait returns when a request is no longer pending.
func (c *Client) Wait(ctx context.Context, id string) (*wire.Approval, error) {
	return c.one(ctx, "wait", map[string]any{"id": id})
}

// Watch calls got for every request that waits, every new one, and every answer,
// until ctx ends or got fails.
func (c *Client) Watch(ctx context.Context, got func(*wire.Approval) error) error {
	return c.socket.Do(ctx, "watch", map[string]any{}, func(raw json.RawMessage) (bool, error) {
		var a wire.Approval
		if err := json.Unmarshal(raw, &a); err != nil {
			return false, err
		}
		return true, got(&a)
	})
}
