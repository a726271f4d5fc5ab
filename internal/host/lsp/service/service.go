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
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/sandbox"
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
	// maxTries is how often a question is asked that changes overtake.
	maxTries = 8
)

// Pending says that a server can't tell yet.
type Pending struct{ Reason string }

func (p *Pending) Error() string { return p.Reason }

// Shared is what the services of a workspace share.
type Shared struct {
	Root    string // canonical
	Scanner *disk.Scanner
	Walls   func() sandbox.Walls
	// Confine returns the walls of a server.
	Confine func(server string, setup *door.Setup, argv []string) (*sandbox.Cell, error)
	Log     func(format string, args ...any)
}

// Service is one language of a workspace, or those that share a server.
type Service struct {
	shared *Shared
	langs  []*language.Language // that share the candidates

	mu       sync.Mutex
	run      *running // nil where none runs
	starting *start
	crashes  []time.Time
	last     string // why it ended last
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
	done  chan struct{}
	began time.Time
	run   *running
	err   error
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
	libs   []time.Time // of its libraries, when it was started
	began  time.Time
	open   atomic.Int64 // how many files are open at it
	ended  bool         // by us; the service's lock guards it

	// Who tells it of changes holds these.
	seen  *disk.Snapshot // what it has been told of
	docs  map[string]*doc
	clock int64  // counts uses of docs
	told  int64  // counts what it was told of changes
	mark  string // the last file of those that it was told of and may not have read yet
}

// Do asks a question of the server: ask is called once it has loaded and has been
// told of all changes, with the given files open, and again where a change has
// overtaken it. Its errors are *Pending where the server can't tell yet, and otherwise
// those of fail.
func (s *Service) Do(ctx context.Context, setup *door.Setup, open []string, ask func(ctx context.Context, v *View) error) error {
	var crashed error
	for try := 1; ; try++ {
		v, err := s.view(ctx, setup, open)
		if err == nil {
			v.Crash = crashed
			err = v.ask(ctx, ask)
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return s.late(ctx, err)
		case fail.Exit(err) == fail.ExitUnavailable: // it says what to do
			return err
		case try == maxTries:
		case errors.Is(err, errStale), overtaken(err):
			continue
		case errors.Is(err, client.ErrEnded) && crashed == nil:
			crashed = err
			continue
		}
		if errors.Is(err, client.ErrEnded) {
			return fail.Unavailable("server_ended", "%v", err).WithHint("kx lsp status")
		}
		return err
	}
}

