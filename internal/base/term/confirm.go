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
	line, err := s.ask(ctx, question, " [y/N] ")
	switch line {
	case "y", "Y", "yes", "Yes", "YES":
		return err == nil, err
	}
	if err == io.EOF {
		err = nil
	}
	return false, err
}

// Ask asks for a line in the same way. The end of the input is io.EOF. When ctx ends
// it returns at once; a line that is typed at that moment is lost, and answers
// nothing that is asked later.
func (s *IO) Ask(ctx context.Context, prompt string) (string, error) {
	return s.ask(ctx, prompt, " ")
}

// Bell rings the bell of the controlling terminal.
func (s *IO) Bell() error {
	tty, err := s.OpenTTY()
	if err != nil {
		return errors.Join(ErrNoTerminal, err)
	}
	defer tty.Close()
	_, err = io.WriteString(tty, "\a")
	return err
}

// ask shows a question on the controlling terminal and returns the line that is
// typed then.
func (s *IO) ask(ctx context.Context, question, invitation string) (string, error) {
	tty, err := s.OpenTTY()
	if err != nil {
		return "", errors.Join(ErrNoTerminal, err)
	}
	defer tty.Close()
	defer s.question()()
	question = string(s.Clean([]byte(question)))
	type answer struct {
		line string
		err  error
	}
	answered := make(chan answer, 1)
	go func() { // a terminal may be stopped: also writing to it takes as long as it takes
		line, err := invite(tty, question, invitation)
		answered <- answer{line, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case a := <-answered:
		return a.line, a.err
	}
}

// invite shows a question and returns the line that is typed then. Keys count from
// the invitation on: whoever waits for it, as a program does, loses none.
func invite(tty io.ReadWriter, question, invitation string) (string, error) {
	_, err := io.WriteString(tty, Sanitize(question))
	if f, ok := tty.(*os.File); ok && err == nil {
		err = discardInput(f)
	}
	if err == nil {
		_, err = io.WriteString(tty, invitation)
	}
	if err != nil {
		return "", errors.Join(ErrNoTerminal, err)
	}
	return readLine(tty)
}

// control does something to the terminal f. Its Fd would make a file of it whose
// reads don't end when it is closed, and a question must end when nobody asks it any
// more.
func control(f *os.File, do func(fd int) error) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := c.Control(func(fd uintptr) { failed = do(int(fd)) }); err != nil {
		return err
	}
	return failed
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
			return "", io.EOF
		case errors.Is(err, syscall.EIO):
			return "", errors.Join(ErrNoTerminal, err)
		case err != nil:
			return "", err
		}
	}
	return "", errors.New("the answer is too long")
}
