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
	"time"

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
	_, argv := words(line)
	if len(argv) == 0 {
		return false
	}
	_, err := exec.LookPath(argv[0])
	return err == nil
}

// words takes a plain line of the shell apart: the variables that it sets, and the
// program with its arguments.
func words(line string) (env, argv []string) {
	argv = strings.Fields(line)
	for len(argv) > 0 && strings.Contains(argv[0], "=") {
		env, argv = append(env, argv[0]), argv[1:]
	}
	return env, argv
}

// special is what a line has that only a shell understands.
const special = "|&;<>()$`\\\"'*?[]#~!{}\n"

// command is the pager. A shell is started only where one is needed: it would stop at
// ^Z before its child has.
func command(line string) (*exec.Cmd, error) {
	env := os.Environ()
	if _, set := os.LookupEnv("LESS"); !set {
		env = append(env, lessOptions)
	}
	more, argv := words(line)
	if strings.ContainsAny(line, special) {
		more, argv = nil, []string{"sh", "-c", line}
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, argv[1:]...)
	cmd.Env = append(env, more...)
	return cmd, nil
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
	cmd, err := command(p.io.Pager)
	if err != nil {
		return err
	}
	p.cmd = cmd
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
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
	if !signal.Ignored(syscall.SIGTSTP) {
		came := make(chan os.Signal, 4) // as many as may come while one is answered
		signal.Notify(came, syscall.SIGTSTP, syscall.SIGCONT)
		go p.follow(came)
	}
	return nil
}

const (
	// tidies is how long a pager may take at ^Z to put the terminal in order; one
	// that does not stop can't keep the shell waiting.
	tidies = 2 * time.Second
	// looks is how often it is looked at meanwhile.
	looks = 5 * time.Millisecond
)

// follow stops this process behind the pager: the shell goes on as soon as this
// process stops, and must find a terminal that nobody writes to.
func (p *pages) follow(came chan os.Signal) {
	defer signal.Stop(came)
	for {
		select {
		case <-p.gone:
			return
		case s := <-came:
			if s != syscall.SIGTSTP {
				continue
			}
		}
		for deadline := time.Now().Add(tidies); !stopped(p.cmd.Process.Pid) && time.Now().Before(deadline); {
			select {
			case <-p.gone:
				return
			case <-time.After(looks):
			}
		}
		resume := suspend()
		select {
		case <-came:
		case <-time.After(stopping):
		}
		resume()
	}
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
