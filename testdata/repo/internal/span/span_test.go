package span

import (
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1h30m": 90 * time.Minute,
		"1.5h":  90 * time.Minute,
		"90m":   90 * time.Minute,
		"1:30":  90 * time.Minute,
		"0:05":  5 * time.Minute,
		"-20m":  -20 * time.Minute,
		"-0:20": -20 * time.Minute,
		"-1:20": -80 * time.Minute,
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("Parse(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"", "90", "1:5", "1:60", "1:-5", ":30", "--1:30", "an hour"} {
		if got, err := Parse(text); err == nil {
			t.Errorf("Parse(%q) = %v; want an error", text, got)
		}
	}
}

func TestFormat(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                               "0:00",
		5 * time.Minute:                 "0:05",
		90 * time.Minute:                "1:30",
		-20 * time.Minute:               "-0:20",
		-80 * time.Minute:               "-1:20",
		30*time.Hour + 59*time.Second:   "30:00",
		-(2*time.Hour + 59*time.Minute): "-2:59",
	} {
		if got := Format(d); got != want {
			t.Errorf("Format(%v) = %q; want %q", d, got, want)
		}
	}
}
