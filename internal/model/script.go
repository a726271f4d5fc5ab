package model

import (
	"bytes"
	"context"

	"github.com/kxtools/kx/internal/base/fail"
)

// Script is a model that plays turns from a file.
type Script struct{ lines []*line }

// ParseScript reads a script: one JSON object a line, empty lines are skipped.
// name is what errors call the file.
func ParseScript(data []byte, name string) (*Script, error) {
	s := &Script{}
	for i, raw := range bytes.Split(data, []byte("\n")) {
		if len(bytes.TrimSpace(raw)) == 0 {
			continue
		}
		l, err := parseLine(raw)
		if err != nil {
			return nil, fail.Usage("%s:%d: %v", name, i+1, err).WithHint("man kx-json")
		}
		s.lines = append(s.lines, l)
	}
	if len(s.lines) == 0 {
		return nil, fail.Usage("%s has no turns", name).WithHint("man kx-json")
	}
	return s, nil
}

// Turn plays the line of that number. The last line ends the run, as does the
// silence behind it.
func (s *Script) Turn(ctx context.Context, r *Request) (*Turn, error) {
	if r.Turn >= len(s.lines) {
		return &Turn{Stop: true}, nil
	}
	t, err := s.lines[r.Turn].play(ctx, r)
	if err == nil && r.Turn == len(s.lines)-1 {
		t.Stop = true
	}
	return t, err
}

// Close does nothing.
func (s *Script) Close() error { return nil }
