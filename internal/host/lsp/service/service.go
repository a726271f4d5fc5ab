// Package service keeps the language server of one language of a workspace: it
// starts the first of the candidates that shakes hands, tells it of every file that
// changed before it is asked anything, and starts it again when it has ended.
//
// What always holds: a question is asked only after the files were compared with what
// the server was told of them, and an answer that was overtaken by a change is asked
// for again. Questions run side by side; telling is one at a time.
//
// internal/host/lsp asks, by Do.
package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/sandbox"
	"github.com/kxtools/kx/internal/host/lsp/beyond"
	"github.com/kxtools/kx/internal/host/lsp/client"
	"github.com/kxtools/kx/internal/host/lsp/disk"
	"github.com/kxtools/kx/internal/host/lsp/door"
	"github.com/kxtools/kx/internal/host/lsp/language"
	"github.com/kxtools/kx/internal/host/lsp/protocol"
)

const (
	// startTime is how long a server may take to shake hands. The slowest takes a
	// second; the rest is for machines under load.
	startTime = 60 * time.Second
	// maxCrashes in crashWindow, and the server is left alone.
	maxCrashes  = 3
	crashWindow = 5 * time.Minute
	// A question that changes overtake is asked again, after retryPause at first and
	// never more than maxPause, for as long as who asks waits. One that was asked
	// manyTries times by then has met nothing but changes.
	manyTries  = 8
	retryPause = 10 * time.Millisecond
	maxPause   = 100 * time.Millisecond
	// maxSlips is how often a question is asked again that the server got wrong by a
	// mistake of its own.
	maxSlips = 3
)

// Pending says that a server can't tell yet.
type Pending struct{ Reason string }

func (p *Pending) Error() string { return p.Reason }

// ErrClosed says that a service was closed before it could answer.
var ErrClosed = errors.New("the language server is kept by another service now")

// Shared is what the services of a workspace share.
type Shared struct {
	Root    string // canonical
	Scanner *disk.Scanner
	Walls   func() sandbox.Walls
	// Confine returns the walls of a server.
	Confine func(server string, setup *door.Setup, argv []string) (*sandbox.Cell, error)
	Log     func(format string, args ...any)
}

// Caught makes an error of a panic of the function that defers it: a fault in one answer
// must not take the servers of all others with it.
func (s *Shared) Caught(err *error) {
	if p := recover(); p != nil {
		s.Log("panic: %v: %s", p, debug.Stack())
		*err = fail.Failed("internal", "kx has made a mistake: %.200v", p).WithHint("kx host list")
	}
}

// Service is one language of a workspace, or those that share a server.
type Service struct {
	shared *Shared
	langs  []*language.Language // that share the candidates

	mu       sync.Mutex
	run      *running // nil where none runs
	starting *start
	closed   bool // nothing is started any more
	crashes  []time.Time
	last     string // why it ended last
	unsaid   error  // why, until an answer has told it
	failure  string // why it can't be started
	tell     chan struct{}
}

// New returns the service of languages that have the same servers.
func New(shared *Shared, langs []*language.Language) *Service {
	return &Service{shared: shared, langs: langs, tell: make(chan struct{}, 1)}
}

// Languages are those that it serves.
func (s *Service) Languages() []*language.Language { return s.langs }

// candidates are the servers that may be used, best first.
func (s *Service) candidates() []*language.Server { return s.langs[0].Servers }

// speaks returns what the protocol calls a file, "" for one that is not for it.
func (s *Service) speaks(path string) string {
	_, id := language.ByPath(s.langs, path)
	return id
}

// start is a server that is being started; others wait for the same one.
type start struct {
	done   chan struct{}
	began  time.Time
	setup  door.Setup
	cancel func()
	run    *running
	err    error
}

// running is a server that runs.
type running struct {
	*client.Client
	server *language.Server
	speaks func(path string) string
	setup  door.Setup
	root   string
	cell   *sandbox.Cell
	masked []string // files and folders that are
	argv   []string
	libs   libraries
	began  time.Time
	open   atomic.Int64 // how many files are open at it
	ended  bool         // by us; the service's lock guards it
	edits  atomic.Int64 // counts the times at which it was told of changes on disk

	// Who tells it of changes holds these.
	seen     *disk.Snapshot // what it has been told of
	beyond   beyond.Beyond
	docs     map[string]*doc
	clock    int64  // counts uses of docs
	versions int    // counts texts: what it says of an old one is never of a newer one
	told     int64  // counts what it was told of texts
	mark     string // the last file of those that it was told of and may not have read yet

	pins // what is asked about
}

