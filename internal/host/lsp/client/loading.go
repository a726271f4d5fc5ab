package client

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/kxtools/kx/internal/host/lsp/protocol"
)

const (
	// beginsWithin is how long a server that reports its work has to begin with it, from
	// when it was started and from when it has its first document; one that reports
	// nothing has loaded then. It is a moment for those that do.
	beginsWithin = time.Second
	// saysWithin is how long a server that says what it has found may say nothing at all;
	// it was told to be quiet then, and no more is to be expected.
	saysWithin = 10 * time.Second
	// maxWork is how many pieces of work of a server are kept track of at once.
	maxWork = 1000
	// maxWhat is how much is kept of what it says of one, in bytes.
	maxWhat = 200
)

// loading knows what a server works at, and whether it has loaded the workspace.
type loading struct {
	ready Ready

	mu      sync.Mutex
	news    chan struct{} // closed at the next change
	over    bool
	work    map[protocol.Word]work
	title   string    // of the first work, which is how the server calls loading
	begins  time.Time // until then the first work may begin; zero before it is told so
	says    time.Time // until then it says something, if it ever does; zero likewise
	spoke   bool      // it has said something
	found   bool      // it has said what it has found
	opened  bool      // it has a document
	quiet   bool      // its status says that it has loaded
	busy    bool      // its status says that it has not
	message string    // of its status

	ends map[protocol.Word]int // how often work of a token has ended
}

// work is a piece of work under way.
type work struct {
	title, message string
	percent        int // -1 if it doesn't say
}

func newLoading(ready Ready) *loading {
	return &loading{ready: ready, news: make(chan struct{}), work: map[protocol.Word]work{}, ends: map[protocol.Word]int{}}
}

// changed tells everybody who waits; the caller has locked.
func (l *loading) changed() {
	close(l.news)
	l.news = make(chan struct{})
}

// wake ends all waiting: the server has ended.
func (l *loading) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	l.changed()
}

// notified notes what the server was told.
func (l *loading) notified(method string) {
	first := method == "textDocument/didOpen"
	if method != "initialized" && !first {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if first && l.opened {
		return
	}
	l.opened = first
	l.begins = time.Now().Add(beginsWithin)
	if !first {
		l.says = time.Now().Add(saysWithin)
	}
	l.changed()
}

// progress notes what the server reports.
func (l *loading) progress(p protocol.Progress) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w, known := l.work[p.Token]
	switch {
	case p.Value.Kind == "end":
		delete(l.work, p.Token)
		if _, known := l.ends[p.Token]; known || len(l.ends) < maxWork {
			l.ends[p.Token]++
		}
		l.changed()
		return
	case !known && len(l.work) >= maxWork:
		return
	case p.Value.Kind == "begin":
		w = work{title: cut(p.Value.Title), percent: -1}
		if l.title == "" {
			l.title = w.title
		}
	}
	if p.Value.Message != "" {
		w.message = cut(p.Value.Message)
	}
	if n := p.Value.Percentage; n != nil {
		w.percent = int(min(max(*n, 0), 100))
	}
	l.work[p.Token] = w
	l.changed()
}

// status notes what rust-analyzer says of itself.
func (l *loading) status(s protocol.Status) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.quiet, l.busy, l.message = s.Quiescent, !s.Quiescent, cut(s.Message)
	l.changed()
}

// logged notes what the server logs. Until pyright has said this it answers from the
// files that are open.
func (l *loading) logged(text string) {
	found := strings.HasPrefix(text, "Found ") && strings.Contains(text, " source file") || strings.HasPrefix(text, "No source files found")
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ready != OnFound || l.spoke && !found {
		return
	}
	l.spoke, l.found = true, l.found || found
	l.changed()
}

// cut is what is kept of a text of the server, which stands in messages.
func cut(s string) string { return oneLine(s[:min(len(s), maxWhat)]) }

// state tells whether the server is loading, and when that may be over by itself, zero
// for never. The caller has locked.
func (l *loading) state() (loading bool, until time.Time) {
	switch {
	case l.busy: // says any server that has a status
		return true, time.Time{}
	case l.ready == OnStatus:
		return !l.quiet, time.Time{}
	}
	switch l.ready {
	case OnFound:
		switch {
		case l.found:
			return false, time.Time{}
		case l.spoke || l.says.IsZero():
			return true, time.Time{}
		}
		return time.Now().Before(l.says), l.says
	case OnProgress:
		if l.title == "" {
			return l.begins.IsZero() || time.Now().Before(l.begins), l.begins
		}
		for _, w := range l.work {
			if w.title == l.title {
				return true, time.Time{}
			}
		}
	}
	return false, time.Time{}
}

// tell is Loading.
func (l *loading) tell() (loading bool, percent int, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if loading, _ = l.state(); !loading {
		return false, -1, ""
	}
	percent = -1
	for _, w := range l.work {
		if l.ready == OnProgress && w.title != l.title || w.percent < percent {
			continue
		}
		percent, what = w.percent, strings.TrimSpace(w.title+" "+w.message)
	}
	return true, percent, what
}

// wait waits until ok, which is called with the lock held and says until when it may
// become so by itself.
func (l *loading) wait(ctx context.Context, ok func() (bool, time.Time)) error {
	for {
		l.mu.Lock()
		yes, until := ok()
		news, over := l.news, l.over
		l.mu.Unlock()
		var alarm <-chan time.Time
		switch {
		case yes:
			return nil
		case over:
			return ErrEnded
		case !until.IsZero():
			alarm = time.After(time.Until(until))
		}
		select {
		case <-news:
		case <-alarm:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Loading reports whether it is still loading, how far it is in percent (-1 if it
// doesn't say), and what it does.
func (c *Client) Loading() (loading bool, percent int, what string) { return c.load.tell() }

// Loaded waits until it has loaded.
func (c *Client) Loaded(ctx context.Context) error {
	return c.ended(c.load.wait(ctx, func() (bool, time.Time) {
		loading, until := c.load.state()
		return !loading, until
	}))
}

// WaitProgress waits until no work is under way whose token or title begins with prefix.
func (c *Client) WaitProgress(ctx context.Context, prefix string) error {
	return c.ended(c.load.wait(ctx, func() (bool, time.Time) {
		for token, w := range c.load.work {
			if strings.HasPrefix(string(token), prefix) || strings.HasPrefix(w.title, prefix) {
				return false, time.Time{}
			}
		}
		return true, time.Time{}
	}))
}

// Progress calls do, which makes the server begin some work, and waits until that is
// over: work of all tokens that begin with prefix, as far as they were seen before, and
// of one at least. What is under way already does not count.
func (c *Client) Progress(ctx context.Context, prefix string, do func() error) error {
	c.load.mu.Lock()
	before := map[protocol.Word]int{}
	for token, n := range c.load.ends {
		before[token] = n
	}
	for token := range c.load.work {
		before[token]++
	}
	c.load.mu.Unlock()
	if err := do(); err != nil {
		return err
	}
	return c.ended(c.load.wait(ctx, func() (bool, time.Time) {
		over := false
		for token, n := range c.load.ends {
			if strings.HasPrefix(string(token), prefix) {
				if n <= before[token] {
					return false, time.Time{}
				}
				over = true
			}
		}
		for token := range c.load.work {
			if strings.HasPrefix(string(token), prefix) {
				return false, time.Time{}
			}
		}
		return over, time.Time{}
	}))
}

// ended says why, of an error that says that it has ended.
func (c *Client) ended(err error) error {
	if err == ErrEnded {
		return c.err
	}
	return err
}
