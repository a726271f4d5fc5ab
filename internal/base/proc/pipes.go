package proc

import (
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/kxtools/kx/internal/base/redact"
)

// pipes are the three streams of a command. They are ours rather than those of
// os/exec, whose Wait would wait for every process that holds one.
type pipes struct {
	stdin            []byte
	in               *os.File // our end, or nil
	out, err         *os.File
	theirs           []*os.File
	stdout, stderr   *capture
	secrets          *redact.Redactor
	reading, writing sync.WaitGroup
}

func connect(cmd *exec.Cmd, s Spec) (*pipes, error) {
	p := &pipes{stdin: s.Stdin, stdout: newCapture(s.OutCap), stderr: newCapture(s.OutCap), secrets: s.Secrets}
	pipe := func() (r, w *os.File, err error) {
		if r, w, err = os.Pipe(); err != nil {
			p.started()
			p.close()
		}
		return r, w, err
	}
	r, w, err := pipe()
	if err != nil {
		return nil, err
	}
	p.out, cmd.Stdout, p.theirs = r, w, append(p.theirs, w)
	if r, w, err = pipe(); err != nil {
		return nil, err
	}
	p.err, cmd.Stderr, p.theirs = r, w, append(p.theirs, w)
	if s.Stdin != nil {
		if r, w, err = pipe(); err != nil {
			return nil, err
		}
		p.in, cmd.Stdin, p.theirs = w, r, append(p.theirs, r)
	}
	return p, nil
}

// started closes the command's ends here and begins to move bytes.
func (p *pipes) started() {
	for _, f := range p.theirs {
		f.Close()
	}
	read := func(f *os.File, to *capture) {
		if f != nil {
			p.reading.Go(func() {
				w := p.secrets.To(to)
				_, _ = io.Copy(w, f)
				_ = w.Close()
			})
		}
	}
	read(p.out, p.stdout)
	read(p.err, p.stderr)
	if p.in != nil {
		p.writing.Go(func() {
			_, _ = p.in.Write(p.stdin) // a command need not read its input
			p.in.Close()
		})
	}
}

// close gives up on whatever still moves.
func (p *pipes) close() {
	for _, f := range []*os.File{p.in, p.out, p.err} {
		if f != nil {
			f.Close()
		}
	}
	p.reading.Wait()
	p.writing.Wait()
}

// finish reads what is left in the pipes. A process that could not be ended may
// hold one open for ever, so that has a limit.
func (p *pipes) finish(res *Result) {
	until := time.Now().Add(drain)
	_ = p.out.SetReadDeadline(until)
	_ = p.err.SetReadDeadline(until)
	p.reading.Wait()
	p.close()
	var cut [2]bool
	res.Stdout, cut[0] = p.stdout.bytes()
	res.Stderr, cut[1] = p.stderr.bytes()
	res.Truncated = cut[0] || cut[1]
}
