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
	case turn.Native != nil:
		made.Native = turn.Native.Content
	}
	made.Turn = turn
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

// Torn cuts an answer at every byte: it becomes the whole turn, or a failure that says
// that it ended. whole are the offsets from which the turn may be whole.
func Torn(t *testing.T, shape Shape, whole int, m model.Model, s *Server) {
	s.Play(shape, Clean)
	want := Ask(t, m, Question())
	if want.Failure != nil || len(want.Turn.Calls) == 0 {
		t.Fatalf("%+v has no calls to lose", want)
	}
	for _, end := range []End{Clean, Broken} {
		for n := range len(shape.Body) {
			cut := shape
			cut.Body = shape.Body[:n]
			s.Play(cut, end)
			got := Ask(t, m, Question())
			switch {
			case got.Failure == nil && n < whole:
				t.Fatalf("%s cut at %d of %d became a turn: %+v", shape.Name, n, len(shape.Body), got.Turn)
			case got.Failure == nil:
				got.Turn.Usage = want.Turn.Usage // may come at the end
				if d := cmp.Diff(want, got); d != "" {
					t.Fatalf("%s cut at %d became another turn: %s", shape.Name, n, d)
				}
			case got.Failure.Class != model.Torn && got.Failure.Class != model.Network:
				t.Fatalf("%s cut at %d: %+v", shape.Name, n, got.Failure)
			case got.Failure.Said != (got.Said != ""):
				t.Fatalf("%s cut at %d said %q, and the failure is %+v", shape.Name, n, got.Said, got.Failure)
			}
		}
	}
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
