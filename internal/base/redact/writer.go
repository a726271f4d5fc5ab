package redact

import "io"

const (
	// batch is how much a Writer gathers before it looks: looking at little at a
	// time costs more than it saves in memory.
	batch = 64 << 10
	// longestChain bounds what is held back of secrets that overlap without end.
	longestChain = 1 << 20
)

// Writer takes secrets out of a stream, wherever its pieces begin and end. What
// may be the beginning of one is held back until Close.
type Writer struct {
	r   *Redactor
	to  io.Writer
	buf []byte
}

// To returns a writer to w. With a nil Redactor all passes through at once.
func (r *Redactor) To(w io.Writer) *Writer { return &Writer{r: r, to: w} }

func (w *Writer) Write(p []byte) (int, error) {
	if w.r == nil {
		return w.to.Write(p)
	}
	if w.buf = append(w.buf, p...); len(w.buf) < batch+w.r.longest {
		return len(p), nil
	}
	return len(p), w.flush(len(w.buf) - w.r.longest)
}

// Close writes what was held back.
func (w *Writer) Close() error {
	if len(w.buf) == 0 {
		return nil
	}
	return w.flush(len(w.buf))
}

// flush writes the first bytes up to cut, a little less or more where that is in
// the middle of a secret: one that begins before cut is there as a whole.
func (w *Writer) flush(cut int) error {
	found := w.r.find(w.buf)
	for i, f := range found {
		if f.end <= cut {
			continue
		}
		found = found[:i]
		if f.start >= cut {
			break
		}
		// Another secret may begin in this one and end in what is to come.
		if cut = f.start; cut == 0 && f.end > longestChain {
			found, cut = append(found, f), f.end
		}
		break
	}
	if cut == 0 {
		return nil
	}
	_, err := w.to.Write(w.r.replace(w.buf[:cut], found))
	w.buf = append(w.buf[:0], w.buf[cut:]...)
	return err
}
