// Package stream carries messages between jsonrpc2 and the pipes of a language server,
// and trusts the server in nothing: what is no message, too long or broken off ends the
// conversation with a reason, what is an odd message is passed over or set right, and
// nobody waits for a server that doesn't read. internal/host/lsp/client calls it.
package stream

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/textproto"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/kxtools/kx/internal/base/term"
)

const (
	// maxMessage is the longest message of a server. The longest honest ones, all
	// symbols of a large workspace, have some 20 MB.
	maxMessage = 64 << 20
	// maxHeader is the longest header: two short fields.
	maxHeader = 1 << 10
	// maxGarbage is how much of what is no message is shown.
	maxGarbage = 200
	// maxQueue is how much may wait to be read by the server: a few of the largest
	// documents.
	maxQueue = 64 << 20
	// chunk is written at once: what a pipe holds.
	chunk = 64 << 10
	// StuckAfter is how long a server may read nothing. Those with one thread read
	// nothing while they think.
	StuckAfter = 30 * time.Second
)

// Stream is a jsonrpc2.ObjectStream. Writing never blocks: messages wait in a queue.
type Stream struct {
	in    *os.File // of the server
	r     *bufio.Reader
	out   *os.File
	stuck time.Duration
	fail  func(error)
	ended chan struct{}
	deaf  chan struct{}

	mu     sync.Mutex
	queue  [][]byte
	queued int           // bytes
	closed bool          // nothing is written any more
	wake   chan struct{} // there is something in the queue
	room   chan struct{} // closed when something has left it
}

// New makes one of the input and the output of a server, of which it may read nothing
// for as long as stuck says. fail is told why the conversation can't go on.
func New(in, out *os.File, stuck time.Duration, fail func(error)) *Stream {
	s := &Stream{
		in: in, out: out, r: bufio.NewReaderSize(out, chunk), stuck: stuck, fail: fail,
		ended: make(chan struct{}), deaf: make(chan struct{}), wake: make(chan struct{}, 1), room: make(chan struct{}),
	}
	go s.write()
	return s
}

// Ended is closed when nothing more can be read.
func (s *Stream) Ended() <-chan struct{} { return s.ended }

// Deaf is closed when the server has closed its input.
func (s *Stream) Deaf() <-chan struct{} { return s.deaf }

// WriteObject puts a message into the queue. It returns io.ErrClosedPipe where the
// conversation is over.
func (s *Stream) WriteObject(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return io.ErrClosedPipe
	case s.queued > maxQueue: // answers; who asks waits for Full
		s.fail(errors.New("asks and reads no answers"))
		return io.ErrClosedPipe
	}
	header := []byte("Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n")
	s.queue = append(s.queue, header, body)
	s.queued += len(header) + len(body)
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return nil
}

// Full returns what is closed when there is room in the queue, nil if there is.
func (s *Stream) Full() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.queued <= maxQueue/2 {
		return nil
	}
	return s.room
}

// next takes the queue; ok is false when there will be no more.
func (s *Stream) next() (queue [][]byte, ok bool) {
	for {
		s.mu.Lock()
		queue, closed := s.queue, s.closed
		s.queue = nil
		s.mu.Unlock()
		if len(queue) > 0 || closed {
			return queue, !closed
		}
		<-s.wake
	}
}

// write writes what is in the queue, for as long as the server reads.
func (s *Stream) write() {
	for {
		queue, ok := s.next()
		if !ok {
			return
		}
		for _, b := range queue {
			size := len(b)
			for len(b) > 0 {
				n := min(len(b), chunk)
				_ = s.in.SetWriteDeadline(time.Now().Add(s.stuck)) // a pipe has one
				if _, err := s.in.Write(b[:n]); err != nil {
					switch {
					case errors.Is(err, os.ErrDeadlineExceeded):
						s.fail(fmt.Errorf("has read nothing for %v", s.stuck))
					case !errors.Is(err, os.ErrClosed): // by Close
						close(s.deaf) // most often because it ends, which tells more
					}
					s.Close()
					return
				}
				b = b[n:]
			}
			s.sent(size)
		}
	}
}

// sent makes room for who waits for it.
func (s *Stream) sent(size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.queued -= size
	close(s.room)
	s.room = make(chan struct{})
}

// Close ends the writing: the server sees the end of its input.
func (s *Stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed, s.queue = true, nil
	close(s.room)
	close(s.wake)
	return s.in.Close()
}

// ReadObject reads the next message that is one.
func (s *Stream) ReadObject(v any) error {
	for {
		body, err := readMessage(s.r)
		if err == nil {
			body, err = plain(body)
		}
		if err == nil && body != nil {
			err = json.Unmarshal(body, v)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrClosed) {
				s.fail(err)
			}
			close(s.ended)
			return io.EOF
		}
		if body != nil {
			return nil
		}
	}
}

