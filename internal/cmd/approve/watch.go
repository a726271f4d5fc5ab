package approve

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/host/notify"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/pkg/approve"
	"github.com/kxtools/kx/pkg/wire"
)

const (
	// again is the pause before the next connection, when the host went away.
	again = 200 * time.Millisecond
	// settled is when a new connection shows all that waits, so that what does
	// not was answered meanwhile.
	settled = time.Second
)

// WatchOptions of kx approve watch.
type WatchOptions struct {
	App     *app.App
	Open    func() (*approval.Store, error)
	Connect func(ctx context.Context, key string) (*approve.Client, error)

	Notify string
}

// NewWatch returns the command; a nil run is the real one.
func NewWatch(a *app.App, run func(context.Context, *WatchOptions) error) *app.Command {
	o := &WatchOptions{App: a, Open: func() (*approval.Store, error) { return open(a) }, Connect: site.Of(a).Approve}
	if run == nil {
		run = watch
	}
	return &app.Command{
		Name:  "watch",
		Usage: "print requests and answers as they come",
		What: `
Prints the requests that wait, then every new one and every answer, until it is interrupted. With --session only those of one session.

With --notify CMD a shell runs CMD for each request that waits, with the request as JSON on its input. It is your own command, in your environment and in no sandbox; what it reads was written by a model, so don't make shell text of it. Nothing waits for it: 8 run at once, each for at most 30 s, and 100 wait for their turn. To be told without a terminal that watches, set notify in [approve] of your config.toml.
`,
		Flags: []cli.Flag{&cli.StringFlag{Name: "notify", Usage: "run `CMD` for each request", Destination: &o.Notify}},
		Examples: []app.Example{
			{Line: "kx approve watch"},
			{Line: `kx approve watch --notify 'notify-send kx "$(jq -r .tool)"'`},
		},
		Exits: []app.Exit{{Status: 5, Means: "the approval host can't be started"}, {Status: 130}},
		Run:   func(ctx context.Context, _ []string) error { return run(ctx, o) },
	}
}

func watch(ctx context.Context, o *WatchOptions) error {
	store, err := o.Open()
	if err != nil {
		return err
	}
	w := &watcher{app: o.App, store: store, waiting: map[string]bool{}}
	if o.Notify != "" {
		stderr, end, err := o.App.IO.Err.Pipe()
		if err != nil {
			return err
		}
		defer end()
		w.notify = notify.NewQueue(o.Notify, stderr, w.warn)
		w.notify.Clean = o.App.IO.Clean
		defer w.notify.Close()
	}
	if !o.App.Printer().Format().Data() {
		w.emit = func(a wire.Approval) error { return o.App.Printer().Text(func(t *out.Text) { w.line(t, &a) }) }
		return w.follow(ctx, o.Connect)
	}
	return out.Each(o.App.Printer(), out.Columns[wire.Approval]{}, func(emit func(wire.Approval) error) error {
		w.emit = emit
		return w.follow(ctx, o.Connect)
	})
}

// watcher knows what was printed.
type watcher struct {
	app    *app.App
	store  *approval.Store
	notify *notify.Queue // nil where nobody asked for it
	emit   func(wire.Approval) error

	logging sync.Mutex

	mu      sync.Mutex
	waiting map[string]bool // was printed, and has no answer yet
}

func (w *watcher) warn(text string) {
	w.logging.Lock()
	defer w.logging.Unlock()
	w.app.Log().Warn().Msg(text)
}

// follow keeps a connection until ctx ends. The host may end at any time; what
// happens without it is in the files.
func (w *watcher) follow(ctx context.Context, connect func(ctx context.Context, key string) (*approve.Client, error)) error {
	for {
		c, err := connect(ctx, "host")
		if err != nil {
			return err
		}
		err = w.stream(ctx, c)
		c.Close()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(again):
		}
	}
}

// stream prints what one connection tells. It returns nil when the host has gone.
func (w *watcher) stream(ctx context.Context, c *approve.Client) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	missed := time.AfterFunc(settled, func() {
		if err := w.missed(ctx); err != nil {
			cancel(err)
		}
	})
	defer missed.Stop()
	var printing error
	err := c.Watch(ctx, func(a *wire.Approval) error {
		printing = w.saw(a)
		return printing
	})
	switch cause := context.Cause(ctx); {
	case printing != nil:
		return printing
	case cause != nil:
		return cause
	case errors.Is(err, approve.ErrClosed), errors.Is(err, approve.ErrNoHost):
		return nil
	}
	return site.Failure(err)
}

// saw prints a request the first time, and its answer.
func (w *watcher) saw(a *wire.Approval) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	pending := a.State == wire.ApprovalPending
	if s := w.app.Globals.Session; pending == w.waiting[a.ID] || s != "" && s != a.Session {
		return nil
	}
	if w.waiting[a.ID] = pending; !pending {
		delete(w.waiting, a.ID)
	}
	if err := w.emit(*a); err != nil {
		return err
	}
	if pending && w.notify != nil {
		w.notify.Add(a)
	}
	return nil
}

// missed prints the answers that came while there was no connection.
func (w *watcher) missed(ctx context.Context) error {
	w.mu.Lock()
	var ids []string
	for id := range w.waiting {
		ids = append(ids, id)
	}
	w.mu.Unlock()
	for _, id := range ids {
		if ctx.Err() != nil {
			return nil
		}
		if a, err := w.store.Get(id); err == nil {
			if err := w.saw(a); err != nil {
				return err
			}
		}
	}
	return nil
}

// line is what a person sees of a request or an answer.
func (w *watcher) line(t *out.Text, a *wire.Approval) {
	at, style := a.CreatedAt, out.Bold
	if a.State != wire.ApprovalPending {
		at = w.app.Now()
		if style = out.Dim; a.DecidedAt != nil {
			at = *a.DecidedAt
		}
	}
	t.Printf("%s  %s  %s  %s %s", at.Local().Format(time.TimeOnly), t.Paint(style, a.ID), a.State, a.Tool, brief(a.Input))
	if a.Note != "" {
		t.Printf("  %s", a.Note)
	}
	t.Printf("\n")
}
