package term

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"github.com/clipperhouse/displaywidth"
	xterm "golang.org/x/term"
)

const (
	// usualPager is the pager where PAGER names none.
	usualPager = "less"
	// lessOptions are those of less where LESS has none, as git has them: end by
	// itself if all fits, show colour, leave the text on the screen.
	lessOptions = "LESS=FRX"
)

// pager is what shows long output, "" for nothing.
func pager(value string, set bool) string {
	switch {
	case !set:
		return usualPager
	case strings.TrimSpace(value) == "cat":
		return ""
	}
	return strings.TrimSpace(value)
}

// Paged runs f. What it writes to Out goes through the pager, if it is longer than
// the screen of a person who has one. The context of f ends when the pager does, and
// that somebody has read enough is no error. ^C is the pager's as long as it runs.
func (s *IO) Paged(ctx context.Context, f func(context.Context) error) error {
	tty, ok := file(s.Out.w)
	if !ok || !s.OutTTY || s.Dumb || !installed(s.Pager) {
		return f(ctx)
	}
	width, height, err := xterm.GetSize(int(tty.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return f(ctx)
	}
	reading, quit := context.WithCancel(ctx)
	defer quit()
	p := &pages{io: s, tty: tty, width: width, room: height - 1, quit: quit} // the last row is the prompt's
	before := s.Out
	s.Out = To(p)
	if s.hide != nil {
		s.Out = To(hiding{p, s.hide})
	}
	err = f(reading)
	s.Out = before
	enough := errors.Is(err, syscall.EPIPE) || reading.Err() != nil && errors.Is(err, context.Canceled)
	ended := p.end(ctx)
	if enough && ctx.Err() == nil {
		return nil
	}
	return errors.Join(err, ended)
}

// installed reports whether a line of the shell names a program that is there.
func installed(line string) bool {
	for _, word := range strings.Fields(line) {
		if !strings.Contains(word, "=") {
			_, err := exec.LookPath(word)
			return err == nil
		}
	}
	return false
}

// pages takes what is written: at first it holds it, when there is more than fits it
// gives it to the pager.
type pages struct {
	io          *IO
	tty         *os.File
	width, room int
	quit        func() // the pager has ended

	held   bytes.Buffer
	direct bool
	pipe   *os.File // to the pager
	cmd    *exec.Cmd
	gone   chan struct{}
}

func (p *pages) Write(b []byte) (int, error) {
	switch {
	case p.direct:
		return p.tty.Write(b)
	case p.pipe != nil:
		return p.pipe.Write(b)
	}
	p.held.Write(b)
	if rows(p.held.String(), p.width, p.room) <= p.room {
		return len(b), nil
	}
	to := p.tty
	if p.start() == nil {
		to = p.pipe
	} else {
		p.direct = true
	}
	_, err := to.Write(p.held.Bytes())
	return len(b), err
}

// rows counts the rows that text takes, up to one more than most.
func rows(text string, width, most int) int {
	n := 0
	for line := range strings.Lines(text) {
		cells := displaywidth.Options{ControlSequences: true}.String(line)
		if n += 1 + max(cells-1, 0)/width; n > most {
			break
		}
	}
	return n
}

// start starts the pager.
func (p *pages) start() error {
	sh, err := exec.LookPath("sh")
	if err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	p.cmd = exec.Command(sh, "-c", p.io.Pager)
	if _, set := os.LookupEnv("LESS"); !set {
		p.cmd.Env = append(os.Environ(), lessOptions)
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = r, p.tty, p.io.Err.w
	if f, ok := file(p.io.Err.w); ok {
		p.cmd.Stderr = f
	}
	if err := p.cmd.Start(); err != nil {
		w.Close()
		return err
	}
	signal.Ignore(os.Interrupt) // from here to the end, which is near when the pager has ended
	p.pipe, p.gone = w, make(chan struct{})
	go func() {
		_ = p.cmd.Wait() // how a pager ends is nobody's business
		p.quit()
		close(p.gone)
	}()
	return nil
}

// end shows what is held, or waits for the pager.
func (p *pages) end(ctx context.Context) error {
	if p.pipe == nil {
		if p.direct {
			return nil
		}
		_, err := p.tty.Write(p.held.Bytes())
		return err
	}
	p.pipe.Close()
	select {
	case <-p.gone:
		return nil
	case <-ctx.Done():
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // less puts the terminal in order
		<-p.gone
		return ctx.Err()
	}
}
