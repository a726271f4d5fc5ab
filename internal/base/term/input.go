package term

import (
	"context"
	"io"
)

// chunk is how much of the standard input is read at once.
const chunk = 64 << 10

// Input returns the standard input as long as ctx lives. A read that waits for
// more ends with the error of ctx: somebody who sends nothing must not hold up a
// signal.
func (s *IO) Input(ctx context.Context) io.Reader {
	return &input{ctx: ctx, in: s.In, buf: make([]byte, chunk)}
}

type input struct {
	ctx  context.Context
	in   io.Reader
	buf  []byte // the reader of the moment writes here, and nobody else
	rest []byte // what is in buf and was not asked for yet
	err  error  // what comes after rest
}

func (r *input) Read(p []byte) (int, error) {
	if len(r.rest) == 0 && r.err == nil {
		type read struct {
			n   int
			err error
		}
		done := make(chan read, 1)
		go func() {
			n, err := r.in.Read(r.buf)
			done <- read{n, err}
		}()
		select {
		case <-r.ctx.Done():
			r.err = r.ctx.Err()
		case got := <-done:
			r.rest, r.err = r.buf[:got.n], got.err
		}
	}
	if len(r.rest) == 0 {
		return 0, r.err
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
