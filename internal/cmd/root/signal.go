package root

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/kxtools/kx/internal/base/fail"
)

// untilSignal returns a context that the first SIGINT or SIGTERM ends, with an
// error that names it as the cause. The second one kills. A signal that the
// caller of kx had ignored stays ignored.
func untilSignal(parent context.Context) (context.Context, func()) {
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

// ended replaces what a command says of its end by the signal that caused it.
func ended(ctx context.Context, err error) error {
	var sig *fail.Error
	if ctx.Err() == nil || !errors.As(context.Cause(ctx), &sig) {
		return err
	}
	if errors.Is(err, context.Canceled) || fail.Exit(err) == fail.ExitInterrupted {
		return sig
	}
	return err
}
