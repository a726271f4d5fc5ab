package term

import (
	"errors"
	"os"

	xterm "golang.org/x/term"
)

// Screen opens the controlling terminal for a program that draws on all of it, and
// throws away what was typed before. Such a program makes visible itself what it
// shows. The error is ErrNoTerminal when there is no terminal.
func (s *IO) Screen() (*os.File, error) {
	tty, err := s.OpenTTY()
	if err != nil {
		return nil, errors.Join(ErrNoTerminal, err)
	}
	f, ok := tty.(*os.File)
	if !ok || !xterm.IsTerminal(int(f.Fd())) {
		tty.Close()
		return nil, ErrNoTerminal
	}
	if err := discardInput(f); err != nil {
		f.Close()
		return nil, errors.Join(ErrNoTerminal, err)
	}
	return f, nil
}
