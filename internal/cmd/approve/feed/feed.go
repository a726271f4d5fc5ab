// Package feed tells of requests as they come and as they are answered. It owns the
// connection for that: the host may end at any time, and what happens without it is
// in the files. kx approve watch, its screen and its plain mode hear from it.
//
// Invariant: each request is told once when it waits and once when it does not any
// more, in that order, one at a time and in full, whatever becomes of the host.
package feed

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kxtools/kx/internal/cmd/site"
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

// Feed tells of the requests of a user.
type Feed struct {
	Store   *approval.Store
	Connect func(ctx context.Context, key string) (*approve.Client, error)
	Session string // only of this one; "" for all

	mu      sync.Mutex
	waiting map[string]bool // was told, and has no answer yet
}

// Follow calls got for every request that waits, every new one and every answer,
// until ctx ends, got fails, or no host can be started. It may be called again: what
// was told is not told twice.
func (f *Feed) Follow(ctx context.Context, got func(*wire.Approval) error) error {
	for {
		c, err := f.Connect(ctx, "host")
		if err != nil {
			return err
		}
		err = f.stream(ctx, c, got)
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

// Now tells what waits at this moment, from the files: it needs no host. Follow goes
// on from there.
func (f *Feed) Now(got func(*wire.Approval) error) error {
	pending, _ := f.Store.List(wire.ApprovalPending)
	for i := range pending {
		if err := f.saw(&pending[i], got); err != nil {
			return err
		}
	}
	return nil
}

// stream tells what one connection tells. It returns nil when the host has gone.
func (f *Feed) stream(ctx context.Context, c *approve.Client, got func(*wire.Approval) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	missed := time.AfterFunc(settled, func() {
		if err := f.missed(ctx, got); err != nil {
			cancel(err)
		}
	})
	defer missed.Stop()
	var failed error
	err := c.Watch(ctx, func(a *wire.Approval) error {
		failed = f.saw(a, got)
		return failed
	})
	switch cause := context.Cause(ctx); {
	case failed != nil:
		return failed
	case cause != nil:
		return cause
	case errors.Is(err, approve.ErrClosed), errors.Is(err, approve.ErrNoHost):
		return nil
	}
	return site.Failure(err)
}

// saw tells of a request the first time, and of its answer.
func (f *Feed) saw(a *wire.Approval, got func(*wire.Approval) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	pending := a.State == wire.ApprovalPending
	if pending == f.waiting[a.ID] || f.Session != "" && f.Session != a.Session {
		return nil
	}
	if pending {
		if f.waiting == nil {
			f.waiting = map[string]bool{}
		}
		f.waiting[a.ID] = true
	} else {
		delete(f.waiting, a.ID)
	}
	return got(f.whole(a))
}

// whole is the request as its file has it: the host leaves out what is too long for a
// line of its socket, and nobody may answer what they were not shown.
func (f *Feed) whole(a *wire.Approval) *wire.Approval {
	if full, err := f.Store.Get(a.ID); err == nil && full.State == a.State {
		return full
	}
	return a
}

// missed tells the answers that came while there was no connection.
func (f *Feed) missed(ctx context.Context, got func(*wire.Approval) error) error {
	f.mu.Lock()
	var ids []string
	for id := range f.waiting {
		ids = append(ids, id)
	}
	f.mu.Unlock()
	for _, id := range ids {
		if ctx.Err() != nil {
			return nil
		}
		if a, err := f.Store.Get(id); err == nil {
			if err := f.saw(a, got); err != nil {
				return err
			}
		}
	}
	return nil
}
