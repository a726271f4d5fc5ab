// Package modeltest plays a provider on the loopback interface: it answers as a real
// server did, whole or torn, and keeps what it was asked. The answers are the files
// testdata/provider/DIALECT-NAME.sse, which hold a response of HTTP as it is sent; what
// must become of each stands beside it in DIALECT-NAME.json, which KX_UPDATE=1 rewrites.
// Tests of the clients call it; no program has it.
package modeltest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/pkg/wire"
)

// Folder holds the answers, as a package two levels below internal sees it.
const Folder = "../../../testdata/provider"

// Shape is an answer.
type Shape struct {
	Name   string
	Status int
	Header http.Header
	Body   []byte
}

// Shapes reads the answers of a dialect.
func Shapes(t testing.TB, dialect string) []Shape {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(Folder, dialect+"-*.sse"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d answers of %s, %v", len(files), dialect, err)
	}
	var list []Shape
	for _, file := range files {
		list = append(list, read(t, file))
	}
	return list
}

// Load reads one answer.
func Load(t testing.TB, name string) Shape {
	t.Helper()
	return read(t, filepath.Join(Folder, name+".sse"))
}

func read(t testing.TB, file string) Shape {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	first, rest, _ := bytes.Cut(raw, []byte("\n"))
	head, body, found := bytes.Cut(rest, []byte("\n\n"))
	fields := strings.Fields(string(first))
	if !found || len(fields) < 2 {
		t.Fatalf("%s is no response of HTTP", file)
	}
	status, err := strconv.Atoi(fields[1])
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	header, err := textproto.NewReader(bufio.NewReader(bytes.NewReader(append(head, "\n\n"...)))).ReadMIMEHeader()
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return Shape{Name: strings.TrimSuffix(filepath.Base(file), ".sse"), Status: status, Header: http.Header(header), Body: body}
}

// Stream is an answer that is a stream of events.
func Stream(body string) Shape {
	return Shape{Name: "stream", Status: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: []byte(body)}
}

// End is how an answer ends.
type End int

// Clean ends it as HTTP has it; Broken breaks the connection.
const (
	Clean End = iota
	Broken
)

// Asked is a request as it came.
type Asked struct {
	Path   string
	Header http.Header
	Body   []byte
}

// Server plays answers, one after the other and the last one for ever.
type Server struct {
	*httptest.Server
	mu     sync.Mutex
	shapes []Shape
	end    End
	asked  []Asked
}

// Serve plays answers until the test is over.
func Serve(t testing.TB, shapes ...Shape) *Server {
	t.Helper()
	s := &Server{shapes: shapes}
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// Play is what it answers from now on.
func (s *Server) Play(shape Shape, end End) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shapes, s.end = []Shape{shape}, end
}

// Asked returns the requests so far.
func (s *Server) Asked() []Asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.asked = append(s.asked, Asked{r.URL.Path, r.Header.Clone(), body})
	shape, end := s.shapes[0], s.end
	if len(s.shapes) > 1 {
		s.shapes = s.shapes[1:]
	}
	s.mu.Unlock()
	for name, values := range shape.Header {
		for _, v := range values {
			w.Header().Add(name, strings.ReplaceAll(v, "SERVER", s.URL))
		}
	}
	w.WriteHeader(shape.Status)
	w.Write(shape.Body)
	w.(http.Flusher).Flush()
	if end == Broken {
		panic(http.ErrAbortHandler)
	}
}

// Made is what became of an answer.
type Made struct {
	Turn    *model.Turn     `json:"turn,omitempty"`
	Word    string          `json:"word,omitempty"`
	Said    string          `json:"said,omitempty"` // piece by piece
	Native  json.RawMessage `json:"native,omitempty"`
	Failure *Failure        `json:"failure,omitempty"`
}

// Failure is a failure as tests compare it.
type Failure struct {
	Class  model.Class `json:"class"`
	Status int         `json:"status,omitempty"`
	WaitMS int64       `json:"wait_ms,omitempty"`
	Said   bool        `json:"said,omitempty"`
	Safe   bool        `json:"safe,omitempty"`
	Code   string      `json:"code"`
	Exit   int         `json:"exit"`
	Text   string      `json:"text"`
	Hint   string      `json:"hint,omitempty"`
}

// Ask asks for a turn and returns what became of it.
func Ask(t testing.TB, m model.Model, r model.Request) Made {
	t.Helper()
	var made Made
	var said strings.Builder
	r.Said = func(piece string) error {
		said.WriteString(piece)
		return nil
	}
	turn, err := m.Turn(t.Context(), &r)
	made.Said = said.String()
	var f *model.Failure
	switch {
	case errors.As(err, &f):
		e := fail.As(err)
		made.Failure = &Failure{f.Class, f.Status, f.Wait.Milliseconds(), f.Said, f.Safe, e.Code, e.Exit, e.Msg, e.Hint}
	case err != nil:
		t.Fatalf("%v is no failure of a model", err)
	default:
		made.Turn, made.Word = turn, turn.Word
		if turn.Native != nil {
			made.Native = turn.Native.Content
		}
	}
	return made
}

