package find

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/kxtools/kx/internal/gate/tool"
)

const (
	// grepWorkers suits small machines and leaves larger ones to others.
	grepWorkers = 2
	// batchFiles and batchBytes bound a batch: small enough to stop early, and
	// an argument list that every system takes.
	batchFiles = 500
	batchBytes = 96 << 10
)

// engine searches files in order, until it has so many matches. It serves one
// worker.
type engine interface {
	search(ctx context.Context, files []candidate, limit int) ([]match, error)
	close()
}

// engine returns the maker of the engines for a query: rg where it is there
// and the pattern can be said in its syntax, else our own.
func (s *search) engine(env *tool.Env, q *query) func() engine {
	if rg := s.program(env, "rg"); rg != "" {
		if pattern, ok := rgPattern(q.tree); ok {
			return func() engine { return &rgEngine{query: q, rg: rg, pattern: pattern, own: newGoEngine(q)} }
		}
	}
	return func() engine { return newGoEngine(q) }
}

// run searches the files in batches and puts the results together in order.
// It stops when there is one match more than was asked for.
func (q *query) run(parent context.Context, files []candidate, newEngine func() engine) ([]match, error) {
	ctx, cancel := context.WithCancel(parent)
	type result struct {
		matches []match
		err     error
	}
	todo := batches(files)
	done := make([]chan result, len(todo))
	for i := range done {
		done[i] = make(chan result, 1)
	}
	var workers sync.WaitGroup
	var next atomic.Int64
	for range min(grepWorkers, len(todo)) {
		workers.Go(func() {
			e := newEngine()
			defer e.close()
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(todo) {
					return
				}
				m, err := e.search(ctx, todo[i], q.results+1)
				done[i] <- result{m, err}
			}
		})
	}
	defer workers.Wait()
	defer cancel()
	var all []match
	for i := 0; i < len(todo) && len(all) <= q.results; i++ {
		select {
		case r := <-done[i]:
			if r.err != nil {
				return nil, r.err
			}
			all = append(all, r.matches...)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return all, nil
}

func batches(files []candidate) (all [][]candidate) {
	for from := 0; from < len(files); {
		to, room := from, batchBytes
		for to < len(files) && to-from < batchFiles && (to == from || len(files[to].rel) < room) {
			room -= len("./") + len(files[to].rel) + 1
			to++
		}
		all = append(all, files[from:to])
		from = to
	}
	return all
}
