package app

import (
	"strconv"
	"strings"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
)

// Moment reads a flag that is a time: RFC 3339, a date, or how long before now.
func Moment(command, flag, value string, now time.Time) (time.Time, error) {
	if value == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, value); err == nil {
		return t, nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, value, time.Local); err == nil {
		return t, nil
	}
	const (
		day     = 24 * time.Hour
		maxDays = 100_000 // 273 years: what a Duration can hold
	)
	if days, ok := strings.CutSuffix(value, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n <= maxDays {
			return now.Add(-time.Duration(n) * day), nil
		}
	} else if d, err := time.ParseDuration(value); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, fail.Usage("--%s %q is no time: expected RFC 3339, a date, or how long ago, such as 24h or 30d", flag, value).
		WithHint("%s --%s 24h", command, flag)
}
