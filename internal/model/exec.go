package model

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/pkg/wire"
)

const (
	// maxTurn is the longest answer of a program, in bytes.
	maxTurn = 16 << 20
	// grace is how long a program may take to end when its input is closed.
	grace = 800 * time.Millisecond
	// tailSize is how much of what a program complains about is kept.
	tailSize = 2 << 10
)

// Exec is a model that is a program: it reads a request a line from its standard
// input and writes a turn a line to its standard output. It runs once for the
// whole run.
type Exec struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan answer
	stderr *tail
	done   chan struct{}
}

type answer struct {
	raw []byte
	err error
}

// StartExec starts the program by a shell command line, in dir and with env.
func StartExec(command, dir string, env []string) (*Exec, error) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		return nil, fail.Unavailable("no_shell", "there is no sh to start the model with")
	}
	m := &Exec{lines: make(chan answer), stderr: &tail{}, done: make(chan struct{})}
	m.cmd = exec.Command(sh, "-c", command)
	m.cmd.Dir, m.cmd.Env, m.cmd.Stderr = dir, env, m.stderr
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that all of it can be ended
	m.cmd.WaitDelay = grace
	if m.in, err = m.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := m.cmd.Start(); err != nil {
		return nil, fail.Unavailable("model_failed", "the model can't be started: %v", err).Because(err)
	}
	go m.read(out)
	return m, nil
}

func (m *Exec) read(out io.Reader) {
	defer close(m.done)
	s := bufio.NewScanner(out)
	s.Buffer(make([]byte, 64<<10), maxTurn)
	for s.Scan() {
		m.lines <- answer{raw: append([]byte{}, s.Bytes()...)}
	}
	err := s.Err()
	if err == nil {
		err = io.EOF
	}
	m.lines <- answer{err: err}
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
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case a := <-m.lines:
		if a.err != nil {
			return nil, m.broken(a.err)
		}
		l, err := parseLine(a.raw)
		if err != nil {
			return nil, fail.Failed("model_broken", "the model's answer is not a turn: %v", err).WithHint("man kx-json")
		}
		return &l.Turn, nil
	}
}

func (m *Exec) broken(err error) error {
	text := "the model ended"
	if !errors.Is(err, io.EOF) {
		text = "the model's answer can't be read: " + err.Error()
	}
	if said := m.stderr.String(); said != "" {
		text += ": " + said
	}
	return fail.Failed("model_ended", "%s", text)
}

// Close ends the program and everything that it started.
func (m *Exec) Close() error {
	m.in.Close()
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for {
			select {
			case <-m.lines:
			case <-m.done:
				return
			}
		}
	}()
	select {
	case <-m.done:
	case <-time.After(grace):
	}
	syscall.Kill(-m.cmd.Process.Pid, syscall.SIGKILL)
	err := m.cmd.Wait()
	<-drained
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
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
		t.buf = t.buf[n:]
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.buf), "\uFFFD"))
}
