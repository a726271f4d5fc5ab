package sheet

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	got, err := Parse(strings.NewReader(`
# a comment
2025-03-31
  parser  2h05m  quoted   fields  # more to come
  parser  -25m
2025-04-01
  docs    0:50   changelog
`))
	if err != nil {
		t.Fatal(err)
	}
	monday := time.Date(2025, 3, 31, 0, 0, 0, 0, time.UTC)
	want := []Entry{
		{monday, "parser", 125 * time.Minute, "quoted fields"},
		{monday, "parser", -25 * time.Minute, ""},
		{monday.AddDate(0, 0, 1), "docs", 50 * time.Minute, "changelog"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestErrorsNameTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"2025-03-31\nparser":        "line 2:",
		"2025-03-31\n\nparser soon": "line 3:",
		"parser 1h":                 "line 1: an entry before the first day",
		"2025-02-30\n  parser 1h":   "line 1:",
	} {
		if _, err := Parse(strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Parse(%q): %v; want %q", text, err, want)
		}
	}
}
