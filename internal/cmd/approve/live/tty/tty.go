// Package tty runs the screen of kx approve on the controlling terminal: it brings the
// model together with the requests, the approval host and the person's editor, and
// gives the terminal back as it was, however it ends. It runs in kxd.
package tty

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/approve/feed"
	"github.com/kxtools/kx/internal/cmd/approve/live"
	"github.com/kxtools/kx/internal/cmd/approve/sheet"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/gate/widen"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/internal/record/draft"
	"github.com/kxtools/kx/pkg/approve"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/wire"
)

const (
	// gather is how long a burst of requests is gathered before it is shown: less
	// than anybody sees.
	gather = 20 * time.Millisecond
	// retry is the pause before another host is started where one could not be.
	retry = 2 * time.Second
)

// Run shows the screen until the person leaves it, or ctx ends. id is the request to
// begin with, "" for the oldest.
func Run(ctx context.Context, a *app.App, id string) error {
	s := site.Of(a)
	st, err := s.State()
	if err != nil {
		return err
	}
	tty, err := a.IO.Screen()
	if err != nil {
		return fail.New("no_terminal", fail.ExitUsage, "kx approve needs a terminal").WithHint("kx approve list").Because(err)
	}
	defer tty.Close()
	ctx, hangup := hangsUp(ctx)
	defer hangup()
	mine, err := s.Approving()
	if err != nil {
		return err
	}
	store := approval.New(st, a.Now)
	m := live.New(live.Options{
		Reader: sheet.New(a), Store: store, Desk: &desk{connect: s.Approve}, Drafts: draft.New(st, a.Now),
		Editor: func(path string) *exec.Cmd { return editor(a.Getenv, path) },
		Only: func(r *wire.Approval) error {
			known, err := s.Known()
			if err == nil {
				_, err = widen.Rules(r, policy.User, known)
			}
			return err
		},
		Now:   a.Now,
		After: func(d time.Duration, msg tea.Msg) tea.Cmd { return tea.Tick(d, func(time.Time) tea.Msg { return msg }) },
		ID:    id, Session: a.Globals.Session, Color: a.IO.OutColor, Bell: mine.Bell,
	})
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(tty), tea.WithOutput(tty), tea.WithoutSignalHandler())
	feeding, stop := context.WithCancel(ctx)
	defer stop()
	go follow(feeding, &feed.Feed{Store: store, Connect: s.Approve, Session: a.Globals.Session}, p.Send)
	_, err = p.Run()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fail.Failed("screen", "the screen ended: %v", err).WithHint("kx approve --plain").Because(err)
	}
	return m.Err()
}

// hangsUp ends ctx when the terminal goes away, too: what was drawn is put back
// where it can be.
func hangsUp(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	came := make(chan os.Signal, 1)
	signal.Notify(came, syscall.SIGHUP)
	go func() {
		select {
		case <-came:
			cancel(fail.New("hangup", fail.ExitTerminated, "the terminal has gone"))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { signal.Stop(came); cancel(nil) }
}

// follow sends what the feed tells, a burst at once, whatever becomes of the host.
func follow(ctx context.Context, f *feed.Feed, send func(tea.Msg)) {
	var mu sync.Mutex
	var burst live.Changes
	flush := func() {
		mu.Lock()
		defer mu.Unlock()
		send(burst)
		burst = nil
	}
	got := func(a *wire.Approval) error {
		mu.Lock()
		defer mu.Unlock()
		if burst = append(burst, a); len(burst) == 1 {
			time.AfterFunc(gather, flush)
		}
		return nil
	}
	var first live.Changes
	_ = f.Now(func(a *wire.Approval) error { first = append(first, a); return nil })
	send(first)
	for ctx.Err() == nil {
		err := f.Follow(ctx, got)
		if ctx.Err() != nil {
			return
		}
		send(live.Lost{Err: err})
		select {
		case <-ctx.Done():
		case <-time.After(retry):
		}
	}
}

// desk answers through a connection that is made for the first answer, and again when
// the host has ended meanwhile.
type desk struct {
	connect func(ctx context.Context, key string) (*approve.Client, error)

	mu     sync.Mutex
	client *approve.Client
}

// with calls do with a connection. An answer has a key by which the host knows it
// again, so that it may be sent twice.
func (d *desk) with(ctx context.Context, do func(*approve.Client) (*wire.Approval, error)) (*wire.Approval, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for first := d.client != nil; ; first = false {
		if d.client == nil {
			c, err := d.connect(ctx, "approver")
			if err != nil {
				return nil, err
			}
			d.client = c
		}
		a, err := do(d.client)
		gone := errors.Is(err, approve.ErrClosed) || errors.Is(err, approve.ErrNoHost)
		if gone {
			d.client.Close()
			d.client = nil
		}
		if !gone || !first {
			return a, site.Failure(err)
		}
	}
}

func (d *desk) Allow(ctx context.Context, id string, ans approve.Answer) (*wire.Approval, error) {
	return d.with(ctx, func(c *approve.Client) (*wire.Approval, error) { return c.Allow(ctx, id, ans) })
}

func (d *desk) Deny(ctx context.Context, id string, ans approve.Answer) (*wire.Approval, error) {
	return d.with(ctx, func(c *approve.Client) (*wire.Approval, error) { return c.Deny(ctx, id, ans) })
}

func (d *desk) Reply(ctx context.Context, id string, answers []wire.QuestionAnswer, note string) (*wire.Approval, error) {
	return d.with(ctx, func(c *approve.Client) (*wire.Approval, error) { return c.Reply(ctx, id, answers, note) })
}

// editor is the person's editor on a file, as git runs it: a shell reads the words.
func editor(getenv func(string) string, path string) *exec.Cmd {
	name := "vi"
	for _, v := range []string{"EDITOR", "VISUAL"} {
		if s := getenv(v); s != "" {
			name = s
		}
	}
	return exec.Command("/bin/sh", "-c", name+` "$@"`, name, path)
}
