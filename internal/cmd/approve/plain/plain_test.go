package plain

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/sock"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/approve/sheet"
	hostapprove "github.com/kxtools/kx/internal/host/approve"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/internal/record/session"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/approve"
	"github.com/kxtools/kx/pkg/wire"
)

// screen is a terminal: what was written to it, and lines that are typed.
type screen struct {
	mu    sync.Mutex
	shown strings.Builder
	seen  int // of shown
	typed chan string
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.Write(b)
}

// console is one opening of it: who closes it reads no more.
type console struct {
	*screen
	closed chan struct{}
	rest   []byte
}

func (c *console) Read(b []byte) (int, error) {
	if len(c.rest) == 0 {
		select {
		case line, ok := <-c.typed:
			if !ok {
				return 0, io.EOF
			}
			c.rest = []byte(line)
		case <-c.closed:
			return 0, os.ErrClosed
		}
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func (c *console) Close() error { close(c.closed); return nil }

// person is somebody at a terminal, with a host that writes their answers.
type person struct {
	*testing.T
	*screen
	store       *approval.Store
	ws, session string
	opts        Options
	other       *approve.Client // of somebody else
	done        chan error
	end         context.CancelFunc
}

func newPerson(t *testing.T) *person {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	st, err := state.Open(filepath.Join(dir, "state"))
	if err != nil {
		t.Fatal(err)
	}
	run, err := os.MkdirTemp("", "kx") // short: a socket's name has 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(run, "s")
	ln, err := sock.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		hostapprove.New(st, time.Now).Server("1").Serve(ctx, ln)
	}()
	t.Cleanup(func() { cancel(); <-ended; os.RemoveAll(run) })
	key, err := st.ApproverKey()
	if err != nil {
		t.Fatal(err)
	}
	dial := func(ctx context.Context) (*approve.Client, error) {
		return approve.Dial(ctx, approve.Options{Socket: socket, KeyName: "approver", Key: key})
	}
	p := &person{T: t, screen: &screen{typed: make(chan string)}, store: approval.New(st, time.Now), ws: filepath.Join(dir, "ws"), done: make(chan error, 1)}
	if err := os.Mkdir(p.ws, 0o700); err != nil {
		t.Fatal(err)
	}
	if p.session, err = session.New(st, time.Now).EnsureWorkspace(p.ws); err != nil {
		t.Fatal(err)
	}
	s, _, _, _ := term.Test()
	s.Out, s.Err = term.To(p.screen), term.To(p.screen)
	s.OpenTTY = func() (io.ReadWriteCloser, error) {
		return &console{screen: p.screen, closed: make(chan struct{})}, nil
	}
	a := app.New(s, func(name string) string {
		if name == "HOME" {
			return dir
		}
		return ""
	}, "1")
	a.Now = time.Now
	a.Globals.StateDir, a.Globals.ConfigDir, a.Globals.Dir = filepath.Join(dir, "state"), filepath.Join(dir, "config"), p.ws
	p.opts = Options{App: a, Get: p.store.Get, Client: dial, Reader: sheet.New(a), Feed: func(ctx context.Context, got func(*wire.Approval) error) error {
		c, err := dial(ctx)
		if err != nil {
			return err
		}
		defer c.Close()
		return c.Watch(ctx, got)
	}}
	if p.other, err = dial(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.other.Close() })
	return p
}

// park makes a request and returns its id.
func (p *person) park(tool, input string, change func(*wire.Approval)) string {
	p.Helper()
	a := wire.Approval{Kind: approval.KindCall, Tool: tool, Input: json.RawMessage(input), Session: p.session, Caller: "agent", Workspace: p.ws, Cwd: p.ws, Mode: "default", Reason: "ask by built-in"}
	if change != nil {
		change(&a)
	}
	var err error
	if a.ActionHash, err = approval.ActionHash(&a); err != nil {
		p.Fatal(err)
	}
	got, err := p.store.Park(a, nil)
	if err != nil {
		p.Fatal(err)
	}
	return got.ID
}

