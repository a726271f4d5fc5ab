package term

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"
)

// ErrNoTerminal says that there is nobody to ask.
var ErrNoTerminal = errors.New("there is no terminal to ask on")

// maxAnswer caps an answer: a line of a terminal is no longer.
const maxAnswer = 4096

// Confirm asks a yes or no question on the controlling terminal; anything but
// y or yes is no, and so is the end of the input. What was typed before the
// question was shown is thrown away, whole lines too. The error is
// ErrNoTerminal when there is no terminal, or it has gone.
func (s *IO) Confirm(ctx context.Context, question string) (bool, error) {
	tty, err := s.OpenTTY()
	if err != nil {
		return false, errors.Join(ErrNoTerminal, err)
	}
	defer tty.Close()
	question = string(s.Clean([]byte(question)))
	type answer struct {
		line string
		err  error
	}
	answered := make(chan answer, 1)
	go func() { // a terminal may be stopped: also writing to it takes as long as it takes
		line, err := ask(tty, question)
		answered <- answer{line, err}
	}()
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case a := <-answered:
		switch a.line {
		case "y", "Y", "yes", "Yes", "YES":
			return a.err == nil, a.err
		}
		return false, a.err
	}
}

// ask shows a question and returns the line that is typed then. Keys count from
// the invitation on: whoever waits for it, as a program does, loses none.
func ask(tty io.ReadWriter, question string) (string, error) {
	_, err := io.WriteString(tty, Sanitize(question))
	if f, ok := tty.(*os.File); ok && err == nil {
		err = discardInput(f)
	}
	if err == nil {
		_, err = io.WriteString(tty, " [y/N] ")
	}
	if err != nil {
		return "", errors.Join(ErrNoTerminal, err)
	}
	return readLine(tty)
}

// readLine reads up to the end of the line, byte by byte: what follows is not
// for us. A line that the end of the input, or of the terminal, cuts off is no
// answer.
func readLine(r io.Reader) (string, error) {
	var line []byte
	var b [1]byte
	for len(line) < maxAnswer {
		n, err := r.Read(b[:])
		switch {
		case n == 1 && (b[0] == '\n' || b[0] == '\r'): // CR: the terminal was left in raw mode
			return string(line), nil
		case n == 1:
			line = append(line, b[0])
		case errors.Is(err, io.EOF):
			return "", nil
		case errors.Is(err, syscall.EIO):
			return "", errors.Join(ErrNoTerminal, err)
		case err != nil:
			return "", err
		}
	}
	return "", errors.New("the answer is too long")
}
