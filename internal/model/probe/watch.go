package probe

import (
	"context"
	"crypto/tls"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/kxtools/kx/pkg/wire"
)

// watch sees how the connection to the server is made.
type watch struct {
	now   func() time.Time
	began time.Time

	mu    sync.Mutex // hooks of parallel connections
	parts map[string]*part
}

// part is a stage of the way to the server.
type part struct {
	from   time.Time
	took   time.Duration
	done   bool
	failed bool
	detail string
}

func (w *watch) begin(stage string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.parts == nil {
		w.parts = map[string]*part{}
	}
	if w.parts[stage] == nil {
		w.parts[stage] = &part{from: w.now()}
	}
}

// end says how a stage ended. Of several attempts the one that works counts.
func (w *watch) end(stage, detail string, err error) {
	w.begin(stage)
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.parts[stage]
	if p.done && !p.failed {
		return
	}
	p.took, p.done, p.failed, p.detail = w.now().Sub(p.from), true, err != nil, detail
}

// in returns a context whose requests are watched.
func (w *watch) in(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart:     func(httptrace.DNSStartInfo) { w.begin(DNS) },
		DNSDone:      func(i httptrace.DNSDoneInfo) { w.end(DNS, "", i.Err) },
		ConnectStart: func(string, string) { w.begin(TCP) },
		ConnectDone:  func(_, addr string, err error) { w.end(TCP, addr, err) },

		TLSHandshakeStart: func() { w.begin(TLS) },
		TLSHandshakeDone: func(s tls.ConnectionState, err error) {
			w.end(TLS, tls.VersionName(s.Version), err)
		},
	})
}

// steps returns the stages that were seen, and the one where the way ended, "" if it
// led to the server. A stage that has begun and not ended is where it hung.
func (w *watch) steps() (list []wire.ModelStep, where string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, stage := range []string{DNS, TCP, TLS} {
		p := w.parts[stage]
		switch {
		case p == nil:
			continue
		case p.failed || !p.done:
			where = stage
		}
		list = append(list, wire.ModelStep{Stage: stage, State: ok, Detail: p.detail, DurationMS: p.took.Milliseconds()})
	}
	return list, where
}
