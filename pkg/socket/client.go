package socket

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"sync"
	"time"

	"github.com/kxtools/kx/pkg/wire"
)

// cancelTime bounds how long a host is told that a request is not needed any more.
// One that does not read by then learns of it when the connection ends.
const cancelTime = time.Second

// Client is a connection to a host. It may be used by several goroutines.
type Client struct {
	Name    string // of the host
	Version string // of the kx that the host belongs to

	conn    net.Conn
	writing chan struct{} // holds a token while a line is written

	mu   sync.Mutex
	next int64
	open map[int64]*inbox
	err  error // why nothing more will come
}

func newClient(conn net.Conn) *Client {
	return &Client{conn: conn, writing: make(chan struct{}, 1), open: map[int64]*inbox{}}
}

// Close ends the connection, and with it the requests that are under way.
func (c *Client) Close() error { return c.conn.Close() }

// Ask makes a request that has one answer.
func (c *Client) Ask(ctx context.Context, verb string, args, into any) error {
	return c.Do(ctx, verb, args, func(result json.RawMessage) (bool, error) {
		return false, json.Unmarshal(result, into)
	})
}

// Do makes a request and calls each for every answer until it returns false: answers
// have no end that could be told from outside. args may be nil. When ctx ends, or each
// fails, the host is told that nobody waits any more; other requests go on.
func (c *Client) Do(ctx context.Context, verb string, args any, each func(result json.RawMessage) (more bool, err error)) error {
	id, box := c.begin()
	defer c.finish(id)
	request := map[string]any{"id": id, "verb": verb}
	if args != nil {
		request["args"] = args
	}
	line, err := encode(request)
	if err != nil {
		return err
	}
	if c.write(ctx, line) != nil && ctx.Err() != nil { // or the host takes no more, and what it says last tells why
		return c.cancel(id, ctx.Err())
	}
	for {
		select {
		case <-ctx.Done():
			return c.cancel(id, ctx.Err())
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
			more, err := each(a.Result)
			switch {
			case err != nil:
				return c.cancel(id, err)
			case !more:
				return nil
			case ctx.Err() != nil:
				return c.cancel(id, ctx.Err())
			}
		}
	}
}

// cancel lets the host know that nobody waits for a request any more, and returns
// why. It holds nobody up.
func (c *Client) cancel(id int64, why error) error {
	go func() {
		ctx, stop := context.WithTimeout(context.Background(), cancelTime)
		defer stop()
		if line, err := encode(map[string]any{"id": id, "verb": "cancel"}); err == nil {
			_ = c.write(ctx, line) // a host that has gone needs no word
		}
	}()
	return why
}

// write sends a line. A host that doesn't read holds it up until ctx ends; half a
// line leaves the connection of no use.
func (c *Client) write(ctx context.Context, line []byte) error {
	select {
	case c.writing <- struct{}{}:
		defer func() { <-c.writing }()
	case <-ctx.Done():
		return ctx.Err()
	}
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

type answer struct {
	ID     int64           `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *wire.Error     `json:"error"`
}

// inbox holds the answers to a request until they are taken. It has no bound, so
// that whoever is slow holds up nobody else: the callback of a stream may use the
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
