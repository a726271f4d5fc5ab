// Package signals turns the signals that ask a process to end into the end of a
// context, and back into an exit status.
//
// The first SIGINT or SIGTERM ends the context, with an error that names it as
// the cause; the second one kills. A signal that the caller had ignored stays
// ignored. Both binaries run under it.
package signals

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/kxtools/kx/internal/base/fail"
)

// Until returns a context that the first signal ends.
func Until(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	came := make(chan os.Signal, 1)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		if !signal.Ignored(s) {
			signal.Notify(came, s)
		}
	}
	go func() {
		select {
		case s := <-came:
			signal.Stop(came)
			if s == syscall.SIGTERM {
				cancel(fail.New("terminated", fail.ExitTerminated, "terminated"))
				return
			}
			cancel(fail.New("interrupted", fail.ExitInterrupted, "interrupted"))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { signal.Stop(came); cancel(nil) }
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
