// Package fail is the one error type of kx: a code for programs, an exit
// status, a message, and a hint that names the next command to type. Whatever
// goes wrong becomes a *fail.Error at the place that knows the remedy; the
// command line prints it once and exits with its status.
package fail

import (
	"context"
	"errors"
	"fmt"

	"github.com/kxtools/kx/pkg/wire"
)

// The exit statuses of kx.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitDenied      = 3
	ExitPending     = 4
	ExitUnavailable = 5
	ExitLimit       = 6
	ExitConflict    = 7
	ExitNotFound    = 8
	ExitTimeout     = 124
	ExitInterrupted = 130
	ExitTerminated  = 143
)

// Error is a failure that kx can explain.
type Error struct {
	Code string // snake_case, stable for programs
	Exit int
	Msg  string // lower case, what failed and why, no full stop
	Hint string // a command to type next, or ""
	Err  error  // the cause, or nil
}

func (e *Error) Error() string { return e.Msg }

func (e *Error) Unwrap() error { return e.Err }

// WithHint returns a copy of e that tells the next command to type.
func (e *Error) WithHint(format string, args ...any) *Error {
	c := *e
	c.Hint = fmt.Sprintf(format, args...)
	return &c
}

// Because returns a copy of e with err as its cause.
func (e *Error) Because(err error) *Error {
	c := *e
	c.Err = err
	return &c
}

// New returns an error with the given code, exit status and message.
func New(code string, exit int, format string, args ...any) *Error {
	return &Error{Code: code, Exit: exit, Msg: fmt.Sprintf(format, args...)}
}

// Failed is for a command that ran and failed (1).
func Failed(code, format string, args ...any) *Error { return New(code, ExitFailed, format, args...) }

// Usage is for words that kx does not understand (2).
func Usage(format string, args ...any) *Error { return New("usage", ExitUsage, format, args...) }

// Config is for an invalid policy or configuration (2).
func Config(format string, args ...any) *Error { return New("config", ExitUsage, format, args...) }

// Denied is for what policy, a person or a wall refuses (3).
func Denied(code, format string, args ...any) *Error { return New(code, ExitDenied, format, args...) }

// Pending is for what waits for a person (4).
func Pending(format string, args ...any) *Error { return New("pending", ExitPending, format, args...) }

// Unavailable is for a missing or switched off program, server or resident (5).
func Unavailable(code, format string, args ...any) *Error {
	return New(code, ExitUnavailable, format, args...)
}

// Limit is for a limit that was exceeded (6).
func Limit(code, format string, args ...any) *Error { return New(code, ExitLimit, format, args...) }

// Conflict is for what somebody else holds or has already decided (7).
func Conflict(code, format string, args ...any) *Error {
	return New(code, ExitConflict, format, args...)
}

// NotFound is for a name that does not exist (8).
func NotFound(code, format string, args ...any) *Error {
	return New(code, ExitNotFound, format, args...)
}

// Timeout is for what took too long (124).
func Timeout(format string, args ...any) *Error { return New("timeout", ExitTimeout, format, args...) }

// As returns err as an *Error. An error that is not one yet becomes a plain
// failure; the end of a context becomes a timeout or an interruption.
func As(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout("it took too long").Because(err)
	case errors.Is(err, context.Canceled):
		return New("interrupted", ExitInterrupted, "interrupted").Because(err)
	}
	return &Error{Code: "failed", Exit: ExitFailed, Msg: err.Error(), Err: err}
}

// Exit returns the exit status of err.
func Exit(err error) int {
	if err == nil {
		return ExitOK
	}
	return As(err).Exit
}

// Wire returns e as it stands inside a document.
func (e *Error) Wire() *wire.Error {
	return &wire.Error{Code: e.Code, Exit: e.Exit, Message: e.Msg, Hint: e.Hint}
}

// batchOrder is the order in which exits win in a batch, worst first.
var batchOrder = []int{
	ExitInterrupted, ExitTerminated, ExitUsage, ExitDenied, ExitPending, ExitConflict,
	ExitLimit, ExitTimeout, ExitUnavailable, ExitNotFound, ExitFailed, ExitOK,
}

// Worst returns the exit status of a batch whose records exited with a and b.
func Worst(a, b int) int {
	for _, e := range batchOrder {
		if a == e || b == e {
			return e
		}
	}
	return ExitFailed
}
