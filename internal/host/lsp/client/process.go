package client

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/kxtools/kx/internal/base/proc"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/gate/sandbox"
)

const (
	// grace is what a server has to answer that it shall end, and then to end. The
	// slowest, gopls, takes 1.1 s.
	grace = 2 * time.Second
	// lastWords is how long its output is read on when it has ended, or how long it
	// has to end when it has closed its output.
	lastWords = 500 * time.Millisecond
	// tailSize is how much of its standard error is kept: what fits on a screen.
	tailSize = 2 << 10
)

// process is the process of a server.
type process struct {
	cmd    *exec.Cmd
	in     *os.File // its input
	out    *os.File // its output
	stderr *tail
	child  *proc.Child
	cell   *sandbox.Cell
	exited chan struct{} // closed when the program itself has ended
	ended  error         // how it ended
}

// startProcess starts the server, in a session of its own and behind its walls. line
// gets what it writes to its standard error.
func startProcess(opt Options, line func(string)) (*process, error) {
	p := &process{stderr: &tail{line: line}, cell: opt.Cell, exited: make(chan struct{})}
	if p.cell == nil {
		p.cell = &sandbox.Cell{Leave: func() []string { return nil }, Broken: func() {}}
	}
	p.cmd = &exec.Cmd{Env: proc.With(opt.Env, p.cell.Env), Stderr: p.stderr, WaitDelay: lastWords}
	if p.cell.Plan == nil {
		p.cmd.Path, p.cmd.Args, p.cmd.Dir = opt.Argv[0], opt.Argv, opt.Dir
	}
	// Pipes of ours: those of os/exec are closed when the program ends, which may be
	// before its last answer is read.
	theirIn, in, err := os.Pipe()
	if err != nil {
		p.cell.Leave()
		return nil, err
	}
	out, theirOut, err := os.Pipe()
	if err == nil {
		p.in, p.out, p.cmd.Stdin, p.cmd.Stdout = in, out, theirIn, theirOut
		p.child, err = proc.Start(p.cmd, p.cell.Plan)
		theirOut.Close()
	}
	theirIn.Close()
	if err != nil {
		in.Close()
		out.Close() // nil, if there is none, does nothing
		p.cell.Leave()
		return nil, err
	}
	go func() {
		p.ended = p.cmd.Wait()
		if err := p.child.Failure(); err != nil {
			p.cell.Broken()
			p.ended = err
		}
		close(p.exited)
	}()
	return p, nil
}

// wait waits for the program to end, at most d.
func (p *process) wait(d time.Duration) {
	select {
	case <-p.exited:
	case <-time.After(d):
	}
}

// how says how it ended: what it has closed, if it lives on.
func (p *process) how(closed string) error {
	select {
	case <-p.exited:
	default:
		return errors.New("closed its " + closed)
	}
	if p.ended != nil && !errors.Is(p.ended, exec.ErrWaitDelay) {
		return fmt.Errorf("ended (%w)", p.ended)
	}
	return errors.New("ended")
}

// words are what it said on its standard error, for the end of a message.
func (p *process) words() string {
	if said := p.stderr.String(); said != "" {
		return ": " + said
	}
	return ""
}

// end ends the program with all that came from it, and returns what can't be ended.
func (p *process) end() []int {
	left := p.child.End()
	p.wait(2 * lastWords) // it has ended, and is waited for by now or at once
	p.cell.Leave()
	p.out.Close()
	return left
}

// tail keeps the end of what is written to it, and hands on each line.
type tail struct {
	line func(string)

	mu   sync.Mutex
	buf  []byte
	rest []byte // the beginning of a line that has no end yet
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p[max(0, len(p)-tailSize):]...)
	if n := len(t.buf) - tailSize; n > 0 {
		t.buf = append([]byte{}, t.buf[n:]...)
	}
	for rest, ended := p, true; ended; {
		var part []byte
		part, rest, ended = bytes.Cut(rest, []byte("\n"))
		t.rest = append(t.rest, part[:min(len(part), tailSize-len(t.rest))]...)
		if ended {
			t.line(string(t.rest))
			t.rest = t.rest[:0]
		}
	}
	return len(p), nil
}

// String returns it on one line, for a message.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return oneLine(string(t.buf))
}

// oneLine puts the lines of a text behind each other.
func oneLine(text string) string {
	var said []string
	for l := range strings.Lines(strings.ToValidUTF8(text, "\uFFFD")) {
		if l = strings.TrimSpace(l); l != "" {
			said = append(said, term.Line(l))
		}
	}
	return strings.Join(said, "; ")
}
