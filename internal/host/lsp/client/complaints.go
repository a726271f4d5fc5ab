package client

import (
	"fmt"
	"sync"
	"time"

	"github.com/sourcegraph/go-lsp"

	"github.com/kxtools/kx/internal/host/lsp/protocol"
)

const (
	// maxSaid is how much of a complaint is kept, in bytes: what fits on a screen.
	maxSaid = 2 << 10
	// maxLines is how many lines of a server are logged in each window: a person reads
	// no more, and a flood would fill the log with nothing else.
	maxLines = 100
	window   = 10 * time.Second
)

// complaints is what a server complained of.
type complaints struct {
	log func(string)

	mu     sync.Mutex
	shown  string // the last error that it showed or logged
	health string // what its status says, while that is not well
	broken bool   // it says that it can't work

	since time.Time // of the window
	lines int       // logged in it
}

// last is what it complained of last.
func (s *complaints) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.health != "" {
		return s.health
	}
	return s.shown
}

// message notes what the server showed or logged.
func (s *complaints) message(m lsp.LogMessageParams) {
	text := oneLine(m.Message[:min(len(m.Message), maxSaid)])
	if m.Type == lsp.MTError {
		s.mu.Lock()
		s.shown = text
		s.mu.Unlock()
	}
	if m.Type == lsp.MTError || m.Type == lsp.MTWarning {
		s.line(text)
	}
}

// ill notes how well the server says that it is.
func (s *complaints) ill(status protocol.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.health, s.broken = "", status.Health == "error"
	if status.Health != "" && status.Health != "ok" {
		s.health = oneLine(status.Message[:min(len(status.Message), maxSaid)])
	}
}

// well is Health.
func (s *complaints) well() (what string, broken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.health, s.broken
}

// line logs a line, unless there are too many of them.
func (s *complaints) line(text string) {
	if text = oneLine(text); s.log == nil || text == "" {
		return
	}
	s.mu.Lock()
	now := time.Now()
	left := 0
	if now.Sub(s.since) >= window {
		left = s.lines - maxLines
		s.since, s.lines = now, 0
	}
	s.lines++
	ok := s.lines <= maxLines
	s.mu.Unlock()
	if left > 0 {
		s.log(fmt.Sprintf("%d lines are left out", left))
	}
	if ok {
		s.log(text)
	}
}
