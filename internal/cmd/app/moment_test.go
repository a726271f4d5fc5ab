package app

import (
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
)

func TestMoment(t *testing.T) {
	now := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]string{
		"2026-03-01T10:00:00+02:00": "2026-03-01T08:00:00Z", "24h": "2026-03-30T12:00:00Z", "30d": "2026-03-01T12:00:00Z",
		"0d": "2026-03-31T12:00:00Z", "1h30m": "2026-03-31T10:30:00Z",
	} {
		if got, err := Moment("kx audit list", "since", value, now); err != nil || got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%s: %v, %v", value, got, err)
		}
	}
	if got, err := Moment("kx audit list", "since", "2026-03-01", now); err != nil || !got.Equal(time.Date(2026, 3, 1, 0, 0, 0, 0, time.Local)) {
		t.Errorf("a date: %v, %v", got, err)
	}
	for _, bad := range []string{"yesterday", "-1h", "-1d", "5", "1e9d", "99999999999999999999d", "d", "2026-13-01"} {
		if _, err := Moment("kx audit list", "since", bad, now); fail.Exit(err) != fail.ExitUsage {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
