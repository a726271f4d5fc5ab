package term

import (
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
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
	defer s.question()()
	f, ok := tty.(*os.File)
	if !ok {
		return "", ErrNoTerminal
	}
	loud, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
	if err != nil {
		return "", errors.Join(ErrNoTerminal, err)
	}
	quiet := *loud
	quiet.Lflag &^= unix.ECHO
	quiet.Lflag |= unix.ICANON | unix.ISIG | unix.ECHONL // the end of the line is shown
	quiet.Iflag |= unix.ICRNL
	if err := unix.IoctlSetTermios(int(f.Fd()), setTermios, &quiet); err != nil {
		return "", errors.Join(ErrNoTerminal, err)
	}
	defer func() { _ = unix.IoctlSetTermios(int(f.Fd()), setTermios, loud) }()
	type answer struct {
		line string
		err  error
	}
	answered := make(chan answer, 1)
	go func() { // a terminal may be stopped: also writing to it takes as long as it takes
		line, err := typed(f, question)
		answered <- answer{line, err}
	}()
	select {
	case <-ctx.Done():
		_, _ = io.WriteString(f, "\n")
		return "", ctx.Err()
	case a := <-answered:
		switch {
		case a.err == io.EOF:
			return "", nil
		case len(a.line) >= maxTyped:
			return "", ErrLongLine
		}
		return a.line, a.err
	}
}

// typed shows a question and reads the line that is typed then.
func typed(f *os.File, question string) (string, error) {
	err := discardInput(f)
	if err == nil {
		_, err = io.WriteString(f, Sanitize(question))
	}
	if err != nil {
		return "", errors.Join(ErrNoTerminal, err)
	}
	line, err := readLine(f)
	if errors.Is(err, io.EOF) {
		return "", nil
	}
	return line, err
}
