package sock

import (
	"context"
	"sync"

	"github.com/kxtools/kx/internal/base/fail"
)

// requests are those of one client that are under way.
type requests struct {
	all sync.WaitGroup

	mu    sync.Mutex
	count int
	byID  map[int64]*context.CancelFunc // the last one where a client gives an id twice
}

// begin does what a request asks for, beside the others.
func (q *requests) begin(ctx context.Context, id int64, do func(context.Context)) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.count == maxOpen {
		return fail.Limit("too_many_requests", "%d requests of this client are under way", maxOpen)
	}
	ctx, cancel := context.WithCancel(ctx)
	q.count++
	q.byID[id] = &cancel
	q.all.Go(func() {
		defer cancel()
		do(ctx)
		q.mu.Lock()
		defer q.mu.Unlock()
		q.count--
		if q.byID[id] == &cancel {
			delete(q.byID, id)
		}
	})
	return nil
}

// end cancels a request that nobody waits for any more.
func (q *requests) end(id int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if cancel := q.byID[id]; cancel != nil {
		(*cancel)()
	}
}
