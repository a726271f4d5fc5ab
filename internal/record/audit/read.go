package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/pkg/wire"
)

// Entry is a line of the record as a reader gets it: the whole of it, and the
// fields that lines are found by.
type Entry struct {
	Place
	Type      string        `json:"type"`
	ID        string        `json:"id"`
	CallID    string        `json:"call_id"`
	Session   string        `json:"session"`
	Tool      string        `json:"tool"`
	Decision  wire.Verdict  `json:"decision"`
	DecidedBy *wire.Decider `json:"decided_by"`
	Reason    string        `json:"reason"`
	Status    wire.Status   `json:"status"`
	State     string        `json:"state"`
	Action    string        `json:"action"`

	Source string          `json:"-"` // file:line
	Raw    json.RawMessage `json:"-"`
}

// MarshalJSON gives the line as it stands in the record.
func (e Entry) MarshalJSON() ([]byte, error) { return e.Raw, nil }

// Filter chooses lines. A condition that is given wants the field: a line
// without a session matches no Session. Decision and DecidedBy speak of
// decision lines only.
type Filter struct {
	Session   string
	Tool      string // a last * stands for any rest
	Decision  string
	DecidedBy string
	Since     time.Time
	Until     time.Time
}

func (f Filter) match(e *Entry) bool {
	return (f.Session == "" || e.Session == f.Session) &&
		(f.Tool == "" || e.Tool == f.Tool || strings.HasSuffix(f.Tool, "*") && e.Tool != "" && strings.HasPrefix(e.Tool, f.Tool[:len(f.Tool)-1])) &&
		(f.Decision == "" || e.Type == TypeDecision && string(e.Decision) == f.Decision) &&
		(f.DecidedBy == "" || e.Type == TypeDecision && e.DecidedBy != nil && e.DecidedBy.Kind == f.DecidedBy) &&
		(f.Since.IsZero() || !e.At.Before(f.Since)) &&
		(f.Until.IsZero() || e.At.Before(f.Until))
}

