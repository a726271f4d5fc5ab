package sock

import (
	"sync"
	"time"
)

// guests counts the clients of a server, and ends it when there was none for a
// while, if it is to end then, or when the last one has left an outdated one. Who
// comes after that is turned away, so no client is dropped half-way.
type guests struct {
	all      sync.WaitGroup
	idle     time.Duration
	outdated func() bool
	end      func()

	mu    sync.Mutex
	here  int
	over  bool
	timer *time.Timer // nil where it stays
}

func newGuests(idle time.Duration, outdated func() bool, end func()) *guests {
	g := &guests{idle: idle, outdated: outdated, end: end}
	if idle == 0 {
		return g
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.timer = time.AfterFunc(idle, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.here == 0 {
			g.close()
		}
	})
	return g
}

func (g *guests) close() {
	g.over = true
	g.end()
}

// come counts a client in. It reports whether it may stay.
func (g *guests) come() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over {
		return false
	}
	g.here++
	g.all.Add(1)
	if g.timer != nil {
		g.timer.Stop()
	}
	return true
}

// leave counts a client out.
func (g *guests) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.here--
	switch {
	case g.here > 0:
	case g.outdated():
		g.close()
	case g.timer != nil:
		g.timer.Reset(g.idle)
	}
	g.all.Done()
}

func (g *guests) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.here
}
