//go:build !linux

package lineage

// Of is not there: what decides by descent has to do without, and say so.
func Of(pid int) (Process, error) { return Process{PID: pid}, ErrUnknown }

// Boot is not there either.
func Boot() (string, error) { return "", ErrUnknown }
