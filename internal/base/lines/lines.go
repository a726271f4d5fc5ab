// Package lines reads JSON from somebody who may send anything: a stream of
// records, one a line, or one object. Lines may have any length, hold bytes that
// are no text, lack the newline at the end. A line that is too long is passed over
// and reported, and the next one is read as if nothing had happened.
package lines

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/kxtools/kx/internal/base/fail"
)

// Reader reads lines.
type Reader struct {
	r   *bufio.Reader
	max int
	n   int
}

// New returns a reader of lines of at most max bytes.
func New(r io.Reader, max int) *Reader { return &Reader{r: bufio.NewReaderSize(r, 64<<10), max: max} }

// Next returns the next line that is not empty, and its number. The error is
// io.EOF at the end, a failure with status 6 for a line that is too long, or that
// of the reader below.
func (r *Reader) Next() (line []byte, n int, err error) {
	for {
		line, err = r.read()
		r.n++
		if err != nil {
			return nil, r.n, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, r.n, nil
		}
	}
}

// Ready reports whether the next line is here already, so that Next does not wait.
func (r *Reader) Ready() bool {
	part, _ := r.r.Peek(r.r.Buffered())
	return bytes.IndexByte(part, '\n') >= 0
}

func (r *Reader) read() ([]byte, error) {
	var line []byte
	tooLong := false
	for {
		part, err := r.r.ReadSlice('\n')
		if len(line)+len(bytes.TrimRight(part, "\r\n")) > r.max {
			tooLong, line = true, nil
		}
		if !tooLong {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !(errors.Is(err, io.EOF) && (len(line) > 0 || tooLong)):
			return nil, err
		case tooLong:
			return nil, fail.Limit("input_bytes", "it has more than %d bytes", r.max)
		}
		return line, nil
	}
}