func (p *person) start() {
	ctx, cancel := context.WithCancel(p.Context())
	p.end = cancel
	go func() { p.done <- Run(ctx, p.opts) }()
	p.Cleanup(cancel)
}

// sees waits until the terminal shows a text, and returns what came before it.
func (p *person) sees(text string) string {
	p.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		p.mu.Lock()
		all := p.shown.String()
		before, _, found := strings.Cut(all[p.seen:], text)
		if found {
			p.seen += len(before) + len(text)
			p.mu.Unlock()
			return before
		}
		p.mu.Unlock()
		if time.Now().After(deadline) {
			p.Fatalf("%q never comes; behind what was seen stands\n%s", text, all[p.seen:])
		}
	}
}

// types answers a prompt.
func (p *person) types(prompt, line string) {
	p.Helper()
	p.sees(prompt)
	select {
	case p.typed <- line + "\n":
	case <-time.After(30 * time.Second):
		p.Fatalf("nobody reads %q", line)
	}
}

// ends waits for the end.
func (p *person) ends() error {
	p.Helper()
	select {
	case err := <-p.done:
		return err
	case <-time.After(30 * time.Second):
		p.Fatal("it does not end")
		return nil
	}
}

// is checks what became of a request.
func (p *person) is(id, state, scope, note string) *wire.Approval {
	p.Helper()
	a, err := p.store.Get(id)
	if err != nil || a.State != state || a.Scope != scope || a.Note != note {
		p.Errorf("request %s: %+v, %v, want %s %s %q", id, a, err, state, scope, note)
	}
	return a
}

const prompt = "(q)uit?"

func TestAnswers(t *testing.T) {
	p := newPerson(t)
	first := p.park("bash", `{"command":"make a\n\u001b[2J"}`, nil)
	second := p.park("bash", `{"command":"make b"}`, nil)
	third := p.park("bash", `{"command":"make c"}`, nil)
	p.start()
	if got := p.sees("Request "); got != "\n" {
		t.Errorf("%q comes first", got)
	}
	p.sees(", 1 of 3, asked ")
	p.sees(" by agent: bash\n  in ")
	p.sees("command:\n  make a\n  \\x1b[2J\n")
	p.types("ne(x)t, "+prompt, "what")
	p.types("There is no choice \"what\"", "")
	p.types(prompt, "a")
	p.sees("Always is a capital A.")
	p.types(prompt, "o")
	p.sees("Request " + first + " is allowed once.")
	p.is(first, wire.ApprovalAllowed, "once", "")
	p.sees("Request " + second + ", 1 of 2")
	p.types(prompt, "x")
	p.sees("Request " + third + ", 2 of 2")
	p.types(prompt, "n")
	p.types("goes back: ", "")
	p.types(prompt, "n")
	p.types("goes back: ", "use the \x1b other")
	p.sees("Request " + third + " is denied.")
	p.is(third, wire.ApprovalDenied, "", "use the \x1b other")
	p.types(prompt, "A")
	p.sees(`tool = "bash", command = "make b", decision = "allow"`)
	p.types("(y)es or no? ", "n")
	p.sees("Nothing was added.")
	p.is(second, wire.ApprovalPending, "", "")
	p.types(prompt, "session")
	p.sees("Request " + second + " is allowed for the session.")
	p.is(second, wire.ApprovalAllowed, "session", "")
	p.sees("Nothing waits.")

	mandatory := p.park("bash", `{"command":"eval x"}`, func(a *wire.Approval) { a.Mandatory = true })
	p.sees("Request " + mandatory + ", 1 of 1")
	p.types("allow (o)nce, (d)eny, (n)ote and deny, (e)dit, ne(x)t, "+prompt, "s")
	p.sees("It can only be allowed once: ask by built-in")
	p.types(prompt, "q")
	if err := p.ends(); err != nil {
		t.Error(err)
	}
	p.is(mandatory, wire.ApprovalPending, "", "")
}

