package model

import (
	"time"

	"github.com/kxtools/kx/internal/base/fail"
)

// Class says what can be done about a failure.
type Class string

// The classes of failures. The first three may go away by waiting.
const (
	RateLimited Class = "rate_limited" // too many requests or tokens
	Overloaded  Class = "overloaded"   // 5xx, or the provider says so
	Network     Class = "network"      // no connection, or it broke before anything came
	Torn        Class = "torn"         // the answer ended in the middle
	Auth        Class = "auth"         // the key is missing, wrong, revoked or has no right
	Quota       Class = "quota"        // the account has no money or quota left: waiting does not help
	Overflow    Class = "overflow"     // the conversation is longer than the model's window
	Refused     Class = "refused"      // the provider takes no such request
	Garbled     Class = "garbled"      // what came is no answer of this kind of provider
)

// Failure is why a provider gave no turn.
type Failure struct {
	Class  Class
	Status int           // of HTTP, 0 if there was none
	Wait   time.Duration // that the provider asks for, 0 if it doesn't
	// Said is set once a part of the answer was shown to somebody: asking again
	// would say it twice.
	Said bool
	// Safe is set where the provider says that asking again is safe all the same.
	Safe bool
	Err  *fail.Error
}

func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the error as kx tells it.
func (f *Failure) Unwrap() error { return f.Err }

// Again reports whether the same request to the same provider may succeed later.
func (f *Failure) Again() bool {
	switch f.Class {
	case RateLimited, Overloaded, Network, Torn:
		return !f.Said || f.Safe
	}
	return false
}

// Elsewhere reports whether another account, or another model, may succeed where
// this one did not.
func (f *Failure) Elsewhere() bool {
	switch f.Class {
	case RateLimited, Overloaded, Network, Torn, Auth, Quota, Garbled:
		return !f.Said || f.Safe
	}
	return false
}
