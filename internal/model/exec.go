package model

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/lines"
	"github.com/kxtools/kx/internal/base/proc"
	"github.com/kxtools/kx/internal/gate/sandbox"
	"github.com/kxtools/kx/pkg/wire"
)

const (
	// maxTurn is the longest answer of a program, in bytes: an input of a
	// call may have as much.
	maxTurn = 16 << 20
	// grace is how long a program may take to end when its input is closed,
	// or to say its last words when its output is.
	grace = 800 * time.Millisecond
	// tailSize is how much of what a program complains about is kept: what
	// fits on a screen.
	tailSize = 2 << 10
)

// Exec is a model that is a program: it reads a request a line from its standard
// input and writes a turn a line to its standard output. It runs once for the
// whole run, in a session of its own without a terminal.
type Exec struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *os.File
	stderr *tail
	child  *proc.Child
	leave  func() []string

	answers chan answer
	quit    chan struct{} // closed when nobody wants answers any more
	exited  chan struct{} // closed when the program itself has ended
	ended   error         // how it ended
}

type answer struct {
	raw []byte
	err error
}

// Confine says where a program runs; argv[0] is its path.
type Confine func(argv []string, dir string) (*sandbox.Cell, error)

// StartExec starts the program by a shell command line, in dir and with env, behind
// the walls that confine gives it.
func StartExec(command, dir string, env []string, confine Confine) (*Exec, error) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		return nil, fail.Unavailable("no_shell", "there is no sh to start the model with").WithHint("kx doctor")
	}
	cell, err := confine([]string{sh, "-c", command}, dir)
	if err != nil {
		return nil, err
	}
	m := &Exec{
		cmd: &exec.Cmd{Env: proc.With(env, cell.Env)}, stderr: &tail{}, leave: cell.Leave,
		answers: make(chan answer), quit: make(chan struct{}), exited: make(chan struct{}),
	}
	m.cmd.Stderr = m.stderr
	m.cmd.WaitDelay = grace // for what is left of it and holds the stderr
	if m.in, err = m.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	// A pipe of ours: that of os/exec is closed when the program ends, which
	// may be before its last answer is read.
	out, theirs, err := os.Pipe()
	if err != nil {
		m.in.Close()
		return nil, err
	}
	m.out, m.cmd.Stdout = out, theirs
	m.child, err = proc.Start(m.cmd, cell.Plan)
	theirs.Close()
	if err != nil {
		out.Close()
		return nil, fail.Unavailable("model_failed", "the model can't be started: %v", err).Because(err)
	}
	go m.read()
	go func() {
		m.ended = m.cmd.Wait()
		if err := m.child.Failure(); err != nil {
			cell.Broken()
			m.ended = err
		}
		close(m.exited)
	}()
	return m, nil
}

// read hands over what the program prints until it ends.
func (m *Exec) read() {
	for r := lines.New(m.out, maxTurn); ; {
		raw, _, err := r.Next()
		select {
		case m.answers <- answer{raw, err}:
		case <-m.quit:
			return
		}
		if err != nil && fail.Exit(err) != fail.ExitLimit {
			return
		}
	}
}

// Turn sends the request and waits for the turn.
func (m *Exec) Turn(ctx context.Context, r *Request) (*Turn, error) {
	raw, err := wire.Marshal(r)
	if err != nil {
		return nil, err
	}
	// A program that does not read must not hang the run; what became of the
	// write shows in what it answers.
	go m.in.Write(append(raw, '\n'))
	a, err := m.answer(ctx)
	switch {
	case err != nil:
		return nil, err
	case fail.Exit(a.err) == fail.ExitLimit:
		return nil, fail.Failed("model_broken", "the model's answer has more than %d MiB", maxTurn>>20)
	case a.err != nil:
		close(m.quit)
		return nil, m.broken()
	}
	l, err := parseLine(a.raw)
	if err != nil {
		return nil, fail.Failed("model_broken", "the model's answer is not a turn: %v: %s", err, short(string(a.raw))).WithHint("man kx-json")
	}
	return l.play(ctx, r)
}

// answer waits for what the program prints next. Once it has ended nothing more is
// waited for, even if something that it left behind keeps its output open.
func (m *Exec) answer(ctx context.Context) (answer, error) {
	exited := m.exited
	var late <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return answer{}, ctx.Err()
		case <-m.quit:
			return answer{}, m.broken()
		case <-exited:
			exited, late = nil, time.After(grace)
		case <-late:
			close(m.quit)
		case a := <-m.answers:
			return a, nil
		}
	}
}

// broken says how the program ended, in its own words where it has some.
func (m *Exec) broken() error {
	how := "closed its output"
	select {
	case <-m.exited:
		how = "ended"
		if m.ended != nil {
			how = fmt.Sprintf("ended (%v)", m.ended)
		}
	case <-time.After(grace):
	}
	if said := m.stderr.String(); said != "" {
		how += ": " + said
	}
	return fail.Failed("model_ended", "the model %s", how)
}

// Close ends the program and everything that it started.
func (m *Exec) Close() error {
	m.in.Close()
	select {
	case <-m.exited:
	case <-time.After(grace):
	}
	left := m.child.End()
	m.leave()
	m.out.Close()
	select {
	case <-m.quit:
	default:
		close(m.quit)
	}
	if len(left) > 0 {
		return fail.Failed("model_left", "processes of the model can't be ended: %v", left)
	}
	<-m.exited
	return nil
}

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if n := len(t.buf) - tailSize; n > 0 {
		t.buf = append([]byte{}, t.buf[n:]...)
	}
	return len(p), nil
}

// String returns it on one line, for a message.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var said []string
	for _, l := range strings.Split(strings.ToValidUTF8(string(t.buf), "\uFFFD"), "\n") {
		if l = strings.TrimSpace(l); l != "" {
			said = append(said, l)
		}
	}
	return strings.Join(said, "; ")
}
