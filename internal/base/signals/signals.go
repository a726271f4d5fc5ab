// Package signals turns the signals that ask a process to end into the end of a
// context, and back into an exit status.
//
// The first SIGINT or SIGTERM ends the context, with an error that names it as
// the cause; the second one kills, once Last has had its few moments. A signal that
// the caller had ignored stays ignored. Both binaries run under it.
package signals

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
)

// lastMoments is how long the end that a second signal asks for may take: as long as
// the kernel needs for a tree of processes. A third signal does not wait.
const lastMoments = 3 * time.Second

// last is what is done before a second signal kills.
type last struct {
	sync.Mutex
	todo map[*func()]func()
	now  bool // it is being done
}

type lastKey struct{}

// Last has f done, side by side with others, before a second signal kills this
// process. stop calls that off; it reports false if it is too late, and the end is a
// moment away. ctx comes from Until, or nothing is ever done.
func Last(ctx context.Context, f func()) (stop func() bool) {
	l, ok := ctx.Value(lastKey{}).(*last)
	if !ok {
		return func() bool { return true }
	}
	l.Lock()
	defer l.Unlock()
	l.todo[&f] = f
	return func() bool {
		l.Lock()
		defer l.Unlock()
		delete(l.todo, &f)
		return !l.now
	}
}

// Until returns a context that the first signal ends.
func Until(parent context.Context) (context.Context, func()) {
	l := &last{todo: map[*func()]func(){}}
	ctx, cancel := context.WithCancelCause(context.WithValue(parent, lastKey{}, l))
	came := make(chan os.Signal, 3) // the first, the second and the third
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		if !signal.Ignored(s) {
			signal.Notify(came, s)
		}
	}
	over := make(chan struct{})
	go func() {
		select {
		case s := <-came:
			if s == syscall.SIGTERM {
				cancel(fail.New("terminated", fail.ExitTerminated, "terminated"))
			} else {
				cancel(fail.New("interrupted", fail.ExitInterrupted, "interrupted"))
			}
		case <-over:
			return
		}
		select {
		case s := <-came:
			l.do(came)
			signal.Reset(s)
			_ = syscall.Kill(os.Getpid(), s.(syscall.Signal))
		case <-over:
		}
	}()
	return ctx, sync.OnceFunc(func() { signal.Stop(came); close(over); cancel(nil) })
}

// do does what is to be done, until there is no time left.
func (l *last) do(came <-chan os.Signal) {
	var all sync.WaitGroup
	l.Lock()
	l.now = true
	for _, f := range l.todo {
		all.Go(f)
	}
	l.Unlock()
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	select {
	case <-done:
	case <-came:
	case <-time.After(lastMoments):
	}
}

// Named replaces what was said of an end by the signal that caused it. An error
// that had another cause, or names the signal already, stays.
func Named(ctx context.Context, err error) error {
	var sig *fail.Error
	if ctx.Err() == nil || !errors.As(context.Cause(ctx), &sig) || fail.Exit(err) == sig.Exit {
		return err
	}
	if errors.Is(err, context.Canceled) || fail.Exit(err) == fail.ExitInterrupted {
		return sig
	}
	return err
}
