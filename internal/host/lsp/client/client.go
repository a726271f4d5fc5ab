// Package client is one running language server: a process behind its walls, and the
// conversation with it. It says hello, answers whatever the server asks, keeps the last
// of what it published, knows whether it is still loading, and ends it with all that
// came from it.
//
// What holds: a server that floods, says nonsense, never reads, never answers or dies
// makes calls fail with a reason, and nothing wait for ever. It knows nothing of
// languages, files and questions: internal/host/lsp does, and calls it.
package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/proc"
	"github.com/kxtools/kx/internal/gate/sandbox"
	"github.com/kxtools/kx/internal/host/lsp/position"
	"github.com/kxtools/kx/internal/host/lsp/protocol"
	"github.com/kxtools/kx/internal/host/lsp/stream"
)

// ErrEnded is in every error that says that the server has ended.
var ErrEnded = errors.New("the language server has ended")

// ErrClosed is in it, too, where it was ended by Close.
var ErrClosed = errors.New("was ended")

// Ready is how a server tells that it has loaded the workspace.
type Ready int

// The ways.
const (
	AtOnce     Ready = iota // it makes requests wait until it can answer
	OnProgress              // by the end of the first work that it reports
	OnStatus                // by experimental/serverStatus
	OnFound                 // by saying how many source files it has found, as pyright does
)

// Options say what to start, and how.
type Options struct {
	Argv  []string // Argv[0] is the path of the program
	Dir   string
	Env   []string      // all of its variables, beside those of the cell
	Cell  *sandbox.Cell // its walls, for Argv and Dir; nil for none
	Root  string        // the workspace, canonical
	Ready Ready

	// Called is what it is where it doesn't say: name and version.
	Called [2]string

	Options  any                      // of initialization; nil for none
	Settings func(section string) any // its configuration, nil for none; must not block

	// Grace is how long it may take to answer that it shall end, and as long again to
	// end; 0 for the usual.
	Grace time.Duration
	Log   func(line string) // gets what it complains of; nil for nobody

	stuck time.Duration // how long it may read nothing; 0 for the usual
}

// Client is a running server. Its methods may be called from everywhere at once.
type Client struct {
	opt    Options
	p      *process
	stream *stream.Stream
	conn   *jsonrpc2.Conn
	lastID atomic.Uint64
	hello  atomic.Pointer[protocol.InitializeResult] // never nil

	load  *loading
	push  published
	watch watched
	said  complaints

	refreshes atomic.Int64

	broke chan error    // why the conversation can't go on
	stop  chan struct{} // closed by Close
	over  chan struct{} // closed when it has ended, or must; err says why
	done  chan struct{} // closed when nothing of it is left
	err   error
	left  []int
	close sync.Once
	asked atomic.Bool // it shall end
}

// Start starts a server and says hello to it. When it fails nothing is left behind, and
// the error has what the server said on its standard error.
func Start(ctx context.Context, opt Options) (*Client, error) {
	if opt.Grace == 0 {
		opt.Grace = grace
	}
	if opt.stuck == 0 {
		opt.stuck = stream.StuckAfter
	}
	c := &Client{
		opt: opt, load: newLoading(opt.Ready), push: newPublished(), watch: newWatched(opt.Root),
		broke: make(chan error, 1), stop: make(chan struct{}), over: make(chan struct{}), done: make(chan struct{}),
	}
	c.hello.Store(&protocol.InitializeResult{})
	c.said.log = opt.Log
	var err error
	if c.p, err = startProcess(opt, c.said.line); err != nil {
		return nil, fail.Unavailable("lsp_failed", "%s can't be started: %v", c.Name(), err).Because(err)
	}
	c.stream = stream.New(c.p.in, c.p.out, opt.stuck, c.breaks)
	c.conn = jsonrpc2.NewConn(context.Background(), c.stream, handler{c}, jsonrpc2.SetLogger(silent{}))
	go c.supervise()
	if err := c.sayHello(ctx); err != nil {
		c.close.Do(func() { close(c.stop) })
		<-c.done
		return nil, err
	}
	return c, nil
}

// silent is a logger of jsonrpc2: what it has to say is told in other ways.
type silent struct{}

func (silent) Printf(string, ...any) {}

