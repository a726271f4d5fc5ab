package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/kxtools/kx/internal/host/lsp/protocol"
)

// Call asks and waits for the answer. When ctx ends the server is told to stop. An error
// of the server itself is a *protocol.Error; the error is ErrEnded when it has ended.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	if err := c.room(ctx); err != nil {
		return err
	}
	id := jsonrpc2.ID{Num: c.lastID.Add(1)}
	call, err := c.conn.DispatchCall(ctx, method, given(params), jsonrpc2.PickID(id))
	if err != nil {
		return c.callError(ctx, err)
	}
	var raw json.RawMessage
	if err := call.Wait(ctx, &raw); err != nil {
		if ctx.Err() != nil {
			// It may have ended at this moment, and then there is nobody to be told.
			_ = c.conn.Notify(context.Background(), "$/cancelRequest", map[string]any{"id": id})
			return ctx.Err()
		}
		return c.callError(ctx, err)
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(raw, result); err != nil {
		return fmt.Errorf("the answer of %s to %s can't be read: %w", c.Name(), method, err)
	}
	return nil
}

// Notify tells something. It waits while the server is behind with reading.
func (c *Client) Notify(ctx context.Context, method string, params any) error {
	if err := c.room(ctx); err != nil {
		return err
	}
	c.load.notified(method)
	if err := c.conn.Notify(ctx, method, given(params)); err != nil {
		return c.callError(ctx, err)
	}
	return nil
}

// given leaves out params that are nil.
func given(params any) any {
	if raw, ok := params.(json.RawMessage); ok && raw == nil {
		return nil
	}
	return params
}

// room waits until the server has read enough of what it was told before.
func (c *Client) room(ctx context.Context) error {
	for {
		select {
		case <-c.over:
			return c.err
		default:
		}
		full := c.stream.Full()
		if full == nil {
			return ctx.Err()
		}
		select {
		case <-full:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stack is how the part of an error begins that only those who make the server can read:
// where in its code it was, as JavaScript has it.
const stack = "\n    at "

// callError says what an error of jsonrpc2 means.
func (c *Client) callError(ctx context.Context, err error) error {
	var theirs *jsonrpc2.Error
	if errors.As(err, &theirs) {
		what, _, _ := strings.Cut(theirs.Message, stack)
		e := &protocol.Error{Code: theirs.Code, Message: what}
		if theirs.Data != nil {
			e.Data = *theirs.Data
		}
		return e
	}
	if !errors.Is(err, jsonrpc2.ErrClosed) && !errors.Is(err, io.ErrClosedPipe) {
		return err // of our own params
	}
	select {
	case <-c.over: // says why
		return c.err
	case <-ctx.Done():
		return ctx.Err()
	}
}
