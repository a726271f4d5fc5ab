package session

import (
	"encoding/json"
	"fmt"
	"iter"
	"path/filepath"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/pkg/wire"
)

// Events yields the events of a session in order, with their long strings put
// back. A damaged line comes as an error that names it, and reading goes on;
// the torn end of a line that is being written, or that a killed run left, is
// passed over.
func (s *Store) Events(id string) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		if _, err := s.Meta(id); err != nil {
			yield(wire.Event{}, err)
			return
		}
		path, last := filepath.Join(s.dir(id), eventsFile), int64(0)
		for line, err := range fsx.Lines(path) {
			if err != nil {
				yield(wire.Event{}, fail.Failed("session", "session %s can't be read: %v", id, fsx.Reason(err)).WithHint("ls -l %s", path).Because(err))
				return
			}
			if line.Torn {
				return
			}
			e, why := parse(line, last)
			if why == "" {
				last = e.Seq
				if e.Data, err = s.restore(id, e.Data); err != nil {
					why = err.Error()
				}
			}
			err = nil
			if why != "" {
				err = fail.Failed("damaged_event", "session %s, %s:%d: %s", id, eventsFile, line.N, why).WithHint("sed -n %dp %s", line.N, path)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// parse reads a line; seq grows from one to the next.
func parse(line fsx.Line, last int64) (e wire.Event, why string) {
	if line.TooLong {
		return e, fmt.Sprintf("the line is longer than %d MiB", fsx.MaxLine>>20)
	}
	if err := json.Unmarshal(line.Data, &e); err != nil || e.Type != "event" {
		return wire.Event{}, "the line is damaged"
	}
	if e.Seq <= last {
		return wire.Event{}, fmt.Sprintf("after seq %d comes %d", last, e.Seq)
	}
	return e, ""
}