// A line never answers another request than the one that it was typed for.
func TestMeanwhile(t *testing.T) {
	p := newPerson(t)
	first := p.park("bash", `{"command":"make a"}`, nil)
	second := p.park("bash", `{"command":"make b"}`, nil)
	p.opts.Bell = true
	p.start()
	p.sees(first + ", 1 of 2")
	p.sees(prompt)
	if _, err := p.other.Deny(t.Context(), first, approve.Answer{}); err != nil {
		t.Fatal(err)
	}
	p.sees("Request " + first + " was denied elsewhere.")
	p.sees(second + ", 1 of 1")
	third := p.park("bash", `{"command":"make c"}`, nil)
	p.sees("New request " + third + " from agent: bash make c. 2 wait.")
	p.sees("\a")
	if _, err := p.other.Deny(t.Context(), third, approve.Answer{}); err != nil {
		t.Fatal(err)
	}
	p.sees("Request " + third + " was denied elsewhere.")
	p.types(prompt, "o")
	p.sees("Request " + second + " is allowed once.")
	p.sees("Nothing waits.")
	p.end()
	if err := p.ends(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestQuestions(t *testing.T) {
	p := newPerson(t)
	id := p.park("ask_user_question", `{}`, func(a *wire.Approval) {
		a.Kind = approval.KindQuestion
		a.Questions = []wire.Question{
			{ID: "q1", Question: "Which\x1b database?", Options: []wire.Option{{ID: "o1", Label: "PostgreSQL"}, {ID: "o2", Label: "SQLite"}}},
			{ID: "q2", Question: "What else?", Options: []wire.Option{{ID: "o1", Label: "Tests"}, {ID: "o2", Label: "Docs"}}, MultiSelect: true},
		}
	})
	p.opts.ID = id
	p.start()
	p.types("Which\\x1b database?\nA number, or an answer in words; ne(x)t, (q)uit? ", "3")
	p.types("There is no option 3.", "1 2")
	p.types("This question takes one option.", "2")
	p.types("What else?\nNumbers with spaces between", "1, 2")
	p.sees("2  SQLite  ✓ chosen")
	p.types("Send these answers, (y)es or no? ", "n")
	p.types("(q)uit? ", "none of them")
	p.types("(q)uit? ", "1")
	p.types("(y)es or no? ", "y")
	p.sees("Request " + id + " is answered.")
	if err := p.ends(); err != nil {
		t.Error(err)
	}
	a := p.is(id, wire.ApprovalAnswered, "", "")
	if len(a.Answers) != 2 || a.Answers[0].FreeformAnswer != "none of them" || len(a.Answers[1].SelectedOptionIDs) != 1 {
		t.Errorf("%+v", a.Answers)
	}
}

// With an id there is one request, whatever else waits.
func TestOne(t *testing.T) {
	p := newPerson(t)
	p.park("bash", `{"command":"make a"}`, nil)
	id := p.park("bash", `{"command":"make b"}`, nil)
	p.opts.ID = id
	p.start()
	p.sees("Request " + id + ", 1 of 1")
	p.types(prompt, "x")
	p.sees("There is no other request.")
	p.types(prompt, "d")
	if err := p.ends(); err != nil {
		t.Error(err)
	}
	p.start()
	if err := p.ends(); fail.Exit(err) != fail.ExitConflict {
		t.Errorf("a request that is answered: %v", err)
	}
	p.opts.App.IO.OpenTTY = func() (io.ReadWriteCloser, error) { return nil, errors.New("none") }
	p.opts.ID = ""
	p.start()
	if err := p.ends(); fail.Exit(err) != fail.ExitUsage {
		t.Errorf("without a terminal: %v", err)
	}
}