// Replay plays every answer of a dialect to the models that make makes, and compares
// what becomes of it.
func Replay(t *testing.T, dialect string, make func(url string) model.Model) {
	for _, shape := range Shapes(t, dialect) {
		t.Run(shape.Name, func(t *testing.T) {
			s := Serve(t, shape)
			m := make(s.URL)
			defer m.Close()
			made := Ask(t, m, Question())
			if made.Failure != nil {
				made.Failure.Text = strings.ReplaceAll(made.Failure.Text, strings.TrimPrefix(s.URL, "http://"), "SERVER")
			}
			got, err := wire.Marshal(made)
			if err != nil {
				t.Fatal(err)
			}
			Golden(t, filepath.Join(Folder, shape.Name+".json"), got)
		})
	}
}

// Torn cuts every answer of a dialect that has calls at every byte, as if the other side
// ended there, and as if the connection broke. Each piece becomes a failure that says
// so, or the whole turn; and no piece becomes a turn that ends before done does.
func Torn(t *testing.T, dialect, done string, make func(*http.Client) model.Model) {
	torn := 0
	for _, shape := range Shapes(t, dialect) {
		want := Ask(t, make(Canned(shape, Clean)), Question())
		if want.Failure != nil || len(want.Turn.Calls) == 0 || !bytes.Contains(shape.Body, []byte(done)) {
			continue
		}
		torn++
		whole := bytes.Index(shape.Body, []byte(done)) + len(done)
		for n := range len(shape.Body) {
			for _, end := range []End{Clean, Broken} {
				cut := shape
				cut.Body = shape.Body[:n]
				got := Ask(t, make(Canned(cut, end)), Question())
				torn := got.Failure != nil && (got.Failure.Class == model.Torn || got.Failure.Class == model.Network)
				switch {
				case torn && got.Failure.Said != (got.Said != ""):
					t.Fatalf("%s cut at %d said %q, and the failure is %+v", shape.Name, n, got.Said, got.Failure)
				case torn:
				case got.Failure != nil || n < whole:
					t.Fatalf("%s cut at %d of %d: %+v, %+v", shape.Name, n, len(shape.Body), got.Turn, got.Failure)
				default:
					got.Turn.Usage = want.Turn.Usage // may come behind the end
					if d := cmp.Diff(want, got); d != "" {
						t.Fatalf("%s cut at %d became another turn: %s", shape.Name, n, d)
					}
				}
			}
		}
	}
	if torn < 3 {
		t.Errorf("only %d answers were torn", torn)
	}
}

// TornConnection plays an answer on a connection that breaks at every byte.
func TornConnection(t *testing.T, shape Shape, make func(url string) model.Model) {
	s := Serve(t, shape)
	m := make(s.URL)
	defer m.Close()
	for n := range len(shape.Body) {
		cut := shape
		cut.Body = shape.Body[:n]
		s.Play(cut, Broken)
		if got := Ask(t, m, Question()); got.Failure != nil && got.Failure.Class != model.Torn && got.Failure.Class != model.Network ||
			got.Failure == nil && len(got.Turn.Calls) == 0 {
			t.Fatalf("cut at %d of %d: %+v, %+v", n, len(shape.Body), got.Turn, got.Failure)
		}
	}
}

// Canned is a client that gives an answer without a network.
func Canned(shape Shape, end End) *http.Client {
	return &http.Client{Transport: canned{shape, end}}
}

type canned struct {
	shape Shape
	end   End
}

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		r.Body.Close()
	}
	body := io.Reader(bytes.NewReader(c.shape.Body))
	if c.end == Broken {
		body = io.MultiReader(body, iotest.ErrReader(io.ErrUnexpectedEOF))
	}
	return &http.Response{
		StatusCode: c.shape.Status, Status: strconv.Itoa(c.shape.Status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: c.shape.Header, Body: io.NopCloser(body), ContentLength: -1, Request: r,
	}, nil
}

// Check looks at what became of bytes that nobody vouches for.
func Check(t testing.TB, m model.Model) *model.Turn {
	t.Helper()
	var said strings.Builder
	r := Question()
	r.Said = func(piece string) error {
		said.WriteString(piece)
		return nil
	}
	turn, err := m.Turn(t.Context(), &r)
	var f *model.Failure
	if err != nil {
		if !errors.As(err, &f) || f.Said != (said.Len() > 0) || strings.Contains(f.Error(), "\n") {
			t.Fatalf("%v after %q", err, &said)
		}
		return nil
	}
	if !utf8.ValidString(turn.Say) || turn.Native != nil && !json.Valid(turn.Native.Content) {
		t.Fatalf("%+v", turn)
	}
	for _, c := range turn.Calls {
		if c.Tool == "" || len(c.Input) == 0 || c.Input[0] != '{' || !json.Valid(c.Input) || len(c.ID) > 128 || c.Broken != "" && string(c.Input) != "{}" {
			t.Fatalf("%+v", c)
		}
	}
	return turn
}

// Golden compares JSON with a file.
func Golden(t testing.TB, file string, got []byte) {
	t.Helper()
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, got, "", "\t"); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	pretty.WriteByte('\n')
	if os.Getenv("KX_UPDATE") != "" {
		if err := os.WriteFile(file, pretty.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(pretty.String(), "\n")); d != "" {
		t.Errorf("%s: %s", filepath.Base(file), d)
	}
}
