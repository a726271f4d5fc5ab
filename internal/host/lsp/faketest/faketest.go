// Package faketest is a language server that can be told what to do wrong. It knows a
// language of four words well enough that its answers are right or wrong (see words.go),
// and it keeps what it knows of the disk until it is told of a change, so that an answer
// from an old text shows. Tests run it as a program, by Main; no binary of kx has it.
package faketest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/textproto"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode"

	"github.com/kxtools/kx/internal/host/lsp/position"
	"github.com/kxtools/kx/internal/host/lsp/protocol"
)

// word is the first argument by which a test binary becomes the server.
const word = "fakelsp"

// Usage is what it can be told, as WORD or WORD=VALUE. METHOD may end in a *.
const Usage = `usage: fakelsp [WORD[=VALUE]...]
  exit=STATUS      end at once, with a word on standard error
  refuse=TEXT      answer initialize with an error, as does  mute  with nothing
  garbage=TEXT     print TEXT before the first message
  huge             announce a message of 1 GiB in place of the first answer
  deaf             read nothing more once it is initialized
  closes=METHOD    close its input, and live on
  die=METHOD       end with status 3 in place of an answer
  silent=METHOD    never answer;  late=DUR  answer each request that much later
  pairs=METHOD     hold an answer back until there is another one, which goes first
  double=METHOD    answer twice, and something that nobody asked
  error=METHOD,N   answer once with the error N, then as usual
  big=N            a hover of N bytes
  flood=N          N messages, and diagnostics of N files that are not there
  asks             ask everything that a server may ask, by ids of all kinds;
                   fake/answers has what came of it
  utf8             count columns in bytes, as  utf32  does in characters
  pull, register   textDocument/diagnostic, told at once or registered later;
                   else diagnostics are pushed, with a version unless  unversioned
  loading=DUR      have nothing to tell for so long, and report it as work or, with
                   status, as experimental/serverStatus or, with  finds,  as
                   files found;  waits  makes requests wait
  lacks=WHAT       know nothing of textDocument/WHAT, and say so
  unwatched        don't register for changes of files
  half             print half a header in place of the first answer, and no more
  odd=KIND         answers of another shape: null, links, one, marked, flat, escaped; or with
                   wrong places in them: places, ranges, past
  older            push what is of an older version;  only  that
  retrigger        take the first three pulls back
  says             print each method that it is told on standard error
  child            start a child in a session of its own
  stays            pass over shutdown, exit, the end of the input, and TERM
  ext=.EXT         the files of its language; else .fk
  name=NAME        what it calls itself;  version=VERSION`

// Main is the program: it returns its exit status.
func Main() int {
	args := os.Args[1:]
	if len(args) > 0 && args[0] == word {
		args = args[1:]
	}
	s := &server{does: map[string]string{"ext": ".fk", "name": word, "version": "1.0"}, out: bufio.NewWriter(os.Stdout), in: bufio.NewReader(os.Stdin)}
	for _, arg := range args {
		k, v, _ := strings.Cut(arg, "=")
		if !slices.Contains(strings.FieldsFunc(Usage, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), k) {
			fmt.Fprintf(os.Stderr, "fakelsp: what is %s?\n%s\n", arg, Usage)
			return 2
		}
		s.does[k] = v
	}
	return s.run()
}

// Argv is a command that runs it: the binary of a test whose TestMain calls Main if
// Called.
func Argv(t testing.TB, does ...string) []string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{exe, word}, does...)
}

// Called reports whether this process is to be the server.
func Called() bool { return len(os.Args) > 1 && os.Args[1] == word }

