package policy

import (
	"context"
	"errors"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/lines"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/policy/view"
	"github.com/kxtools/kx/pkg/policy/mode"
	"github.com/kxtools/kx/pkg/wire"
)

const (
	// maxChunk is how many lines one worker takes: enough that handing them over
	// costs nothing, few enough that all workers have some.
	maxChunk = 128
	// garbage is how much of it may lie about, in percent of what is in use, which
	// is little: collecting it costs more than keeping it.
	garbage = 400
)

// chunk is some lines that came at once, and what is said of them.
type chunk struct {
	lines []line
	docs  []out.Encoded
	worst int
	err   error
	done  chan struct{}
}

// line is a line of the input, or why there is none.
type line struct {
	text []byte
	n    int
	err  error
}

// checkStream decides a call a line, on all processors and in order. What is here
// already is decided and written at once; nothing waits for more to come.
func checkStream(ctx context.Context, o *CheckOptions, d *view.Deps) error {
	defer debug.SetGCPercent(debug.SetGCPercent(garbage))
	p := o.App.Printer()
	workers := runtime.GOMAXPROCS(0)
	todo, order := make(chan *chunk, workers), make(chan *chunk, 2*workers)
	stop := make(chan struct{})
	defer close(stop)
	for range workers {
		go func() {
			for c := range todo {
				c.decide(p, d)
			}
		}()
	}
	go func() {
		defer close(todo)
		defer close(order)
		in := lines.New(o.App.IO.Input(ctx), maxInput)
		for end := false; !end; {
			c := &chunk{done: make(chan struct{})}
			end = c.read(in)
			for _, to := range []chan<- *chunk{order, todo} {
				select {
				case to <- c:
				case <-stop:
					return
				}
			}
		}
	}()
	worst := fail.ExitOK
	err := out.Each(p, decisionColumns, func(emit func(any) error) error {
		for c := range order {
			<-c.done
			worst = fail.Worst(worst, c.worst)
			if err := c.write(p, emit); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return o.exit(worst)
}

// read takes the lines that are here, at least one. It reports whether it was the
// last.
func (c *chunk) read(in *lines.Reader) (end bool) {
	for len(c.lines) < maxChunk && (len(c.lines) == 0 || in.Ready()) {
		text, n, err := in.Next()
		switch {
		case errors.Is(err, io.EOF):
			return true
		case err != nil && fail.Exit(err) != fail.ExitLimit:
			c.err = lines.Broken(err)
			return true
		}
		c.lines = append(c.lines, line{text, n, err})
	}
	return false
}

// decide decides the lines.
func (c *chunk) decide(p *out.Printer, d *view.Deps) {
	defer close(c.done)
	own := *d
	own.Judge = d.Judge.Burst()
	d = &own
	for _, l := range c.lines {
		doc, exit := decide(d, l)
		c.worst = fail.Worst(c.worst, exit)
		e, err := p.Encode(doc)
		if err != nil {
			c.err = err
			return
		}
		c.docs = append(c.docs, e)
	}
}

// decide decides one line and returns its document and its part of the exit status.
func decide(d *view.Deps, l line) (doc any, exit int) {
	var call *wire.Call
	err := l.err
	if err != nil {
		err = fail.Limit("input_bytes", "line %d: %v", l.n, err)
	} else if call, err = wire.ParseSubject(l.text); err != nil {
		err = fail.Usage("line %d: %v", l.n, err).WithHint("kx policy check --help")
	} else if _, ok := mode.Parse(call.Mode); call.Mode != "" && !ok {
		err = fail.Usage("line %d: there is no mode %q", l.n, call.Mode)
	}
	if err != nil {
		return wire.ErrorDoc{Type: "error", V: wire.Version, Error: *fail.As(err).Wire()}, fail.Exit(err)
	}
	dec := explain(d, call)
	return dec, exitOf(dec, false)
}

// write writes the documents of a chunk, and then says what went wrong with it.
func (c *chunk) write(p *out.Printer, emit func(any) error) error {
	p.Hold()
	for _, doc := range c.docs {
		if err := emit(doc); err != nil {
			return errors.Join(err, p.Flush())
		}
	}
	if err := p.Flush(); err != nil {
		return err
	}
	return c.err
}
