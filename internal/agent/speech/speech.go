// Package speech tells what a model says in pieces, while it comes. A piece ends between
// two characters that a person sees, and never in what may be a secret; all of them
// together are the answer. The agent loop makes events of them.
package speech

import (
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kxtools/kx/internal/base/redact"
)

const (
	// every is how often at most a piece of an answer is told while it
	// comes: a person reads it as a flow, and a log does not fill with words.
	every = 100 * time.Millisecond
	// most is how much text makes a piece before that.
	most = 4 << 10
	// mostMarks is how many marks of a letter wait with it: no language has more.
	mostMarks = 8
)

// Speech is an answer on its way. Where a secret may have begun it waits for the rest:
// half of one is not known as such.
type Speech struct {
	write   func(text string, more bool) error
	secrets func() (*redact.Redactor, error)

	mu    sync.Mutex
	buf   []byte
	told  strings.Builder // of the answer so far
	last  time.Time       // when a piece was told
	timer *time.Timer     // will tell what is in buf, nil if nothing is
	err   error
}

// New returns a Speech. write is told of the pieces, with whether another one may go on
// with it; secrets, nil for none, returns those that are known now.
func New(write func(text string, more bool) error, secrets func() (*redact.Redactor, error)) *Speech {
	return &Speech{write: write, secrets: secrets}
}

// Said takes in words as they come.
func (s *Speech) Said(piece string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buf = append(s.buf, piece...)
	wait := every - time.Since(s.last)
	switch {
	case s.err != nil || len(s.buf) == 0:
	case wait <= 0 || len(s.buf) >= most:
		s.tell(s.ready(), true)
	case s.timer == nil:
		s.timer = time.AfterFunc(wait, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.timer != nil {
				s.tell(s.ready(), true)
			}
		})
	}
	return s.err
}

// ready is how much of what came may be told.
func (s *Speech) ready() int {
	n := whole(s.buf)
	if s.secrets == nil {
		return n
	}
	known, err := s.secrets()
	if err != nil {
		s.err = err // what can't be hidden is not told
		return 0
	}
	return known.Ready(s.buf[:n])
}

// tell writes the first n bytes.
func (s *Speech) tell(n int, more bool) {
	s.stop()
	if n == 0 || s.err != nil {
		return
	}
	text := strings.ToValidUTF8(string(s.buf[:n]), string(utf8.RuneError))
	s.buf = append(s.buf[:0], s.buf[n:]...)
	s.told.WriteString(text)
	s.err = s.write(text, more)
	s.last = time.Now()
}

func (s *Speech) stop() {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
}

// whole is how much of b ends between two characters that a person sees. A letter that
// is not ASCII waits, for marks may follow it: Thai and Hindi are written so, and alone
// at the beginning of a piece they are marks of nothing.
func whole(b []byte) int {
	end := len(b)
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				end = len(b) - i
			}
			break
		}
	}
	at, marked := end, false
	for range mostMarks {
		r, n := utf8.DecodeLastRune(b[:at])
		switch {
		case unicode.Is(unicode.M, r):
			at, marked = at-n, true
		case marked || r >= utf8.RuneSelf && n > 1:
			return at - n
		default:
			return end
		}
	}
	return end
}

// End tells the rest of an answer. say is the whole of it; what was not said in
// pieces is told now.
func (s *Speech) End(say string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rest, ok := strings.CutPrefix(strings.ToValidUTF8(say, string(utf8.RuneError)), s.told.String()); ok {
		s.buf = []byte(rest)
	}
	s.tell(len(s.buf), false)
	return s.err
}

// Broke tells what came of an answer that has no end; another one may begin.
func (s *Speech) Broke() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell(len(s.buf), false)
	s.told.Reset()
	return s.err
}
