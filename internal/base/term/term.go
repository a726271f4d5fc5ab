// Package term is what kx knows of the terminal: the three streams, which of
// them a person looks at, whether colour is welcome there, how wide it is, and
// how to ask a person something.
//
// Invariants: whatever a person reads goes through Sanitize or Line, so that no
// file name, page or tool can steer the terminal: a Stream sees to it for what
// is written to it, and only the printer, which does it itself, may pass by;
// questions are asked on the controlling terminal, never on the standard
// streams, and no key counts that was typed before.
package term

import (
	"bytes"
	"errors"
	"io"
	"os"

	xterm "golang.org/x/term"
)

// IO is the streams of a command and what is known of them.
type IO struct {
	In  io.Reader
	Out Stream
	Err Stream

	InTTY, OutTTY, ErrTTY bool
	OutColor, ErrColor    bool
	Width                 int  // columns of Out, 0 when it is no terminal
	Dumb                  bool // the terminal can only be written on: TERM says so

	// Pager is the line of the shell that shows what is longer than the screen, ""
	// for none.
	Pager string

	// OpenTTY opens the controlling terminal.
	OpenTTY func() (io.ReadWriteCloser, error)

	hide func([]byte) []byte // what Hide was given, nil before that
	foot *Status             // the line at the bottom, nil if there was none
}

// Hide lets everything that is written from now on, and every question, pass
// through hide: it takes out what nobody is to read.
func (s *IO) Hide(hide func([]byte) []byte) {
	s.hide = hide
	s.Out, s.Err = To(hiding{s.Out.w, hide}), To(hiding{s.Err.w, hide})
}

// Clean is what would be written of b: for what goes to other programs.
func (s *IO) Clean(b []byte) []byte {
	if s.hide == nil {
		return b
	}
	return s.hide(b)
}

// hiding hides what each write has; a write is a whole line or more.
type hiding struct {
	w    io.Writer
	hide func([]byte) []byte
}

func (h hiding) Write(b []byte) (int, error) {
	if _, err := h.w.Write(h.hide(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// file is the file that a stream writes to, hidden from or not.
func file(w io.Writer) (*os.File, bool) {
	if h, ok := w.(hiding); ok {
		w = h.w
	}
	f, ok := w.(*os.File)
	return f, ok
}

// System returns the streams of the process.
func System() *IO {
	s := &IO{
		In: os.Stdin, Out: To(os.Stdout), Err: To(os.Stderr),
		InTTY:  xterm.IsTerminal(int(os.Stdin.Fd())),
		OutTTY: xterm.IsTerminal(int(os.Stdout.Fd())),
		ErrTTY: xterm.IsTerminal(int(os.Stderr.Fd())),
		OpenTTY: func() (io.ReadWriteCloser, error) {
			return os.OpenFile("/dev/tty", os.O_RDWR, 0)
		},
	}
	s.look(os.Getenv("NO_COLOR"), os.Getenv("TERM"))
	s.Pager = pager(os.LookupEnv("PAGER"))
	if s.OutTTY {
		if w, _, err := xterm.GetSize(int(os.Stdout.Fd())); err == nil {
			s.Width = w
		}
	}
	return s
}

// look allows colour on each stream that is a terminal, unless the
// environment forbids it.
func (s *IO) look(noColor, termName string) {
	s.Dumb = termName == "dumb" || termName == ""
	allowed := noColor == "" && !s.Dumb
	s.OutColor = allowed && s.OutTTY
	s.ErrColor = allowed && s.ErrTTY
}

// Test returns streams made of buffers, without a terminal.
func Test() (s *IO, in, out, errs *bytes.Buffer) {
	in, out, errs = &bytes.Buffer{}, &bytes.Buffer{}, &bytes.Buffer{}
	s = &IO{In: in, Out: To(out), Err: To(errs), OpenTTY: func() (io.ReadWriteCloser, error) {
		return nil, errors.New("a test has no terminal")
	}}
	return s, in, out, errs
}
