package fsx

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/gofrs/flock"
	"github.com/kxtools/kx/internal/base/fail"
)

// lockWait is how long Lock waits. Short locks are held for milliseconds, so a
// holder that needs longer is stopped or hangs.
const lockWait = 10 * time.Second

// A reader looks at a lock for microseconds; tryFor outlasts many of them.
const (
	tryFor   = 50 * time.Millisecond
	tryEvery = time.Millisecond
)

// Lock takes the short lock path, waiting for its holder, and returns what
// gives it back. The file stays: removing it would let two processes hold
// "the" lock at once.
func Lock(path string) (unlock func(), err error) {
	l := newLock(path)
	done := make(chan error, 1)
	go func() { done <- l.Lock() }()
	late := time.NewTimer(lockWait)
	defer late.Stop()
	select {
	case err := <-done:
		if err != nil {
			return nil, writeError(path, err)
		}
		return func() { l.Unlock() }, nil
	case <-late.C:
		go func() {
			if <-done == nil {
				l.Unlock()
			}
		}()
		return nil, fail.Conflict("locked", "another process has held %s for %v", path, lockWait).WithHint("fuser -v %s", path)
	}
}

// TryLock takes the lock path if it is free. Locked holds it for a moment, so
// a lock that is taken is tried again for tryFor.
func TryLock(path string) (unlock func(), ok bool, err error) {
	l := newLock(path)
	ctx, cancel := context.WithTimeout(context.Background(), tryFor)
	defer cancel()
	ok, err = l.TryLockContext(ctx, tryEvery)
	switch {
	case ok:
		return func() { l.Unlock() }, true, nil
	case errors.Is(err, context.DeadlineExceeded):
		return nil, false, nil
	}
	return nil, false, writeError(path, err)
}

// Grab takes the lock path if it is free at this moment: for one of many that would
// all do.
func Grab(path string) (unlock func(), ok bool, err error) {
	l := newLock(path)
	switch ok, err = l.TryLock(); {
	case err != nil:
		return nil, false, writeError(path, err)
	case !ok:
		return nil, false, nil
	}
	return func() { l.Unlock() }, true, nil
}

// Locked reports whether somebody holds the lock path. A file that is not there
// is not locked.
func Locked(path string) bool {
	if _, err := os.Stat(path); err != nil {
		return false
	}
	l := newLock(path)
	defer l.Unlock()
	shared, err := l.TryRLock()
	return err == nil && !shared
}

func newLock(path string) *flock.Flock {
	return flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
}
