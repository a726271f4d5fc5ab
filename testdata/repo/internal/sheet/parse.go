package sheet

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"example.org/stint/internal/span"
)

// Parse reads a whole sheet. An error names the line.
func Parse(r io.Reader) ([]Entry, error) {
	var (
		entries []Entry
		day     time.Time
		lines   = bufio.NewScanner(r)
	)
	for number := 1; lines.Scan(); number++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		if d, err := time.Parse(time.DateOnly, text); err == nil {
			day = d
			continue
		}
		entry, err := parseEntry(text)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if day.IsZero() {
			return nil, fmt.Errorf("line %d: an entry before the first day", number)
		}
		entry.Day = day
		entries = append(entries, entry)
	}
	return entries, lines.Err()
}

func parseEntry(text string) (Entry, error) {
	fields := strings.Fields(text)
	if len(fields) < 2 {
		return Entry{}, fmt.Errorf("%q is neither a day nor an entry", text)
	}
	d, err := span.Parse(fields[1])
	if err != nil {
		return Entry{}, err
	}
	return Entry{Project: fields[0], Time: d, Note: strings.Join(fields[2:], " ")}, nil
}