// sayHello is the exchange with which a conversation begins.
func (c *Client) sayHello(ctx context.Context) error {
	root := protocol.FromPath(c.opt.Root)
	params := protocol.InitializeParams{
		ClientInfo:   protocol.ClientInfo{Name: "kx"},
		RootURI:      root,
		Folders:      []protocol.Folder{{URI: root, Name: filepath.Base(c.opt.Root)}},
		Options:      c.opt.Options,
		Capabilities: json.RawMessage(protocol.ClientCapabilities),
	}
	var hello protocol.InitializeResult
	err := c.Call(ctx, "initialize", params, &hello)
	var theirs *protocol.Error
	switch {
	case errors.Is(err, ErrEnded):
		return err
	case errors.As(err, &theirs):
		return fail.Unavailable("lsp_failed", "%s refuses to start: %s%s", c.Name(), theirs.Message, c.p.words()).Because(err)
	case ctx.Err() != nil:
		return fail.Unavailable("lsp_failed", "%s did not answer when it was started%s", c.Name(), c.p.words()).Because(err)
	case err != nil:
		return fail.Unavailable("lsp_failed", "%s can't be understood: %v%s", c.Name(), err, c.p.words()).Because(err)
	}
	c.hello.Store(&hello)
	switch c.Encoding() {
	case position.UTF8, position.UTF16, position.UTF32:
	default:
		return fail.Unavailable("lsp_failed", "%s counts columns in %q, which is unknown here", c.Name(), c.Encoding())
	}
	return c.Notify(ctx, "initialized", struct{}{})
}

// Name is what the server calls itself, or its program.
func (c *Client) Name() string {
	if name := c.hello.Load().ServerInfo.Name; name != "" {
		return name
	}
	return cmp.Or(c.opt.Called[0], filepath.Base(c.opt.Argv[0]))
}

// Version is what it calls its version, "" if it doesn't say. That of gopls is a
// document with all of its build in it.
func (c *Client) Version() string {
	info := c.hello.Load().ServerInfo
	version := info.Version
	if info.Name == "" {
		version = cmp.Or(version, c.opt.Called[1])
	}
	var build struct{ Version string }
	if json.Unmarshal([]byte(version), &build) == nil {
		return build.Version
	}
	return version
}

// Caps is what it said that it can do.
func (c *Client) Caps() *protocol.Capabilities { return &c.hello.Load().Capabilities }

// Encoding is how it counts the columns of positions.
func (c *Client) Encoding() position.Encoding {
	if e := c.Caps().PositionEncoding; e != "" {
		return position.Encoding(e)
	}
	return position.UTF16
}

// Has reports whether the server has a method, by its capabilities or a registration.
func (c *Client) Has(method string) bool { return c.Caps().Has(method) || c.Registered(method) }

// Health is what it says of itself while it is not well, "" otherwise; broken if it
// says that it can't work.
func (c *Client) Health() (what string, broken bool) { return c.said.well() }

// Said is what it complained of last, "" for nothing.
func (c *Client) Said() string {
	if said := c.said.last(); said != "" {
		return said
	}
	return c.p.stderr.String()
}

// PID is its first process, as this machine numbers it.
func (c *Client) PID() int { return c.p.cmd.Process.Pid }

// Memory is what all of its processes have in memory, in bytes; 0 where that can't be
// told.
func (c *Client) Memory() int64 {
	select {
	case <-c.over:
		return 0
	default:
		return proc.Memory(c.PID())
	}
}

// Done is closed when it has ended, with all that came from it.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err says why it has ended; nil while it runs.
func (c *Client) Err() error {
	select {
	case <-c.over:
		return c.err
	default:
		return nil
	}
}

// Close ends it, politely at first, and returns the processes that could not be ended.
func (c *Client) Close() (left []int) {
	c.close.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), c.opt.Grace)
		defer cancel()
		c.asked.Store(true)
		// What doesn't answer is ended all the same.
		if err := c.Call(ctx, "shutdown", nil, nil); err == nil {
			_ = c.Notify(ctx, "exit", nil)
			select {
			case <-c.over:
			case <-time.After(c.opt.Grace):
			}
		}
		close(c.stop)
	})
	<-c.done
	return c.left
}

// breaks notes the first reason why the conversation can't go on.
func (c *Client) breaks(err error) {
	select {
	case c.broke <- err:
	default:
	}
}

// drain waits until its output is read: what it has said before it ended is still an answer.
func (c *Client) drain() {
	select {
	case <-c.stream.Ended():
	case <-time.After(lastWords):
	}
}

// supervise waits for the end, whichever it is, and cleans up.
func (c *Client) supervise() {
	var why error
	select {
	case <-c.stop:
		why = ErrClosed
	case why = <-c.broke:
	case <-c.stream.Ended():
		c.p.wait(lastWords)
		why = c.p.how("output")
	case <-c.p.exited:
		c.drain()
		why = c.p.how("")
	case <-c.stream.Deaf():
		c.p.wait(lastWords)
		c.drain()
		why = c.p.how("input")
	}
	select {
	case why = <-c.broke: // tells more
	default:
	}
	words := c.p.words()
	if c.asked.Load() { // whatever its exit status is, and its last words
		why, words = ErrClosed, ""
	}
	c.err = fail.Unavailable("lsp_ended", "%s %v%s", c.Name(), why, words).Because(fmt.Errorf("%w: %w", ErrEnded, why))
	close(c.over)
	c.push.wake()
	c.load.wake()
	c.left = c.p.end()
	_ = c.conn.Close() // it may be closed already
	close(c.done)
}
