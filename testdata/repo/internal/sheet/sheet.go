// Package sheet reads a time sheet: days, and under each day its entries.
package sheet

import "time"

// Entry is one line of a sheet. Time is as written, and below zero for a
// correction.
type Entry struct {
	Day     time.Time
	Project string
	Time    time.Duration
	Note    string
}
