// Package span reads and writes spans of time the way people note them.
package span

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Parse reads "1h30m", "1.5h", "90m" or "1:30". A leading "-" makes it negative.
func Parse(text string) (time.Duration, error) {
	if hours, minutes, ok := strings.Cut(text, ":"); ok {
		return parseClock(text, hours, minutes)
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a span of time such as 1h30m or 1:30", text)
	}
	return d, nil
}

// parseClock reads the two halves of "1:30". The sign belongs to the whole, not
// to the hours: "-0:20" is twenty minutes less.
func parseClock(text, hours, minutes string) (time.Duration, error) {
	hours, negative := strings.CutPrefix(hours, "-")
	h, errH := strconv.ParseUint(hours, 10, 16)
	m, errM := strconv.ParseUint(minutes, 10, 8)
	if errH != nil || errM != nil || len(minutes) != 2 || m > 59 {
		return 0, fmt.Errorf("%q is not hours and minutes such as 1:30", text)
	}
	d := time.Duration(h)*time.Hour + time.Duration(m)*time.Minute
	if negative {
		d = -d
	}
	return d, nil
}
