package find

import (
	"context"
	"runtime"
	"sync"

	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/tools/file/find/pattern"
)

const (
	// grepWorkers is as many as share the work, at most: each may hold a file of
	// place.MaxWhole, and a larger machine has more to do than this.
	grepWorkers = 4
	// rgBatch is how many files one rg is started for, and batchBytes how long
	// their names are: small enough to stop early, and an argument list that
	// every system takes.
	rgBatch    = 500
	batchBytes = 96 << 10
	// goBatch is small: nothing has to be started for it.
	goBatch = 64
)

// engine searches files in order, until it has so many matches. It serves one
// worker.
type engine interface {
	search(ctx context.Context, files []candidate, limit int) ([]match, error)
	close()
}

// engines makes the engines for a query, and says how many files to give them
// at once.
type engines struct {
	make  func() engine
	batch int
}

// engines chooses rg where it is there and the pattern can be said in its
// syntax, else our own.
func (s *search) engines(env *tool.Env, q *query) engines {
	if rg := s.program(env, "rg"); rg != "" {
		if said, ok := pattern.Rg(q.tree); ok {
			return engines{func() engine { return &rgEngine{query: q, rg: rg, pattern: said, own: newGoEngine(q)} }, rgBatch}
		}
	}
	return engines{func() engine { return newGoEngine(q) }, goBatch}
}

// work is a search on its way: files come in, in order, and are searched in
// batches while more are looked for. The results are put together in order, and
// nothing more is searched when there is one match more than was asked for.
type work struct {
	q      *query
	by     engines
	parent context.Context
	ctx    context.Context // ends with enough
	stop   context.CancelFunc
	todo   chan batch

	next batch
	room int // for the names of the next batch

	workers sync.WaitGroup
	mu      sync.Mutex
	done    map[int]result // of batches, by number
	all     result         // of the first batches
	joined  int            // how many these are
}

type batch struct {
	number int
	files  []candidate
}

type result struct {
	matches []match
	err     error
}

// begin starts a search. Its end must be called.
func (q *query) begin(parent context.Context, by engines) *work {
	w := &work{q: q, by: by, parent: parent, todo: make(chan batch), room: batchBytes, done: map[int]result{}}
	w.ctx, w.stop = context.WithCancel(parent)
	for range min(grepWorkers, runtime.GOMAXPROCS(0)) {
		w.workers.Go(func() {
			e := by.make()
			defer e.close()
			for b := range w.todo {
				m, err := e.search(w.ctx, b.files, q.results+1)
				w.join(b.number, result{m, err})
			}
		})
	}
	return w
}

// add takes the next file.
func (w *work) add(c candidate) {
	size := len("./") + len(c.rel) + 1
	if n := len(w.next.files); n > 0 && (n == w.by.batch || w.room < size) {
		w.send()
	}
	w.next.files = append(w.next.files, c)
	w.room -= size
}

func (w *work) send() {
	if len(w.next.files) > 0 && w.ctx.Err() == nil {
		w.todo <- w.next
	}
	w.next, w.room = batch{number: w.next.number + 1}, batchBytes
}

// join puts the result of a batch into its place.
func (w *work) join(number int, r result) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done[number] = r
	for w.all.err == nil && len(w.all.matches) <= w.q.results {
		r, ok := w.done[w.joined]
		if !ok {
			return
		}
		delete(w.done, w.joined)
		w.joined++
		w.all.matches, w.all.err = append(w.all.matches, r.matches...), r.err
	}
	w.stop()
}

// end waits for the results.
func (w *work) end() ([]match, error) {
	w.send()
	close(w.todo)
	w.workers.Wait()
	w.stop()
	if w.all.err == nil && len(w.all.matches) <= w.q.results {
		w.all.err = w.parent.Err() // which may have kept batches from being searched
	}
	return w.all.matches, w.all.err
}
