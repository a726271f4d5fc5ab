package client

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/sourcegraph/go-lsp"

	"github.com/kxtools/kx/internal/host/lsp/protocol"
)

const (
	// maxPublished is of how many files the last diagnostics are kept: more than are
	// ever open at once.
	maxPublished = 10000
	// maxPublishedBytes is how much the server may have written for all of them.
	maxPublishedBytes = 64 << 20
)

// published keeps what a server published last, of the files that it spoke of last.
type published struct {
	mu    sync.Mutex
	news  chan struct{} // closed at the next change
	over  bool
	count int64
	bytes int
	files map[string]*list.Element // by path: servers write an address in ways of their own
	order *list.List               // of *file, oldest first
}

type file struct {
	protocol.Published
	key  string
	size int
}

func newPublished() published {
	return published{news: make(chan struct{}), files: map[string]*list.Element{}, order: list.New()}
}

// fileKey is one for all the ways to write the address of a file.
func fileKey(uri lsp.DocumentURI) string {
	if path, ok := protocol.ToPath(uri); ok {
		return path
	}
	return string(uri)
}

// add keeps what the server published, in size bytes, unless it has published of a newer
// text before.
func (p *published) add(pub protocol.Published, size int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	pub.Seq, pub.At = p.count, time.Now()
	key := fileKey(pub.URI)
	if e := p.files[key]; e != nil && older(pub.Version, e.Value.(*file).Version) {
		return
	}
	p.drop(p.files[key])
	p.files[key] = p.order.PushBack(&file{pub, key, size})
	p.bytes += size
	for p.order.Len() > maxPublished || p.bytes > maxPublishedBytes && p.order.Len() > 1 {
		p.drop(p.order.Front())
	}
	close(p.news)
	p.news = make(chan struct{})
}

func older(a, b *int) bool { return a != nil && b != nil && *a < *b }

func (p *published) drop(e *list.Element) {
	if e == nil {
		return
	}
	f := p.order.Remove(e).(*file)
	delete(p.files, f.key)
	p.bytes -= f.size
}

// wake ends all waiting: the server has ended.
func (p *published) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	close(p.news)
	p.news = make(chan struct{})
}

func (p *published) get(uri lsp.DocumentURI) (pub protocol.Published, found bool, news <-chan struct{}, over bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.files[fileKey(uri)]; e != nil {
		pub, found = e.Value.(*file).Published, true
	}
	return pub, found, p.news, p.over
}

// Pushed is what it published of a file last.
func (c *Client) Pushed(uri lsp.DocumentURI) (protocol.Published, bool) {
	pub, found, _, _ := c.push.get(uri)
	return pub, found
}

// AllPushed is what it published of all files last.
func (c *Client) AllPushed() (all []protocol.Published) {
	c.push.mu.Lock()
	defer c.push.mu.Unlock()
	for e := c.push.order.Front(); e != nil; e = e.Next() {
		all = append(all, e.Value.(*file).Published)
	}
	return all
}

// WaitPushed waits until what it published of a file is ok.
func (c *Client) WaitPushed(ctx context.Context, uri lsp.DocumentURI, ok func(protocol.Published) bool) (protocol.Published, error) {
	for {
		pub, found, news, over := c.push.get(uri)
		switch {
		case found && ok(pub):
			return pub, nil
		case over:
			return protocol.Published{}, c.err
		}
		select {
		case <-news:
		case <-ctx.Done():
			return protocol.Published{}, ctx.Err()
		}
	}
}

// Forget forgets what it published of a file.
func (c *Client) Forget(uri lsp.DocumentURI) {
	c.push.mu.Lock()
	defer c.push.mu.Unlock()
	c.push.drop(c.push.files[fileKey(uri)])
}
