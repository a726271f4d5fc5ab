package gate

import (
	"context"
	"sync"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/pkg/wire"
)

// Item is what comes in a stream: a call, or why there is none in its place.
type Item struct {
	Call wire.Call
	Err  error
}

// Answer is what an item comes to: a result, or the error that it was.
type Answer struct {
	Result *wire.Result
	Err    error
}

// Exit is the exit status of an answer.
func (a Answer) Exit() int {
	if a.Err != nil {
		return fail.Exit(a.Err)
	}
	return Exit(a.Result)
}

// Stream runs calls as they come and emits their results in the order of the
// calls. Calls run side by side up to the limit max_parallel_tools; one whose
// tool is serial waits for all before it and holds back all behind it. begin is
// called for every window of calls and may return the same batch again.
//
// next returns false at the end. emit is never called twice at once; if it
// fails, no further call is started.
func (g *Gate) Stream(ctx context.Context, next func() (Item, bool), begin func() (*Batch, error), emit func(Answer) error) error {
	s := &stream{}
	s.free.L = &s.mu
	results := make(chan chan Answer, maxSlots)
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		var failed error
		for ch := range results {
			res := <-ch
			if failed == nil {
				if failed = emit(res); failed != nil {
					cancel()
				}
			}
		}
		done <- failed
	}()
	err := s.feed(ctx, g, next, begin, results)
	s.running.Wait()
	close(results)
	if emitErr := <-done; emitErr != nil {
		return emitErr
	}
	return err
}

// maxSlots bounds what is under way whatever the configuration says: each call
// may hold 16 MiB of input and of output.
const maxSlots = 64

type stream struct {
	running sync.WaitGroup

	mu   sync.Mutex
	free sync.Cond
	busy int
}

func (s *stream) feed(ctx context.Context, g *Gate, next func() (Item, bool), begin func() (*Batch, error), results chan<- chan Answer) error {
	for ctx.Err() == nil {
		item, ok := next()
		if !ok {
			return nil
		}
		b, err := begin()
		if err != nil {
			return err
		}
		ch := make(chan Answer, 1)
		results <- ch
		if item.Err != nil {
			ch <- Answer{Err: item.Err}
			continue
		}
		t := g.Tools.Get(item.Call.Tool)
		if t != nil && t.Serial {
			s.running.Wait()
			ch <- Answer{Result: b.Do(ctx, item.Call)}
			continue
		}
		s.take(min(b.limit.Parallel(), maxSlots))
		s.running.Add(1)
		go func() {
			defer s.running.Done()
			defer s.give()
			ch <- Answer{Result: b.Do(ctx, item.Call)}
		}()
	}
	return ctx.Err()
}

// take waits until fewer than most calls run, and counts one more.
func (s *stream) take(most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.busy >= most {
		s.free.Wait()
	}
	s.busy++
}

func (s *stream) give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	s.free.Signal()
}
