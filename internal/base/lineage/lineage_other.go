//go:build !linux

package lineage

// Of is not there: what decides by descent has to do without, and say so.
func Of(pid int) (Process, error) { return Process{PID: pid}, ErrUnknown }

// Self is not there either.
func Self() (Process, error) { return Process{}, ErrUnknown }

// Namespace is not there either.
func Namespace(int, string) (string, error) { return "", ErrUnknown }

// Boot is not there either.
func Boot() (string, error) { return "", ErrUnknown }

// Args is not there either.
func Args(int) ([]string, error) { return nil, ErrUnknown }
