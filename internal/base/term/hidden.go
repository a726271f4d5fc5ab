package term

import (
	"context"
	"errors"
	"io"
	"os"

	xterm "golang.org/x/term"
)

// maxTyped is the longest line that a terminal hands over; what is typed beyond it
// gets lost without a word.
const maxTyped = 4095

// ErrLongLine says that a line may have lost its end.
var ErrLongLine = errors.New("a terminal takes no line as long as that")

// Hidden asks for a line on the controlling terminal that is not shown while it is
// typed. What was typed before the question counts for nothing. The end of the
// input is an empty line; the error is ErrNoTerminal when there is no terminal.
func (s *IO) Hidden(ctx context.Context, question string) (string, error) {
	tty, err := s.OpenTTY()
	if err != nil {
		return "", errors.Join(ErrNoTerminal, err)
	}
	defer tty.Close()
	f, ok := tty.(*os.File)
	if !ok {
		return "", ErrNoTerminal
	}
	before, err := xterm.GetState(int(f.Fd()))
	if err != nil {
		return "", errors.Join(ErrNoTerminal, err)
	}
	type answer struct {
		line []byte
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		line, err := askHidden(f, question)
		answered <- answer{line, err}
	}()
	select {
	case <-ctx.Done():
		_ = xterm.Restore(int(f.Fd()), before) // or the terminal stays without an echo
		_, _ = io.WriteString(f, "\n")
		return "", ctx.Err()
	case a := <-answered:
		switch {
		case errors.Is(a.err, io.EOF):
			return "", nil
		case a.err == nil && len(a.line) >= maxTyped:
			return "", ErrLongLine
		}
		return string(a.line), a.err
	}
}

// askHidden shows a question and reads a line. Keys count once it is there.
func askHidden(f *os.File, question string) ([]byte, error) {
	if err := discardInput(f); err != nil {
		return nil, errors.Join(ErrNoTerminal, err)
	}
	if _, err := io.WriteString(f, Sanitize(question)); err != nil {
		return nil, errors.Join(ErrNoTerminal, err)
	}
	line, err := xterm.ReadPassword(int(f.Fd()))
	_, _ = io.WriteString(f, "\n")
	return line, err
}