// Do asks a question of the server: ask is called once it has loaded and has been
// told of all changes, with the given files open, and again where a change has
// overtaken it. Its errors are *Pending where the server can't tell yet, and otherwise
// those of fail.
func (s *Service) Do(ctx context.Context, setup *door.Setup, open []string, ask func(ctx context.Context, v *View) error) error {
	var crashed error
	var lost []string // opened from then on: what is open is as it was sent, whatever comes
	slips := 0
	for try, pause := 1, retryPause; ; try++ {
		v, err := s.view(ctx, setup, open, lost)
		if err == nil {
			v.Crash = cmp.Or(s.untold(), crashed)
			err = v.ask(ctx, ask)
		}
		switch {
		case err == nil:
			s.told(v.Crash)
			return nil
		case ctx.Err() != nil && try > manyTries && errors.Is(ctx.Err(), context.DeadlineExceeded):
			return &Pending{s.candidates()[0].Name + " is overtaken by changes again and again"}
		case ctx.Err() != nil:
			return s.late(ctx, err)
		case fail.Exit(err) == fail.ExitUnavailable && !crash(err): // it says what to do
			return err
		case overtaken(err):
			if v != nil && v.lost != "" && len(lost) < maxOpen/2 {
				lost = append(lost, v.lost)
			}
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
			pause = min(2*pause, maxPause)
			continue
		case v != nil && slips < maxSlips && slipped(v, err):
			slips++
			continue
		case !crash(err):
		case crashed == nil:
			crashed = err
			s.awaitEnd(ctx)
			continue
		default:
			s.awaitEnd(ctx)
			return fail.Unavailable("server_ended", "%v", err).WithHint("kx lsp status")
		}
		return err
	}
}

// crash reports whether a server ended that had been started.
func crash(err error) bool {
	e := fail.As(err)
	return errors.Is(err, client.ErrEnded) && e.Code != failed
}

// endTime is how long the end of a server that has closed its connection may take.
const endTime = 5 * time.Second

// awaitEnd waits until a server that has closed its connection counts as ended: else the
// same one would be asked again.
func (s *Service) awaitEnd(ctx context.Context) {
	s.mu.Lock()
	r := s.run
	s.mu.Unlock()
	if r == nil {
		return
	}
	select {
	case <-r.Done():
	case <-ctx.Done():
	case <-time.After(endTime):
	}
}

// untold returns why the server ended, until an answer has told it.
func (s *Service) untold() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unsaid
}

// told takes note that an answer has told why the server ended.
func (s *Service) told(crash error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unsaid == crash {
		s.unsaid = nil
	}
}

// ask asks a server that can work. What was said of files that have changed meanwhile is
// of no use: the server spoke of others than those that its answer is read with.
func (v *View) ask(ctx context.Context, ask func(ctx context.Context, v *View) error) error {
	defer v.release()
	if err := v.able(); err != nil {
		return err
	}
	err := ask(ctx, v)
	if v.overtaken() && (err == nil || ctx.Err() == nil) && !errors.Is(err, client.ErrEnded) {
		return cmp.Or(ctx.Err(), errStale)
	}
	if err != nil {
		return err
	}
	return v.able() // it still could when it answered
}

// able says why a server can't work.
func (v *View) able() error {
	what, broken := v.Health()
	if !broken && !v.Server.Broken(what) {
		return nil
	}
	means, hint := v.Server.Complain(what)
	return fail.Unavailable("server_unwell", "%s can't work: %.300s", v.Server.Name, means).WithHint("%s", cmp.Or(hint, "kx lsp status"))
}

// overtaken reports whether a question has to be asked again: files changed, the server
// wants it, or it was ended for somebody else.
func overtaken(err error) bool {
	var e *protocol.Error
	return errors.Is(err, errStale) || errors.Is(err, client.ErrClosed) ||
		errors.As(err, &e) && (e.Code == protocol.ContentModified || e.Code == protocol.ServerCancelled)
}

// slipped reports whether the server has made a mistake of its own.
func slipped(v *View, err error) bool {
	var e *protocol.Error
	return errors.As(err, &e) && v.Server.Slipped(e.Message)
}

// errStale says that files changed while a question was on its way.
var errStale = errors.New("the files change faster than they can be asked about")

// late is why there is no answer in time.
func (s *Service) late(ctx context.Context, err error) error {
	var p *Pending
	if errors.As(err, &p) || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == nil {
		return s.pendingStart()
	}
	return s.run.pending()
}

func (s *Service) pendingStart() *Pending {
	name := s.candidates()[0].Name
	if s.starting == nil {
		return &Pending{name + " has not started yet"}
	}
	return &Pending{fmt.Sprintf("%s is still starting (%s)", name, ago(s.starting.began))}
}

func (r *running) pending() *Pending {
	name := r.server.Name
	loading, percent, what := r.Loading()
	switch {
	case !loading:
		return &Pending{name + " is still at work"}
	case percent >= 0:
		return &Pending{fmt.Sprintf("%s is still loading the project (%d %%)", name, percent)}
	case what != "":
		return &Pending{fmt.Sprintf("%s is still loading the project (%s, %s)", name, what, ago(r.began))}
	}
	return &Pending{fmt.Sprintf("%s is still loading the project (%s)", name, ago(r.began))}
}

func ago(t time.Time) string { return fmt.Sprintf("%d s", int(time.Since(t).Seconds())) }
