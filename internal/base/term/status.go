package term

import (
	"bytes"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	xterm "golang.org/x/term"
)

const (
	// beat is how often the line is drawn anew: what it counts are seconds.
	beat = time.Second
	// stopping is how long the kernel has to stop this process. An orphan, which
	// nobody could continue, it does not stop at all.
	stopping = 100 * time.Millisecond
	// usual is the width of a terminal that does not know its own.
	usual = 80
)

// Status is a line at the bottom of the terminal that says what goes on, and is
// drawn over again. While it stands, what is written to Out and Err comes to stand
// above it, text and line in one write.
//
// The cursor waits at its beginning: a terminal that is made narrower breaks the
// line but keeps the cursor on its first character, so that erasing from there on
// leaves nothing. A background process draws nothing, a stopped one nothing either,
// and while a question stands there is no line.
type Status struct {
	io       *IO
	line     func(cells int) string
	tty      *os.File
	out, err Stream // as they were

	mu    sync.Mutex
	text  string // what stands there, or stood there last
	shown bool
	mid   bool // the text above does not end its line: there is no place for another
	away  bool // the process is about to be stopped, or the line is over
	asked int  // questions that stand

	once sync.Once
	over chan struct{}
	done chan struct{} // closed when nothing is drawn by itself any more
}

// Status begins a status line, line says what is in it. It is nil, and does
// nothing, where there is no place for one: the standard error is no terminal, or
// a simple one, or the standard output goes to somebody who writes to the same
// terminal, such as a pager or tee.
func (s *IO) Status(line func(cells int) string) *Status { return s.status(line, beat) }

func (s *IO) status(line func(cells int) string, every time.Duration) *Status {
	tty, ok := file(s.Err.w)
	if !ok || !s.ErrTTY || s.Dumb {
		return nil
	}
	st := &Status{io: s, line: line, tty: tty, out: s.Out, err: s.Err, over: make(chan struct{}), done: make(chan struct{})}
	switch out, ok := file(s.Out.w); {
	case !ok:
		return nil
	case same(out, tty):
		s.Out = To(above{st, s.Out})
	case s.OutTTY || !quiet(out):
		return nil
	}
	s.Err = To(above{st, s.Err})
	s.foot = st
	go st.keep(every)
	st.Redraw()
	return st
}

// same reports whether two files are one terminal.
func same(a, b *os.File) bool {
	x, errX := a.Stat()
	y, errY := b.Stat()
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// quiet reports whether nobody shows what is written to f.
func quiet(f *os.File) bool {
	i, err := f.Stat()
	return err == nil && (i.Mode().IsRegular() || i.Mode()&os.ModeCharDevice != 0)
}

// above is a stream whose text comes to stand above the line.
type above struct {
	st *Status
	to Stream
}

func (a above) Write(b []byte) (int, error) {
	a.st.mu.Lock()
	defer a.st.mu.Unlock()
	var all bytes.Buffer
	a.st.erase(&all)
	all.Write(b)
	if len(b) > 0 {
		a.st.mid = b[len(b)-1] != '\n'
	}
	a.st.draw(&all)
	return len(b), a.to.Exact(all.Bytes())
}

// Redraw shows what has changed.
func (st *Status) Redraw() { st.redraw(false) }

func (st *Status) redraw(always bool) {
	if st == nil {
		return
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	before, stood := st.text, st.shown
	var all bytes.Buffer
	st.erase(&all)
	st.draw(&all)
	if always || st.text != before || st.shown != stood {
		_ = st.err.Exact(all.Bytes()) // a terminal that has gone shows nothing
	}
}

// Close takes the line away. What is written from now on comes as it comes.
func (st *Status) Close() {
	if st == nil {
		return
	}
	st.once.Do(func() {
		close(st.over)
		<-st.done
		st.leave()
		st.io.Out, st.io.Err = st.out, st.err
	})
}

// leave takes the line away for now.
func (st *Status) leave() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.away = true
	var all bytes.Buffer
	st.erase(&all)
	_ = st.err.Exact(all.Bytes())
}

// question makes room for a question, until end.
func (s *IO) question() (end func()) {
	st := s.foot
	if st == nil {
		return func() {}
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.asked++
	var all bytes.Buffer
	st.erase(&all)
	_ = st.err.Exact(all.Bytes())
	return func() {
		st.mu.Lock()
		st.asked--
		st.mu.Unlock()
		st.Redraw()
	}
}

func (st *Status) erase(b *bytes.Buffer) {
	if st.shown {
		b.WriteString("\r\x1b[J")
		st.shown = false
	}
}

// draw writes the line, one column short: a terminal may wrap behind a full one.
func (st *Status) draw(b *bytes.Buffer) {
	if st.away || st.asked > 0 || st.mid || !foreground(st.tty) {
		return
	}
	width, _, err := xterm.GetSize(int(st.tty.Fd()))
	if err != nil || width <= 0 {
		width = usual
	}
	st.text = Fit(Line(st.line(width-1)), width-1)
	if st.text == "" {
		return
	}
	st.shown = true
	if st.io.ErrColor {
		b.WriteString("\x1b[2m" + st.text + "\x1b[0m\r")
		return
	}
	b.WriteString(st.text + "\r")
}

// foreground reports whether the terminal is not known to be another job's now.
func foreground(tty *os.File) bool {
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// keep draws the line every so often, and as the terminal and its user demand.
func (st *Status) keep(every time.Duration) {
	defer close(st.done)
	tick := time.NewTicker(every)
	defer tick.Stop()
	came := make(chan os.Signal, 4) // as many as may come while one is answered
	signal.Notify(came, syscall.SIGWINCH, syscall.SIGCONT)
	defer signal.Stop(came)
	if !signal.Ignored(syscall.SIGTSTP) {
		signal.Notify(came, syscall.SIGTSTP)
	}
	for {
		select {
		case <-st.over:
			return
		case <-tick.C:
		case s := <-came:
			if s == syscall.SIGTSTP {
				st.pause(came)
			}
		}
		st.redraw(true)
	}
}

// pause takes the line away, stops the process as ^Z does, and comes back when it
// is continued.
func (st *Status) pause(came chan os.Signal) {
	st.leave()
	resume := suspend()
	select {
	case <-came:
	case <-time.After(stopping):
	}
	resume()
	st.mu.Lock()
	st.away = false
	st.mu.Unlock()
}
