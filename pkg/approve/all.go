package approve

import (
	"context"
	"encoding/json"

	"github.com/kxtools/kx/pkg/wire"
)

// AllowAll lets the calls of all requests of a session run. ids are those that
// were shown to the person: unless they are exactly what waits, nothing is
// answered and the error is a conflict. The answered requests are returned.
func (c *Client) AllowAll(ctx context.Context, session string, ids []string, note string) ([]wire.Approval, error) {
	return c.all(ctx, "allow-all", session, ids, note)
}

// DenyAll refuses the calls of all requests of a session, as AllowAll allows them.
func (c *Client) DenyAll(ctx context.Context, session string, ids []string, note string) ([]wire.Approval, error) {
	return c.all(ctx, "deny-all", session, ids, note)
}

func (c *Client) all(ctx context.Context, verb, session string, ids []string, note string) ([]wire.Approval, error) {
	return c.many(ctx, verb, map[string]any{"session": session, "ids": ids, "note": note})
}

// many returns the requests that are the answer to a verb.
func (c *Client) many(ctx context.Context, verb string, args any) ([]wire.Approval, error) {
	list := []wire.Approval{}
	err := c.socket.Do(ctx, verb, args, func(raw json.RawMessage) (bool, error) {
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
