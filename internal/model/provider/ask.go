package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/kxtools/kx/internal/model"
)

// maxError is how much of the body of an error is read: they have less than 4 KiB, but
// for web pages.
const maxError = 256 << 10

// Say shows a piece of what the model says.
type Say func(piece string) error

// Read makes a turn of the events of an answer.
type Read func(e *Events, say Say) (*model.Turn, error)

// Ask sends a request by way of post, which leaves the response where it is told, and
// reads the answer. Its error is a *model.Failure, that of the context, or that of
// whoever listens to the answer.
func (l *Line) Ask(ctx context.Context, r *model.Request, post func(context.Context, **http.Response) error, read Read) (*model.Turn, error) {
	if l.Host == "" {
		return nil, l.failure(model.Refused, 0, "the base_url of %s is no http address", l.Provider)
	}
	w := watch(ctx, l.firstWord)
	defer w.stop()
	var res *http.Response
	err := post(w.ctx, &res)
	if res != nil {
		defer res.Body.Close()
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case res != nil && res.StatusCode >= 300:
		body, _ := io.ReadAll(res.Body)
		return l.refusal(res, body)
	case err != nil:
		return nil, l.unreached(w, err)
	case res == nil:
		return nil, l.failure(model.Network, 0, "%s gave no answer", l.Provider)
	}
	w.wait(l.idle)
	return l.listen(ctx, w, r, res, read)
}

// listen reads the answer that has begun.
func (l *Line) listen(ctx context.Context, w *watchdog, r *model.Request, res *http.Response, read Read) (*model.Turn, error) {
	shown := false
	say := func(piece string) error {
		if r.Said == nil || piece == "" {
			return nil
		}
		shown = true
		return r.Said(piece)
	}
	e := newEvents(l, w, res)
	t, err := read(e, say)
	var f *model.Failure
	switch {
	case err == nil:
		t.By = l.By()
		return t, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.As(err, &f):
		f.Said = shown
	}
	return nil, err
}

// errSilent is why a provider that says nothing is left.
var errSilent = errors.New("it said nothing for too long")

// watchdog ends a request when nothing has come for a while.
type watchdog struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	limit  atomic.Int64
}

func watch(ctx context.Context, limit time.Duration) *watchdog {
	w := &watchdog{}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.limit.Store(int64(limit))
	w.timer = time.AfterFunc(limit, func() { w.cancel(errSilent) })
	return w
}

// wait gives it that long from now on, after each byte.
func (w *watchdog) wait(limit time.Duration) {
	w.limit.Store(int64(limit))
	w.heard()
}

func (w *watchdog) heard() { w.timer.Reset(time.Duration(w.limit.Load())) }

func (w *watchdog) silent() bool { return context.Cause(w.ctx) == errSilent }

func (w *watchdog) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// heeded tells the watchdog of each byte that comes.
type heeded struct {
	io.Reader
	w *watchdog
}

func (h heeded) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	if n > 0 {
		h.w.heard()
	}
	return n, err
}

// cut closes what it reads from, and reads no more than max bytes of it.
func cut(body io.ReadCloser, max int64) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(body, max), body}
}

// span words a time for people.
func span(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%g s", d.Round(100*time.Millisecond).Seconds())
	}
	if d >= 2*time.Hour {
		return fmt.Sprintf("%g h", d.Round(6*time.Minute).Hours())
	}
	return fmt.Sprintf("%g min", d.Round(6*time.Second).Minutes())
}