// List yields the lines that match, in order. A damaged line comes as an error
// that names it, and reading goes on; the torn end of a line that is being
// written is passed over.
func (l *Log) List(f Filter) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		files, err := days(l.dir())
		if err != nil {
			yield(Entry{}, err)
			return
		}
		for _, name := range files {
			// A line is never younger than the day of its file.
			if !f.Since.IsZero() && name < f.Since.UTC().Format(day) {
				continue
			}
			for line, err := range fsx.Lines(filepath.Join(l.dir(), name)) {
				if err != nil {
					yield(Entry{}, fail.Failed("audit", "%s can't be read: %v", name, fsx.Reason(err)).Because(err))
					return
				}
				if line.Torn {
					break
				}
				e := Entry{Source: fmt.Sprintf("%s:%d", name, line.N)}
				if line.TooLong || json.Unmarshal(line.Data, &e) != nil || e.Seq <= 0 {
					err := fail.Failed("damaged_line", "%s/%s is damaged", folder, e.Source).WithHint("kx audit verify")
					if !yield(Entry{Source: e.Source}, err) {
						return
					}
					continue
				}
				if !f.match(&e) {
					continue
				}
				e.Raw = append(e.Raw, line.Data...)
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// Lines yields the lines of a type as they stand in the record, in order, for who
// reads all of them. Each is valid until the next; damaged ones are left out.
func (l *Log) Lines(kind string) iter.Seq2[[]byte, error] {
	start := []byte(`{"type":"` + kind + `",`)
	return func(yield func([]byte, error) bool) {
		files, err := days(l.dir())
		if err != nil {
			yield(nil, err)
			return
		}
		for _, name := range files {
			for line, err := range fsx.Lines(filepath.Join(l.dir(), name)) {
				if err != nil {
					yield(nil, fail.Failed("audit", "%s can't be read: %v", name, fsx.Reason(err)).Because(err))
					return
				}
				if !line.Torn && !line.TooLong && bytes.HasPrefix(line.Data, start) && !yield(line.Data, nil) {
					return
				}
			}
		}
	}
}

// Report says what Verify found.
type Report struct {
	Lines int64
	Days  int
	Head  Head
	Torn  bool // the record ends in a part of a line, which the next writer moves aside
}

// Head is the end of the chain. It proves every line up to it.
type Head struct {
	Seq    int64  `json:"seq"`
	SHA256 string `json:"sha256"`
}

// Head returns the last line's seq and digest.
func (l *Log) Head() (Head, error) {
	unlock, err := l.freeze()
	if err != nil {
		return Head{}, err
	}
	defer unlock()
	seq, sum, err := tail(l.dir())
	return Head{Seq: seq, SHA256: sum}, err
}

// freeze keeps writers out.
func (l *Log) freeze() (unlock func(), err error) {
	if _, err := os.Stat(l.dir()); os.IsNotExist(err) {
		return func() {}, nil
	}
	unlock, err = fsx.Lock(filepath.Join(l.dir(), "lock"))
	if errors.Is(err, syscall.EROFS) {
		return func() {}, nil // nobody can append to what can't be written
	}
	return unlock, err
}

// Verify follows the chain from the first line to the last. The error names
// the first line that does not follow from the one before it.
func (l *Log) Verify() (Report, error) {
	files, ends, h, err := l.snapshot()
	if err != nil {
		return Report{}, err
	}
	r := Report{Days: len(files), Head: Head{SHA256: genesis}}
	atHead := genesis // the digest of line h.Seq
	for i, name := range files {
		f, err := os.Open(filepath.Join(l.dir(), name))
		if err != nil {
			return r, fail.Failed("audit", "%s can't be read: %v", name, fsx.Reason(err)).Because(err)
		}
		defer f.Close()
		for line, err := range fsx.ReadLines(io.LimitReader(f, ends[i])) {
			if err != nil {
				return r, fail.Failed("audit", "%s can't be read: %v", name, fsx.Reason(err)).Because(err)
			}
			if line.Torn && i == len(files)-1 {
				r.Torn = true
				break
			}
			if why := follows(r.Head, line); why != "" {
				return r, broken("%s:%d: %s", name, line.N, why).
					WithHint("sed -n %dp %s", line.N, filepath.Join(l.dir(), name))
			}
			r.Lines++
			r.Head = Head{Seq: r.Head.Seq + 1, SHA256: digest(line.Data)}
			if r.Head.Seq == h.Seq {
				atHead = r.Head.SHA256
			}
		}
	}
	hint := "cat " + filepath.Join(l.dir(), headFile)
	switch {
	case h.Seq > r.Head.Seq:
		return r, broken("%s: it knows of %d lines, the files end at %d", headFile, h.Seq, r.Head.Seq).WithHint("%s", hint)
	case h.SHA256 != atHead:
		return r, broken("%s: it has another digest of line %d than the files", headFile, h.Seq).WithHint("%s", hint)
	}
	return r, nil
}

// snapshot lists the files of the chain, how long each is, and the head, all of
// one moment.
func (l *Log) snapshot() (files []string, ends []int64, h head, err error) {
	unlock, err := l.freeze()
	if err != nil {
		return nil, nil, h, err
	}
	defer unlock()
	if files, err = days(l.dir()); err != nil {
		return nil, nil, h, err
	}
	for _, name := range files {
		fi, err := os.Stat(filepath.Join(l.dir(), name))
		if err != nil {
			return nil, nil, h, fail.Failed("audit", "%s can't be read: %v", name, fsx.Reason(err)).Because(err)
		}
		ends = append(ends, fi.Size())
	}
	return files, ends, readHead(l.dir()), nil
}

// follows says why line does not continue the chain that ends at h, or "".
func follows(h Head, line fsx.Line) string {
	var p Place
	switch {
	case line.Torn:
		return "the last line of the day is torn"
	case line.TooLong || json.Unmarshal(line.Data, &p) != nil || p.Seq <= 0:
		return "the line is damaged"
	case p.Seq > h.Seq+1:
		return fmt.Sprintf("lines are missing: after seq %d comes %d", h.Seq, p.Seq)
	case p.Seq <= h.Seq:
		return fmt.Sprintf("the order is broken: after seq %d comes %d", h.Seq, p.Seq)
	case p.Prev != h.SHA256 && h.Seq == 0:
		return "the first line says that there was one before it"
	case p.Prev != h.SHA256:
		return fmt.Sprintf("seq %d was changed: its digest is not what seq %d says", h.Seq, p.Seq)
	}
	return ""
}

func broken(format string, args ...any) *fail.Error {
	return fail.Failed("broken_chain", "the record is broken at "+folder+"/"+format, args...)
}