// readMessage reads one message: a header, and as many bytes as that says.
func readMessage(r *bufio.Reader) ([]byte, error) {
	length, size := -1, 0
	for {
		line, err := r.ReadSlice('\n')
		size += len(line)
		if errors.Is(err, io.EOF) && size == 0 {
			return nil, io.EOF
		}
		name, value, ok := bytes.Cut(line, []byte(":"))
		text := textproto.TrimString(string(value))
		switch name := strings.ToLower(string(name)); {
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return nil, garbage(r, line, err)
		case len(bytes.TrimRight(line, "\r\n")) == 0 && size > len(line):
			if length < 0 {
				return nil, errors.New("sent a message without its length")
			}
			return readBody(r, length)
		case err != nil || size > maxHeader || !ok || name != "content-length" && name != "content-type":
			return nil, garbage(r, line, nil)
		case name == "content-length":
			if length, err = strconv.Atoi(text); err != nil || length < 0 {
				return nil, garbage(r, line, nil)
			}
			if length > maxMessage {
				return nil, fmt.Errorf("announced a message of %d bytes, more than %d MiB", length, maxMessage>>20)
			}
		}
	}
}

// readBody reads n bytes; memory is used for what has come, not for what is announced.
func readBody(r *bufio.Reader, n int) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(min(n, 1<<20))
	if got, err := io.CopyN(&b, r, int64(n)); err != nil {
		return nil, fmt.Errorf("broke off in a message, after %d of %d bytes", got, n)
	}
	return b.Bytes(), nil
}

// garbage is the error about something that is no header.
func garbage(r *bufio.Reader, line []byte, err error) error {
	shown := bytes.Clone(line)
	if more, _ := r.Peek(min(r.Buffered(), maxGarbage)); err == nil {
		shown = append(shown, more...)
	}
	shown = bytes.TrimSpace(shown[:min(len(shown), maxGarbage)])
	return fmt.Errorf("printed what is no message of a language server: %s", term.Line(strings.ToValidUTF8(string(shown), "\uFFFD")))
}

// plain writes a message so that jsonrpc2 understands it: of what is neither a request
// nor an answer that package would end the connection. nil for what is none of both.
func plain(body []byte) ([]byte, error) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method *string         `json:"method"`
		Params json.RawMessage `json:"params"`
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(body, &m); err != nil {
		if json.Valid(body) {
			return nil, nil
		}
		return nil, fmt.Errorf("sent a message that is no JSON: %s", term.Line(strings.ToValidUTF8(string(body[:min(len(body), maxGarbage)]), "\uFFFD")))
	}
	isNull := func(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }
	type member struct {
		name string
		raw  json.RawMessage
	}
	var members []member
	switch {
	case m.Method != nil:
		method, err := json.Marshal(*m.Method)
		if err != nil {
			return nil, err
		}
		members = append(members, member{"method", method})
		if !isNull(m.Params) {
			members = append(members, member{"params", m.Params})
		}
		if !isNull(m.ID) {
			members = append(members, member{"id", askedID(m.ID)})
		}
	case !isID(m.ID):
		return nil, nil
	case !isNull(m.Error):
		members = append(members, member{"id", m.ID}, member{"error", plainError(m.Error)})
	default:
		if isNull(m.Result) {
			m.Result = json.RawMessage("null")
		}
		members = append(members, member{"id", m.ID}, member{"result", m.Result})
	}
	b := make([]byte, 0, len(body)+32)
	b = append(b, `{"jsonrpc":"2.0"`...)
	for _, x := range members {
		b = append(b, `,"`+x.name+`":`...)
		b = append(b, x.raw...)
	}
	return append(b, '}'), nil
}

// foreign marks the id of a request that jsonrpc2 can't hold, like a negative one.
const foreign = "\x00"

// askedID is the id of a request as jsonrpc2 gets it.
func askedID(raw json.RawMessage) json.RawMessage {
	if isID(raw) {
		return raw
	}
	text, err := json.Marshal(foreign + string(raw))
	if err != nil {
		return raw
	}
	return text
}

// Answer is an answer to a request of the server.
type Answer struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *jsonrpc2.Error `json:"error,omitempty"`
}

// AnswerTo begins the answer to a request.
func AnswerTo(id jsonrpc2.ID) (Answer, error) {
	a := Answer{Version: "2.0"}
	if raw, ok := strings.CutPrefix(id.Str, foreign); ok && id.IsString {
		a.ID = json.RawMessage(raw)
		return a, nil
	}
	var err error
	a.ID, err = json.Marshal(id)
	return a, err
}

// isID reports whether jsonrpc2 can read an id.
func isID(raw json.RawMessage) bool {
	var number uint64
	var text string
	if string(raw) == "null" {
		return false
	}
	if json.Unmarshal(raw, &number) == nil {
		return number <= math.MaxInt64
	}
	return json.Unmarshal(raw, &text) == nil
}

// plainError makes an error of whatever a server sent as one.
func plainError(raw json.RawMessage) json.RawMessage {
	var e struct {
		Code    float64         `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data,omitempty"`
	}
	if json.Unmarshal(raw, &e) != nil {
		e.Message = string(raw[:min(len(raw), maxGarbage)])
	}
	fixed, err := json.Marshal(map[string]any{"code": int64(e.Code), "message": e.Message, "data": e.Data})
	if err != nil {
		return json.RawMessage(`{"code":0,"message":""}`)
	}
	return fixed
}
