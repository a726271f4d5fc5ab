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
	"context"
	"errors"
	"time"

	"github.com/sourcegraph/go-lsp"

	"github.com/kxtools/kx/internal/gate/sandbox"
	"github.com/kxtools/kx/internal/host/lsp/position"
	"github.com/kxtools/kx/internal/host/lsp/protocol"
)

// ErrEnded is in every error that says that the server has ended.
var ErrEnded = errors.New("the language server has ended")

// Ready is how a server tells that it has loaded the workspace.
type Ready int

const (
	AtOnce     Ready = iota // it makes requests wait until it can answer
	OnProgress              // by the end of the first work that it reports
	OnStatus                // by experimental/serverStatus
)

// Options say what to start, and how.
type Options struct {
	Argv  []string // Argv[0] is the path of the program
	Dir   string
	Env   []string      // all of its variables, beside those of the cell
	Cell  *sandbox.Cell // its walls, for Argv and Dir; nil for none
	Root  string        // the workspace, canonical
	Ready Ready

	Options  any                      // of initialization; nil for none
	Settings func(section string) any // its configuration, nil for none; called while nothing else is read

	// Grace is how long it may take to answer that it shall end, and as long again to
	// end; 0 for the usual.
	Grace time.Duration
	Log   func(line string) // gets what it complains of; nil for nobody
}

// Client is a running server. Its methods may be called from everywhere at once.
type Client struct{}

// Start starts a server and says hello to it. When it fails nothing is left behind, and
// the error has what the server said on its standard error.
func Start(ctx context.Context, opt Options) (*Client, error) { panic("not yet") }

// Name is what the server calls itself, or its program.
func (c *Client) Name() string { panic("not yet") }

// Version is what it calls its version, "" if it doesn't say.
func (c *Client) Version() string { panic("not yet") }

// PID is its first process, as this machine numbers it.
func (c *Client) PID() int { panic("not yet") }

// Caps is what it said that it can do.
func (c *Client) Caps() *protocol.Capabilities { panic("not yet") }

// Encoding is how it counts the columns of positions.
func (c *Client) Encoding() position.Encoding { panic("not yet") }

// Call asks and waits for the answer. When ctx ends the server is told to stop. An error
// of the server itself is a *protocol.Error; the error is ErrEnded when it has ended.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	panic("not yet")
}

// Notify tells something. It waits while the server is behind with reading.
func (c *Client) Notify(ctx context.Context, method string, params any) error { panic("not yet") }

// Has reports whether the server has a method, by its capabilities or a registration.
func (c *Client) Has(method string) bool { panic("not yet") }

// Registered reports whether it has registered for a method.
func (c *Client) Registered(method string) bool { panic("not yet") }

// Watches reports whether it wants to hear of changes of a file.
func (c *Client) Watches(path string) bool { panic("not yet") }

// Loading reports whether it is still loading, how far it is in percent (-1 if it
// doesn't say), and what it does.
func (c *Client) Loading() (loading bool, percent int, what string) { panic("not yet") }

// Loaded waits until it has loaded.
func (c *Client) Loaded(ctx context.Context) error { panic("not yet") }

// WaitProgress waits until no work is under way whose token or title begins with prefix.
func (c *Client) WaitProgress(ctx context.Context, prefix string) error { panic("not yet") }

// Pushed is what it published of a file last.
func (c *Client) Pushed(uri lsp.DocumentURI) (protocol.Published, bool) { panic("not yet") }

// WaitPushed waits until what it published of a file is ok.
func (c *Client) WaitPushed(ctx context.Context, uri lsp.DocumentURI, ok func(protocol.Published) bool) (protocol.Published, error) {
	panic("not yet")
}

// Forget forgets what it published of a file.
func (c *Client) Forget(uri lsp.DocumentURI) { panic("not yet") }

// Refreshes counts how often it asked to be asked for diagnostics again.
func (c *Client) Refreshes() int64 { panic("not yet") }

// Said is what it complained of last, "" for nothing.
func (c *Client) Said() string { panic("not yet") }

// Done is closed when it has ended, with all that came from it.
func (c *Client) Done() <-chan struct{} { panic("not yet") }

// Err says why it has ended; nil while it runs.
func (c *Client) Err() error { panic("not yet") }

// Memory is what all of its processes have in memory, in bytes; 0 where that can't be
// told.
func (c *Client) Memory() int64 { panic("not yet") }

// Close ends it, politely at first, and returns the processes that could not be ended.
func (c *Client) Close() (left []int) { panic("not yet") }
