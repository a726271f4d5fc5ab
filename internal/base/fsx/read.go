package fsx

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
)

// Line is a line of a log as a reader meets it.
type Line struct {
	N       int    // from 1
	End     int64  // offset after its newline
	Data    []byte // without the newline; valid until the next line
	Torn    bool   // the end of the file, without a newline: a write that is under way or was killed
	TooLong bool   // more than MaxLine bytes, left out of Data
}

// Lines yields the lines of the log path in order. A missing file has none. It
// judges nothing: what a bad line means is known to the caller.
func Lines(path string) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(Line{}, err)
			return
		}
		defer f.Close()
		ReadLines(f)(yield)
	}
}

// ReadLines is Lines for a reader.
func ReadLines(r io.Reader) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		in := bufio.NewReaderSize(r, tailChunk)
		var buf []byte
		line := Line{}
		for {
			part, err := in.ReadSlice('\n')
			line.End += int64(len(part))
			if !line.TooLong {
				if buf = append(buf, part...); len(buf) > MaxLine {
					buf, line.TooLong = nil, true
				}
			}
			switch {
			case errors.Is(err, bufio.ErrBufferFull):
				continue
			case err != nil && err != io.EOF:
				yield(Line{}, err)
				return
			case err == io.EOF && len(buf) == 0 && !line.TooLong:
				return
			}
			line.N++
			line.Torn = err == io.EOF
			line.Data = buf
			if n := len(buf); n > 0 && !line.Torn {
				line.Data = buf[:n-1]
			}
			if !yield(line, nil) || line.Torn {
				return
			}
			buf, line.TooLong = buf[:0], false
		}
	}
}