// ask asks a server that can work, and that still could when it answered.
func (v *View) ask(ctx context.Context, ask func(ctx context.Context, v *View) error) error {
	if err := v.able(); err != nil {
		return err
	}
	if err := ask(ctx, v); err != nil {
		return err
	}
	return v.able()
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

// overtaken reports whether a server wants to be asked again.
func overtaken(err error) bool {
	var e *protocol.Error
	return errors.As(err, &e) && (e.Code == protocol.ContentModified || e.Code == protocol.ServerCancelled)
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

// ready returns the server that runs, starting it if need be.
func (s *Service) ready(ctx context.Context, setup *door.Setup) (*running, error) {
	s.mu.Lock()
	s.bury()
	if r := s.run; r != nil {
		why := "policy or configuration changed"
		if r.fits(setup) {
			why = r.mended()
		}
		if why == "" {
			s.mu.Unlock()
			return r, nil
		}
		s.shared.Log("%s: %s, it is started again", r.server.Name, why)
		s.drop(r)
	}
	if err := s.gaveUp(); err != nil {
		s.mu.Unlock()
		return nil, err
	}
	if s.starting == nil {
		s.begin(setup)
	}
	st := s.starting
	s.mu.Unlock()
	select {
	case <-st.done:
		return st.run, st.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// fits reports whether a server runs under the walls and options that hold now. What
// its variables are does not count: two shells would take it from each other.
func (r *running) fits(setup *door.Setup) bool {
	return r.setup.Code == setup.Code && slices.Equal(r.setup.Hidden, setup.Hidden) && reflect.DeepEqual(r.setup.Servers, setup.Servers)
}

// bury takes note of a server that has ended by itself. The lock is held.
func (s *Service) bury() {
	r := s.run
	if r == nil {
		return
	}
	select {
	case <-r.Done():
	default:
		return
	}
	s.run = nil
	if r.ended {
		return
	}
	s.last = r.Err().Error()
	s.crashes = append(s.crashes, time.Now())
	s.shared.Log("%s: %s", r.server.Name, s.last)
	go r.Close() // what it has left behind
}

// gaveUp says that the server ended too often of late. The lock is held.
func (s *Service) gaveUp() error {
	s.crashes = slices.DeleteFunc(s.crashes, func(t time.Time) bool { return time.Since(t) > crashWindow })
	if len(s.crashes) < maxCrashes {
		return nil
	}
	return fail.Unavailable("server_ended", "%s ended %d times in %d minutes: %s", s.candidates()[0].Name, len(s.crashes), int(crashWindow.Minutes()), s.last).
		WithHint("kx lsp status")
}

// drop ends a server; the next question starts another one. The lock is held.
func (s *Service) drop(r *running) {
	if s.run == r {
		s.run = nil
	}
	r.ended = true
	go s.end(r)
}

func (s *Service) end(r *running) {
	if left := r.Close(); len(left) > 0 {
		s.shared.Log("%s: processes %v can't be ended", r.server.Name, left)
	}
}

// restart ends a server that can't be told of what changed.
func (s *Service) restart(r *running, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shared.Log("%s: %s, it is started again", r.server.Name, why)
	s.drop(r)
}

// begin starts the server, for whoever waits. The lock is held.
func (s *Service) begin(setup *door.Setup) {
	st := &start{done: make(chan struct{}), began: time.Now()}
	s.starting = st
	kept := *setup
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), startTime)
		defer cancel()
		r, err := s.launch(ctx, &kept)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.starting != st { // the host ends
			if r != nil {
				go s.end(r)
			}
			r, err = nil, fail.Unavailable("host_ends", "the language host ends").WithHint("kx host list")
		}
		st.run, st.err = r, err
		s.run, s.starting = r, nil
		close(st.done)
	}()
}

// launch starts the first candidate that shakes hands.
func (s *Service) launch(ctx context.Context, setup *door.Setup) (*running, error) {
	snap, err := s.shared.Scanner.Scan(ctx)
	if err != nil {
		return nil, err
	}
	var first error
	for _, server := range s.candidates() {
		r, err := s.try(ctx, server, setup, snap)
		if err == nil {
			return r, nil
		}
		s.shared.Log("%s: %v", server.Name, err)
		if first == nil && fail.Exit(err) == fail.ExitUnavailable {
			first = err // others were not even found
		}
	}
	if first != nil {
		return nil, first
	}
	return nil, language.Missing(s.langs[0])
}

func (s *Service) try(ctx context.Context, server *language.Server, setup *door.Setup, snap *disk.Snapshot) (*running, error) {
	argv, err := server.Find(setup.Env, s.shared.Root)
	if err != nil {
		return nil, err
	}
	if err := language.MayRun(server, setup.Code, s.shared.Walls()); err != nil {
		return nil, err
	}
	cell, err := s.shared.Confine(server.Name, setup, argv)
	if err != nil {
		return nil, err
	}
	var options any
	if server.Options != nil {
		options = server.Options(language.Start{Argv: argv, Root: s.shared.Root, Files: snap.Paths()})
	}
	env := language.Env(setup.Env, s.shared.Root)
	if server.Env != nil {
		env = append(env, server.Env(cacheOf(cell))...)
	}
	libs := installed(server, setup)
	var masked []string
	if cell != nil && cell.Plan != nil {
		masked = cell.Plan.Masked
	}
	c, err := client.Start(ctx, client.Options{
		Argv: argv, Dir: s.shared.Root, Env: env, Cell: cell, Root: s.shared.Root, Options: options, Ready: server.Ready,
		Settings: server.Setting(s.shared.Root),
		Log:      func(line string) { s.shared.Log("%s: %s", server.Name, line) },
	})
	if err != nil {
		return nil, fail.Unavailable("server_failed", "%s can't be started: %v", server.Name, err).WithHint("kx lsp doctor %s", server.Language).Because(err)
	}
	return &running{Client: c, server: server, speaks: s.speaks, setup: *setup, root: s.shared.Root, cell: cell, masked: masked, argv: argv, libs: libs, began: time.Now(), seen: snap, docs: map[string]*doc{}}, nil
}

// cacheOf is the folder for caches behind the walls.
func cacheOf(cell *sandbox.Cell) string {
	for _, v := range cell.Env {
		if dir, ok := strings.CutPrefix(v, "XDG_CACHE_HOME="); ok {
			return dir
		}
	}
	return os.TempDir()
}

// Close ends the server and waits until it is gone.
func (s *Service) Close() {
	s.mu.Lock()
	r := s.run
	s.run, s.starting = nil, nil
	if r != nil {
		r.ended = true
	}
	s.mu.Unlock()
	if r != nil {
		s.end(r)
	}
}

// State says how the server stands.
type State struct {
	Server, Language, Name, Version string
	State                           string // starting, loading, ready, ended, failed, or "" if it was never asked for
	PID                             int
	Memory                          int64
	Open                            int
	Started                         time.Time
	Reason                          string
	Program                         string
}

// State says how the server stands.
func (s *Service) State() State {
	s.mu.Lock()
	s.bury()
	st := State{Server: s.candidates()[0].Name, Language: s.candidates()[0].Language, Name: s.candidates()[0].Name, Reason: s.last}
	r := s.run
	switch {
	case r != nil:
		st.Server, st.Name, st.Version, st.PID, st.Open, st.Started, st.State = r.server.Name, r.Name(), r.Version(), r.PID(), int(r.open.Load()), r.began, "ready"
		st.Program = strings.Join(r.argv, " ")
		if loading, percent, _ := r.Loading(); loading {
			if st.State = "loading"; percent >= 0 {
				st.Reason = fmt.Sprintf("%d %%", percent)
			}
		} else if said := r.Said(); said != "" {
			st.Reason = said
		}
	case s.starting != nil:
		st.State, st.Started = "starting", s.starting.began
	case s.gaveUp() != nil:
		st.State = "failed"
	case s.last != "":
		st.State = "ended"
	}
	s.mu.Unlock()
	if r != nil {
		st.Memory = r.Memory()
	}
	return st
}
