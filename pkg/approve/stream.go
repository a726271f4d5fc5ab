package approve

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/kxtools/kx/pkg/wire"
)

type answer struct {
	ID     int64           `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *wire.Error     `json:"error"`
}

// inbox holds the answers to a request until they are taken. It has no bound, so
// that whoever is slow holds up nobody else: a callback of Watch may use the
// client.
type inbox struct {
	queue []answer
	came  chan struct{} // holds a token while there is something to look at
}

func (b *inbox) ring() {
	select {
	case b.came <- struct{}{}:
	default:
	}
}

func encode(v any) ([]byte, error) {
	raw, err := wire.Marshal(v)
	if err == nil && len(raw) >= maxLine {
		err = fmt.Errorf("the request has more than %d bytes", maxLine)
	}
	return append(raw, '\n'), err
}

// write sends a line. A host that doesn't read holds it up until ctx ends; half a
// line leaves the connection of no use.
func (c *Client) write(ctx context.Context, line []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		c.conn.SetWriteDeadline(time.Now())
		close(ended)
	})
	n, err := c.conn.Write(line)
	if stop() {
		return err
	}
	<-ended
	if 0 < n && n < len(line) {
		c.conn.Close()
	} else {
		c.conn.SetWriteDeadline(time.Time{})
	}
	return ctx.Err()
}

// read hands answers to those who wait for them.
func (c *Client) read(lines *bufio.Scanner) {
	defer close(c.ended)
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
		if box := c.open[a.ID]; box != nil {
			box.queue = append(box.queue, a)
			box.ring()
		}
		c.mu.Unlock()
	}
	c.conn.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = failed
	for _, box := range c.open {
		box.ring()
	}
}

// begin opens an inbox for a new request.
func (c *Client) begin() (id int64, box *inbox) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	box = &inbox{came: make(chan struct{}, 1)}
	c.open[c.next] = box
	if c.err != nil {
		box.ring()
	}
	return c.next, box
}

func (c *Client) finish(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, id)
}

// take returns what has come so far. What came before the connection ended is
// returned before its error.
func (c *Client) take(box *inbox) ([]answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	got := box.queue
	box.queue = nil
	if len(got) == 0 {
		return nil, c.err
	}
	box.ring() // to look again
	return got, nil
}

// stream sends a request and calls got for each of its answers until got
// returns false.
func (c *Client) stream(ctx context.Context, verb string, args any, got func(json.RawMessage) (more bool, err error)) error {
	id, box := c.begin()
	defer c.finish(id)
	line, err := encode(map[string]any{"id": id, "verb": verb, "args": args})
	if err != nil {
		return err
	}
	switch err := c.write(ctx, line); {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		<-c.ended // the connection is over; why shows in what the host said last
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-box.came:
		}
		answers, err := c.take(box)
		if err != nil {
			return err
		}
		for _, a := range answers {
			if a.Error != nil {
				return (*Error)(a.Error)
			}
			if more, err := got(a.Result); err != nil || !more {
				return err
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
}