type server struct {
	does map[string]string
	in   *bufio.Reader
	enc  position.Encoding
	world

	mu      sync.Mutex // of what follows, and of the output
	out     *bufio.Writer
	held    []byte // an answer that waits for another one
	erred   bool
	times   int // pulls that were taken back
	loading bool
	loaded  chan struct{}
	answers map[string]json.RawMessage // by id
	told    []string                   // methods, in order
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func (s *server) has(what string) bool { _, ok := s.does[what]; return ok }

// is reports whether a method is that of a word.
func (s *server) is(what, method string) bool {
	v, ok := s.does[what]
	v, _, _ = strings.Cut(v, ",")
	if prefix, star := strings.CutSuffix(v, "*"); star {
		return ok && strings.HasPrefix(method, prefix)
	}
	return ok && v == method
}

func (s *server) duration(what string) time.Duration {
	d, _ := time.ParseDuration(s.does[what]) // none, if it is not there
	return d
}

func (s *server) number(what string) int {
	n, _ := strconv.Atoi(s.does[what]) // 0, if it is not there
	return n
}

func (s *server) run() int {
	switch {
	case s.has("exit"):
		fmt.Fprintln(os.Stderr, "fakelsp: it can't start, as it was told")
		return s.number("exit")
	case s.has("stays"):
		signal.Ignore(syscall.SIGTERM)
	}
	if s.has("child") {
		cmd := exec.Command("/bin/sleep", "600")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	s.enc, s.answers, s.loaded = position.UTF16, map[string]json.RawMessage{}, make(chan struct{})
	switch {
	case s.has("utf8"):
		s.enc = position.UTF8
	case s.has("utf32"):
		s.enc = position.UTF32
	}
	s.write([]byte(s.does["garbage"]))
	for {
		m, err := s.read()
		switch {
		case err != nil && s.has("stays"):
			forever()
		case err != nil:
			return 0
		case m.Method == "exit" && !s.has("stays"):
			return 0
		}
		if status, end := s.take(m); end {
			return status
		}
	}
}

// forever does nothing more; a select without cases would be a deadlock.
func forever() {
	for {
		time.Sleep(time.Hour)
	}
}

func (s *server) read() (m message, err error) {
	header, err := textproto.NewReader(s.in).ReadMIMEHeader()
	if err != nil {
		return m, err
	}
	n, err := strconv.Atoi(header.Get("Content-Length"))
	if err != nil {
		return m, err
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(s.in, body); err != nil {
		return m, err
	}
	return m, json.Unmarshal(body, &m)
}

// take does what a message asks for.
func (s *server) take(m message) (status int, end bool) {
	if m.Method == "" {
		s.mu.Lock()
		s.answers[string(m.ID)] = slices.Concat(m.Result, m.Error)
		s.mu.Unlock()
		return 0, false
	}
	s.mu.Lock()
	s.told = append(s.told, m.Method)
	s.mu.Unlock()
	if s.has("says") {
		fmt.Fprintln(os.Stderr, "told", m.Method)
	}
	if s.is("die", m.Method) {
		fmt.Fprintln(os.Stderr, "fakelsp: panic: it died of "+m.Method)
		return 3, true
	}
	if s.is("closes", m.Method) {
		os.Stdin.Close()
		forever()
	}
	if m.ID == nil {
		s.notified(m)
		return 0, false
	}
	if s.is("silent", m.Method) || s.has("mute") || m.Method == "shutdown" && s.has("stays") {
		return 0, false
	}
	result, err := s.result(m)
	send := func() { s.answer(m, result, err) }
	switch d := s.duration("late"); {
	case d > 0 && m.Method != "initialize":
		time.AfterFunc(d, send)
	case s.has("waits") && s.busy() && m.Method != "initialize" && m.Method != "shutdown":
		go func() {
			<-s.loaded
			send()
		}()
	default:
		send()
	}
	return 0, false
}

// answer sends an answer, in the way that was asked for.
func (s *server) answer(m message, result any, err *protocol.Error) {
	doc := map[string]any{"jsonrpc": "2.0", "id": m.ID}
	if err != nil {
		doc["error"] = map[string]any{"code": err.Code, "message": err.Message, "data": err.Data}
	} else {
		doc["result"] = result
	}
	b := frame(doc)
	switch {
	case s.has("huge"):
		b = []byte("Content-Length: 1073741824\r\n\r\n{")
	case s.has("half"):
		b = []byte("Content-Len")
	case s.is("double", m.Method):
		b = slices.Concat(b, b, frame(map[string]any{"jsonrpc": "2.0", "id": 4711, "result": "nobody asked"}),
			frame(map[string]any{"jsonrpc": "2.0", "id": "x", "result": nil}), frame(map[string]any{"odd": true}), frame([]int{1}))
	case s.is("pairs", m.Method):
		s.mu.Lock()
		held := s.held
		s.held = b
		if held != nil {
			s.held = nil
		}
		s.mu.Unlock()
		if held == nil {
			return
		}
		b = slices.Concat(b, held)
	}
	s.write(b)
}

func frame(doc any) []byte {
	b, err := json.Marshal(doc)
	if err != nil {
		panic(err) // of our own documents
	}
	return append([]byte("Content-Length: "+strconv.Itoa(len(b))+"\r\n\r\n"), b...)
}

func (s *server) write(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.Write(b)
	s.out.Flush()
}

func (s *server) tell(method string, params any) {
	s.write(frame(map[string]any{"jsonrpc": "2.0", "method": method, "params": params}))
}

func (s *server) ask(id any, method string, params any) {
	s.write(frame(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

func (s *server) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loading
}

// load loads the workspace, for as long as it was told, and reports it.
func (s *server) load() {
	d := s.duration("loading")
	percent := func(kind string, n int) {
		s.tell("$/progress", map[string]any{"token": "load", "value": map[string]any{"kind": kind, "title": "Setting up workspace", "message": "reading", "percentage": n}})
	}
	if s.has("status") {
		percent = func(kind string, _ int) {
			s.tell("experimental/serverStatus", map[string]any{"health": "ok", "quiescent": kind == "end"})
		}
	}
	if s.has("finds") {
		percent = func(kind string, _ int) {
			s.tell("window/logMessage", map[string]any{"type": 3, "message": map[string]string{"begin": "Searching for source files", "report": "Assuming", "end": "Found 2 source files"}[kind]})
		}
	}
	s.ask("create", "window/workDoneProgress/create", map[string]any{"token": "load"})
	percent("begin", 0)
	go func() {
		time.Sleep(d / 2) // it is what it was told to take
		percent("report", 50)
		time.Sleep(d / 2)
		s.mu.Lock()
		s.loading = false
		s.mu.Unlock()
		percent("end", 100)
		close(s.loaded)
	}()
}

// flood sends more than anybody wants to know.
func (s *server) flood(n int) {
	for i := range n {
		s.tell("window/logMessage", map[string]any{"type": 1, "message": fmt.Sprint("flood ", i, " ", strings.Repeat("x", 1000))})
		s.tell("textDocument/publishDiagnostics", map[string]any{"uri": fmt.Sprint("file:///flood/", i), "diagnostics": []any{}})
		s.tell("$/progress", map[string]any{"token": i, "value": map[string]any{"kind": "begin", "title": "flood"}})
	}
}

// asking sends every request that a server may send. Its ids are those that the client
// uses, too, and others.
func (s *server) asking() {
	for _, q := range []struct {
		id     any
		method string
		params any
	}{
		{1, "workspace/configuration", map[string]any{"items": []any{map[string]any{"section": "fake"}, map[string]any{"section": "other"}}}},
		{2, "client/registerCapability", map[string]any{"registrations": []any{map[string]any{"id": "r", "method": "textDocument/rename"}}}},
		{"1", "client/unregisterCapability", map[string]any{"unregisterations": []any{map[string]any{"id": "r", "method": "textDocument/rename"}}}},
		{"two", "workspace/workspaceFolders", nil},
		{-1, "workspace/applyEdit", map[string]any{"edit": map[string]any{}}},
		{1.5, "window/showMessageRequest", map[string]any{"type": 3, "message": "which?", "actions": []any{}}},
		{3, "window/showDocument", map[string]any{"uri": "file:///x"}},
		{4, "workspace/diagnostic/refresh", nil},
		{5, "workspace/semanticTokens/refresh", nil},
		{6, "fake/unknown", []any{}},
		{7, "workspace/configuration", "nonsense"},
		{0, "window/workDoneProgress/create", map[string]any{"token": 7}},
	} {
		s.ask(q.id, q.method, q.params)
	}
}
