// Package term is what kx knows of the terminal: the three streams, which of
// them a person looks at, whether colour is welcome there, how wide it is, and
// how to ask a person something.
//
// Invariants: whatever a person reads goes through Sanitize or Line, so that no
// file name, page or tool can steer the terminal; questions are asked on the
// controlling terminal, never on the standard streams.
package term

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"

	xterm "golang.org/x/term"
)

// IO is the streams of a command and what is known of them.
type IO struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer

	InTTY, OutTTY, ErrTTY bool
	OutColor, ErrColor    bool
	Width                 int // columns of Out, 0 when it is no terminal

	// OpenTTY opens the controlling terminal.
	OpenTTY func() (io.ReadWriteCloser, error)
}

// System returns the streams of the process.
func System() *IO {
	s := &IO{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		InTTY:  xterm.IsTerminal(int(os.Stdin.Fd())),
		OutTTY: xterm.IsTerminal(int(os.Stdout.Fd())),
		ErrTTY: xterm.IsTerminal(int(os.Stderr.Fd())),
		OpenTTY: func() (io.ReadWriteCloser, error) {
			return os.OpenFile("/dev/tty", os.O_RDWR, 0)
		},
	}
	s.color(os.Getenv("NO_COLOR"), os.Getenv("TERM"))
	if s.OutTTY {
		if w, _, err := xterm.GetSize(int(os.Stdout.Fd())); err == nil {
			s.Width = w
		}
	}
	return s
}

// color allows colour on each stream that is a terminal, unless the
// environment forbids it.
func (s *IO) color(noColor, termName string) {
	allowed := noColor == "" && termName != "dumb" && termName != ""
	s.OutColor = allowed && s.OutTTY
	s.ErrColor = allowed && s.ErrTTY
}

// Test returns streams made of buffers, without a terminal.
func Test() (s *IO, in, out, errs *bytes.Buffer) {
	in, out, errs = &bytes.Buffer{}, &bytes.Buffer{}, &bytes.Buffer{}
	s = &IO{In: in, Out: out, Err: errs, OpenTTY: func() (io.ReadWriteCloser, error) {
		return nil, errors.New("a test has no terminal")
	}}
	return s, in, out, errs
}

// ErrNoTerminal says that there is nobody to ask.
var ErrNoTerminal = errors.New("there is no terminal to ask on")

// maxAnswer caps an answer: a line of a terminal is no longer.
const maxAnswer = 4096

// Confirm asks a yes or no question on the controlling terminal; anything but
// y or yes is no. What was typed before the question was shown is thrown away.
// The error is ErrNoTerminal when there is no terminal.
func (s *IO) Confirm(ctx context.Context, question string) (bool, error) {
	tty, err := s.OpenTTY()
	if err != nil {
		return false, errors.Join(ErrNoTerminal, err)
	}
	defer tty.Close()
	if f, ok := tty.(*os.File); ok {
		if err := discardInput(f); err != nil {
			return false, errors.Join(ErrNoTerminal, err)
		}
	}
	if _, err := io.WriteString(tty, Sanitize(question)+" [y/N] "); err != nil {
		return false, err
	}
	type answer struct {
		line string
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		line, err := readLine(tty)
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

// readLine reads up to the end of the line, byte by byte: what follows is not
// for us. A line that the end of the input cuts off is no answer.
func readLine(r io.Reader) (string, error) {
	var line []byte
	var b [1]byte
	for len(line) < maxAnswer {
		n, err := r.Read(b[:])
		switch {
		case n == 1 && b[0] == '\n':
			return string(bytes.TrimRight(line, "\r")), nil
		case n == 1:
			line = append(line, b[0])
		case errors.Is(err, io.EOF):
			return "", nil
		case err != nil:
			return "", err
		}
	}
	return "", errors.New("the answer is too long")
}
