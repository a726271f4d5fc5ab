package term

import (
	"bufio"
	"errors"
	"io"
	"os"
	"time"
)

// Stream is where a command writes to. What is written to it is for a person,
// and is sanitised; what is for a program, or was sanitised already and has
// colours of ours in it, goes by Exact.
type Stream struct{ w io.Writer }

// To returns a stream that writes to w.
func To(w io.Writer) Stream { return Stream{w} }

// Write makes b visible and writes it. A character must not be split.
func (s Stream) Write(b []byte) (int, error) {
	if _, err := io.WriteString(s.w, Sanitize(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Exact writes b as it is. internal/arch knows who may call it.
func (s Stream) Exact(b []byte) error {
	_, err := s.w.Write(b)
	return err
}

// Whole is for a program that gets the terminal to itself, and shows nothing but
// what is ours.
func (s Stream) Whole() io.Writer { return s.w }

// lastWords is how long the end of a pipe waits for what is still in it.
const lastWords = 200 * time.Millisecond

// Pipe returns a file for programs whose output a person is to see: line by line
// it comes to the stream. end closes it.
func (s Stream) Pipe() (w *os.File, end func(), err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for in := bufio.NewReaderSize(r, chunk); ; {
			line, err := in.ReadSlice('\n')
			if _, failed := s.Write(line); failed != nil {
				s = To(io.Discard) // the programs go on
			}
			if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
				return
			}
		}
	}()
	return w, func() {
		w.Close()
		_ = r.SetReadDeadline(time.Now().Add(lastWords)) // somebody may still hold w
		<-done
		r.Close()
	}, nil
}
