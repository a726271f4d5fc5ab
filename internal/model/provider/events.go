package provider

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"unicode/utf8"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/model"
)

const (
	// maxLine bounds a line of a stream: the last event of a Responses stream has
	// the whole answer in one.
	maxLine = 32 << 20
	// maxAnswer bounds what is kept of an answer.
	maxAnswer = 64 << 20
)

// Event is one event of a stream: a JSON document, or the end that some dialects
// write.
type Event struct {
	Name string // "" where the stream gives none
	Data []byte // valid until the next event
	Done bool   // the stream says that it is over
}

// Events reads the events of an answer: a stream of server-sent events, or one JSON
// document where a server does not stream. It reads them itself because the SDKs decode
// into their own types, which lose what compatible servers send: arguments that are
// objects, ids that are numbers, an index that was not there at all; they also take a
// stream that ends in the middle for one that ended.
type Events struct {
	line   *Line
	w      *watchdog
	in     *bufio.Reader
	header http.Header
	status int

	buf   []byte
	data  []byte
	whole bool // the body is one document
	any   bool // something has come
	over  error
	kept  int
}

func newEvents(l *Line, w *watchdog, res *http.Response) *Events {
	return &Events{
		line: l, w: w, header: res.Header, status: res.StatusCode,
		in: bufio.NewReaderSize(heeded{res.Body, w}, 64<<10),
	}
}

// Next returns the next event that has data. Its error is a *model.Failure: of a stream
// that ended, Torn or Network.
func (e *Events) Next() (Event, error) {
	if e.over != nil {
		return Event{}, e.over
	}
	ev, err := e.next()
	if err != nil {
		e.over = err
		return Event{}, err
	}
	return ev, nil
}

func (e *Events) next() (Event, error) {
	if !e.any {
		if err := e.sniff(); err != nil {
			return Event{}, err
		}
		e.any = true
		if e.whole {
			return e.document()
		}
	} else if e.whole {
		return Event{}, e.ended(nil)
	}
	var ev Event
	e.data = e.data[:0]
	for some := false; ; {
		line, err := e.read()
		var f *model.Failure
		switch {
		case err == nil:
		case errors.Is(err, io.EOF) && some:
			// A last event without the empty line, or the first lines of one.
			if last := e.give(ev); last.Done || json.Valid(last.Data) {
				return last, nil
			}
			return Event{}, e.ended(nil)
		case errors.Is(err, io.EOF):
			return Event{}, e.ended(nil)
		case errors.As(err, &f):
			return Event{}, f
		default:
			return Event{}, e.ended(err)
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(line) == 0 && some:
			return e.give(ev), nil
		case len(line) == 0:
			ev.Name = ""
		case line[0] == '{': // an error that a server writes into the stream as it is
			e.add(line, &some)
		case string(name) == "event":
			ev.Name = string(value)
		case string(name) == "error":
			ev.Name = "error"
			e.add(value, &some)
		case string(name) == "data" && len(bytes.TrimSpace(value)) > 0:
			if e.add(value, &some); len(e.data) > maxLine {
				return Event{}, e.line.tooLong("an event", maxLine)
			}
		}
	}
}

func (e *Events) add(value []byte, some *bool) {
	if *some {
		e.data = append(e.data, '\n')
	}
	e.data, *some = append(e.data, value...), true
}

// give returns the event that was read. Bytes that are no text become visible.
func (e *Events) give(ev Event) Event {
	ev.Data = bytes.TrimSpace(e.data)
	if ev.Done = string(ev.Data) == "[DONE]"; !utf8.Valid(ev.Data) {
		ev.Data = bytes.ToValidUTF8(ev.Data, []byte("\uFFFD"))
	}
	return ev
}

// read returns a line without its end. The error is io.EOF if the body ends behind a
// whole line.
func (e *Events) read() ([]byte, error) {
	e.buf = e.buf[:0]
	for {
		part, err := e.in.ReadSlice('\n')
		e.buf = append(e.buf, part...)
		switch {
		case len(e.buf) > maxLine:
			return nil, e.line.tooLong("a line", maxLine)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(e.buf) > 0:
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
		return bytes.TrimRight(e.buf, "\r\n"), nil
	}
}

// sniff looks at what the body begins with: whatever its type is said to be, a web page
// is no answer, and one document is no stream.
func (e *Events) sniff() error {
	for {
		b, err := e.in.Peek(1)
		switch {
		case len(b) == 0:
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return e.ended(err)
		case b[0] == '<':
			page, _ := io.ReadAll(io.LimitReader(e.in, maxError))
			return e.line.page(e.status, page)
		case b[0] == '{' || b[0] == '[':
			e.whole = true
			return nil
		case b[0] == ' ' || b[0] == '\r' || b[0] == '\n' || b[0] == '\t' || b[0] == 0xEF || b[0] == 0xBB || b[0] == 0xBF:
			e.in.Discard(1) // a byte order mark, or nothing
		default:
			return nil
		}
	}
}

// document returns a body that is one document.
func (e *Events) document() (Event, error) {
	b, err := io.ReadAll(io.LimitReader(e.in, maxLine+1))
	switch {
	case err != nil:
		return Event{}, e.ended(err)
	case len(b) > maxLine:
		return Event{}, e.line.tooLong("the answer", maxLine)
	case !json.Valid(bytes.ToValidUTF8(b, []byte("\uFFFD"))):
		return Event{}, e.ended(nil)
	}
	e.data = b
	return e.give(Event{}), nil
}

// Single reports whether the answer is one document, and no stream.
func (e *Events) Single() bool { return e.whole }

// Rest says that the answer is whole, whatever still comes: that is not waited for as
// long.
func (e *Events) Rest() { e.w.wait(e.line.rest) }

// Keep counts n bytes that stay until the answer is over.
func (e *Events) Keep(n int) error {
	if e.kept += n; e.kept > maxAnswer {
		return e.line.tooLong("the answer", maxAnswer)
	}
	return nil
}

// Argument checks the length of the arguments of a call.
func (e *Events) Argument(n int) error {
	if n > maxArgument {
		return e.line.tooLong("an argument", maxArgument)
	}
	return nil
}

// Broken is the failure of an event that is not as its dialect wants it.
func (e *Events) Broken(format string, args ...any) *model.Failure {
	return e.line.garbled(e.status, format, args...)
}

// Complaint is the failure that an event speaks of.
func (e *Events) Complaint(data []byte) error { return e.line.complaint(e.status, e.header, data) }

// ended says why the stream is over before the answer was whole.
func (e *Events) ended(err error) *model.Failure {
	why := ""
	switch {
	case e.w.silent():
		why = ": it said nothing for " + span(e.line.idle)
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		why = ": " + e.line.clean(cause(err))
	}
	if !e.any {
		return e.line.failure(model.Network, e.status, "%s closed the connection before it answered%s", e.line.Provider, why)
	}
	return e.line.failure(model.Torn, e.status, "the answer of %s ended in the middle%s", e.line.Provider, why)
}

// tooLong stops an answer that no model gives.
func (l *Line) tooLong(what string, max int) *model.Failure {
	return &model.Failure{Class: model.Garbled, Err: fail.Limit("model_answer_bytes", "%s of %s has more than %d MiB", what, l.Provider, max>>20)}
}

// Ended reports whether a stream ended, or broke, and nothing else was wrong with it.
func Ended(err error) bool {
	var f *model.Failure
	return errors.As(err, &f) && (f.Class == model.Torn || f.Class == model.Network)
}
