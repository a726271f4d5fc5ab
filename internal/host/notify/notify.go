// Package notify runs the command that a user wants to be told of requests with:
// a shell's, in the user's own environment, outside of any sandbox, with the
// request as JSON on its input. Nothing waits for it.
//
// A call that parks starts it and goes on (Detach). kx approve watch bounds how
// many run and how long, and takes them along when it ends (Queue).
package notify

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/base/proc"
	"github.com/kxtools/kx/pkg/wire"
)

const (
	// most is how many commands run at once: they show something to a person,
	// who sees one at a time.
	most = 8
	// patience is how long a command may take before it is ended.
	patience = 30 * time.Second
	// maxQueue is how many requests wait for a command: two sessions' worth of
	// requests. Beyond that nobody reads them.
	maxQueue = 100
)

// Detach starts command in the folder dir and leaves it to itself. It holds none
// of the streams of this process, and may live longer.
func Detach(command, dir string, doc any) error {
	cmd, _, err := start(proc.Detach, command, dir, doc, nil)
	if err != nil {
		return err
	}
	go cmd.Wait()
	return nil
}

// attach starts a command that ends with this process.
func attach(cmd *exec.Cmd) (*proc.Child, error) { return proc.Start(cmd, nil) }

// start starts command in a session of its own. Its input is a file that is gone
// already, so that nobody need be there to write it.
func start(how func(*exec.Cmd) (*proc.Child, error), command, dir string, doc any, stderr *os.File) (cmd *exec.Cmd, end func() []int, err error) {
	raw, err := wire.Marshal(doc)
	if err != nil {
		return nil, nil, err
	}
	in, err := os.CreateTemp("", "kx-notify-")
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	if err := os.Remove(in.Name()); err != nil {
		return nil, nil, err
	}
	if _, err := in.Write(append(raw, '\n')); err != nil {
		return nil, nil, err
	}
	if _, err := in.Seek(0, 0); err != nil {
		return nil, nil, err
	}
	cmd = exec.Command("/bin/sh", "-c", command)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, paths.Environ(), in
	if stderr != nil {
		cmd.Stderr = stderr
	}
	child, err := how(cmd)
	if err != nil {
		return nil, nil, err
	}
	return cmd, child.End, nil
}

// Queue runs the command for one request after the other.
type Queue struct {
	// Clean takes out of a document what the command is not told; nil for nothing.
	// It is set before the first Add.
	Clean func([]byte) []byte

	command string
	stderr  *os.File
	said    func(string)

	patience time.Duration
	queue    chan *wire.Approval
	closing  chan struct{}
	workers  sync.WaitGroup
}

// NewQueue returns a queue of a command that writes its errors to stderr, if that
// is not nil. said is told what went wrong, by several goroutines.
func NewQueue(command string, stderr *os.File, said func(string)) *Queue {
	return newQueue(command, stderr, said, patience)
}

func newQueue(command string, stderr *os.File, said func(string), patience time.Duration) *Queue {
	q := &Queue{
		command: command, stderr: stderr, said: said, patience: patience,
		queue: make(chan *wire.Approval, maxQueue), closing: make(chan struct{}),
	}
	for range most {
		q.workers.Go(q.work)
	}
	return q
}

// Add runs the command for a, now or when one of the others has ended. It never
// waits: what does not fit is dropped with a word.
func (q *Queue) Add(a *wire.Approval) {
	select {
	case q.queue <- a:
	default:
		q.said(fmt.Sprintf("no notification of request %s: %d wait already", a.ID, maxQueue))
	}
}

// Close ends the commands that run, forgets those that wait, and returns when
// nothing is left.
func (q *Queue) Close() {
	close(q.closing)
	q.workers.Wait()
}

func (q *Queue) work() {
	for {
		select {
		case <-q.closing:
			return
		default:
		}
		select {
		case <-q.closing:
			return
		case a := <-q.queue:
			if err := q.run(a); err != nil {
				q.said(fmt.Sprintf("the notification of request %s failed: %v", a.ID, err))
			}
		}
	}
}

// run runs the command to its end; what it leaves behind ends with it.
func (q *Queue) run(a *wire.Approval) error {
	raw, err := wire.Marshal(a)
	if err != nil {
		return err
	}
	if q.Clean != nil {
		raw = q.Clean(raw)
	}
	cmd, end, err := start(attach, q.command, "", json.RawMessage(raw), q.stderr)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	late := time.NewTimer(q.patience)
	defer late.Stop()
	select {
	case err := <-ended:
		end()
		return err
	case <-late.C:
		end()
		return fmt.Errorf("it took more than %s and was ended", q.patience)
	case <-q.closing:
		end()
		return nil
	}
}
