package service

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/gate/sandbox"
	"github.com/kxtools/kx/internal/host/lsp/client"
	"github.com/kxtools/kx/internal/host/lsp/disk"
	"github.com/kxtools/kx/internal/host/lsp/door"
	"github.com/kxtools/kx/internal/host/lsp/language"
)

// ready returns the server that runs, starting it if need be.
func (s *Service) ready(ctx context.Context, setup *door.Setup) (*running, error) {
	for {
		r, st, err := s.current(setup)
		if st == nil {
			return r, err
		}
		select {
		case <-st.done:
			if same(&st.setup, setup) {
				return st.run, st.err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// current returns the server that runs, or else the start of one.
func (s *Service) current(setup *door.Setup) (*running, *start, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, ErrClosed
	}
	s.bury()
	if r := s.run; r != nil {
		why := "policy or configuration changed"
		if same(&r.setup, setup) {
			why = r.mended()
		}
		if why == "" {
			return r, nil, nil
		}
		s.shared.Log("%s: %s, it is started again", r.server.Name, why)
		s.drop(r)
	}
	if err := s.gaveUp(); err != nil {
		return nil, nil, err
	}
	if s.starting == nil {
		s.begin(setup)
	}
	return nil, s.starting, nil
}

// same reports whether servers run under the same walls. What their variables are does
// not count: two shells would take the server from each other. Which servers there are
// is for who makes services.
func same(a, b *door.Setup) bool { return a.Code == b.Code && slices.Equal(a.Hidden, b.Hidden) }

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
	s.last, s.unsaid = r.Err().Error(), r.Err()
	s.crashes = append(s.crashes, time.Now())
	s.shared.Log("%s: %s", r.server.Name, s.last)
	go s.end(r) // what it has left behind
}

// gaveUp says that the server ended too often of late. The lock is held.
func (s *Service) gaveUp() error {
	s.crashes = slices.DeleteFunc(s.crashes, func(t time.Time) bool { return time.Since(t) > crashWindow })
	if len(s.crashes) < maxCrashes {
		return nil
	}
	return fail.Unavailable("server_ended", "%s ended %d times in %d minutes: %s", s.candidates()[0].Name, len(s.crashes), int(crashWindow.Minutes()), s.last).
		WithHint("kx host stop %s", door.Name(s.shared.Root)) // the next question starts all anew
}

// drop ends the server; the next question starts another one. The lock is held.
func (s *Service) drop(r *running) {
	s.run, r.ended = nil, true
	r.edits.Add(1) // what it still answers is of before
	go s.end(r)
}

func (s *Service) end(r *running) {
	if left := r.Close(); len(left) > 0 {
		s.shared.Log("%s: processes %v can't be ended", r.server.Name, left)
	}
	s.tell <- struct{}{} // who looks there has ended, too
	defer func() { <-s.tell }()
	r.beyond.Close()
}

// restart ends a server that can't be told of what changed.
func (s *Service) restart(r *running, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == r { // else another question was faster
		s.shared.Log("%s: %s, it is started again", r.server.Name, why)
		s.drop(r)
	}
}

// begin starts the server, for whoever waits. The lock is held.
func (s *Service) begin(setup *door.Setup) {
	ctx, cancel := context.WithCancel(context.Background())
	st := &start{done: make(chan struct{}), began: time.Now(), setup: *setup, cancel: cancel}
	s.starting = st
	go func() {
		defer close(st.done)
		defer cancel()
		r, err := s.launch(ctx, &st.setup)
		s.mu.Lock()
		s.starting, s.failure = nil, ""
		closed := s.closed
		if !closed {
			s.run = r
		}
		if e := fail.As(err); e != nil && e.Code == failed {
			s.failure = e.Msg
		}
		s.mu.Unlock()
		if closed {
			if r != nil {
				s.end(r)
			}
			r, err = nil, ErrClosed
		}
		st.run, st.err = r, err
	}()
}

// launch starts the first candidate that shakes hands.
func (s *Service) launch(ctx context.Context, setup *door.Setup) (r *running, err error) {
	defer s.shared.Caught(&err)
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

// failed is the code of the error of a server that was found and can't be started.
const failed = "server_failed"

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
	env := language.Env(setup.Env, s.shared.Root)
	at := language.Start{Argv: argv, Root: s.shared.Root, Files: snap.Paths(), Env: env}
	if cell != nil {
		at.Cache = cell.Cache
	}
	var options any
	if server.Options != nil {
		options = server.Options(at)
	}
	if server.Program != nil {
		if err := cell.Put(language.Program, server.Program(at)); err != nil {
			cell.Leave()
			return nil, fail.Unavailable(failed, "%s can't be started: it has no place for its files: %v", server.Name, fsx.Reason(err)).WithHint("kx config path state").Because(err)
		}
	}
	if server.Env != nil {
		env = slices.Concat(env, server.Env(at))
	}
	libs, hides := watch(server, at), masked(cell)
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	c, err := client.Start(ctx, client.Options{
		Argv: argv, Called: language.Called(argv[0]), Dir: s.shared.Root, Env: env, Cell: cell, Root: s.shared.Root, Options: options, Ready: server.Ready,
		Settings: server.Setting(at),
		Log:      func(line string) { s.shared.Log("%s: %s", server.Name, line) },
	})
	if err != nil {
		return nil, fail.Unavailable(failed, "%s can't be started: %v", server.Name, err).WithHint("kx lsp doctor %s", server.Language).Because(err)
	}
	return &running{
		Client: c, server: server, speaks: s.speaks, setup: *setup, root: s.shared.Root, cell: cell, masked: hides, argv: argv, libs: libs, began: time.Now(), seen: snap, docs: map[string]*doc{}, pins: pins{count: map[string]int{}},
	}, nil
}

// masked are the files and folders that the walls of a server hide: by their names, and
// by what leads to them.
func masked(cell *sandbox.Cell) (list []string) {
	if cell == nil || cell.Plan == nil {
		return nil
	}
	for _, m := range cell.Plan.Masked {
		list = append(list, m)
		if real, err := filepath.EvalSymlinks(m); err == nil && real != m {
			list = append(list, real)
		}
	}
	return list
}

// Close ends the server and waits until it is gone. Questions get ErrClosed.
func (s *Service) Close() {
	s.mu.Lock()
	r, st := s.run, s.starting
	s.run, s.closed = nil, true
	if r != nil {
		r.ended = true
	}
	s.mu.Unlock()
	if st != nil {
		st.cancel()
		<-st.done
	}
	if r != nil {
		s.end(r)
	}
}
