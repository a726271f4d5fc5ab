package ask

import (
	"context"
	"strings"
	"time"

	"github.com/kxtools/kx/internal/host/lsp/client"
	"github.com/kxtools/kx/internal/host/lsp/service"
)

// beginWithin is how long after the first the compilers of a workspace with several
// projects may begin. They are all started at once; from the second time on it is known
// how many there are.
const beginWithin = 150 * time.Millisecond

// checks are the runs of the project's own compiler for one server.
type checks struct {
	done int64 // the change up to which it has looked at everything, -1 at first
	seen bool  // it is known which projects there are
	now  *run
}

// run is a compiler at work; whoever needs it waits for the same one.
type run struct {
	told int64
	over chan struct{}
	err  error
}

// check lets a server run the project's own compiler, unless it has done so since the
// last change. A file that compiles only by the server's own reckoning is not clean.
// The compiler goes on if nobody waits for it any more: who asks again finds it further.
func (w *Workspace) check(ctx context.Context, v *service.View) error {
	for {
		w.mu.Lock()
		c := w.checksOf(v.Client)
		if c.done >= v.Told {
			w.mu.Unlock()
			return nil
		}
		r := c.now
		if r == nil {
			r = &run{told: v.Told, over: make(chan struct{})}
			c.now = r
			go w.compile(v, c, r)
		}
		w.mu.Unlock()
		select {
		case <-r.over:
		case <-ctx.Done():
			return ctx.Err()
		}
		if r.err != nil || r.told >= v.Told {
			return r.err
		}
	}
}

// checksOf are those of a server; those of servers that have ended are dropped. The
// lock is held.
func (w *Workspace) checksOf(c *client.Client) *checks {
	for other := range w.checked {
		select {
		case <-other.Done():
			delete(w.checked, other)
		default:
		}
	}
	if w.checked[c] == nil {
		w.checked[c] = &checks{done: -1}
	}
	return w.checked[c]
}

// compile lets it look at all projects: told of a file, it might look at a part of one
// only, and not at the others.
func (w *Workspace) compile(v *service.View, c *checks, r *run) {
	how := v.Server.Check
	ctx := context.Background() // until the server ends
	r.err = v.Progress(ctx, how.Token, func() error { return v.Notify(ctx, how.Method, map[string]any{"textDocument": nil}) })
	w.mu.Lock()
	first := !c.seen
	w.mu.Unlock()
	if r.err == nil && first {
		time.Sleep(beginWithin)
		r.err = v.WaitProgress(ctx, how.Token)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.now = nil; r.err == nil {
		c.seen, c.done = true, max(c.done, r.told)
	}
	close(r.over)
}

// failed says why the compiler could not look, "" if it could. Then it is to look again
// for the next question: the cause may lie outside of the workspace.
func (w *Workspace) failed(v *service.View) string {
	what, _ := v.Health()
	if !strings.Contains(what, v.Server.Check.Failed) {
		return ""
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.checksOf(v.Client).done = -1
	return cause(what)
}

// cause is the end of a long complaint of cargo, which says what is wrong.
func cause(what string) string {
	if _, after, ok := strings.Cut(what, "error: "); ok {
		what = after
	}
	what, _, _ = strings.Cut(what, "; Workspace `")
	return strings.ReplaceAll(what, "Caused by:; ", "")
}
