package sock

import (
	"sync"
	"time"
)

// guests counts the clients of a server, and ends it when there was none for a
// while, if it is to end then. Who comes after that is turned away, so no client is dropped half-way.
type guests struct {
	all  sync.WaitGroup
	idle time.Duration

	mu    sync.Mutex
	here  int
	over  bool
	timer *time.Timer // nil where it stays
}

func newGuests(idle time.Duration, end func()) *guests {
	g := &guests{idle: idle}
	if idle == 0 {
		return g
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.timer = time.AfterFunc(idle, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.here == 0 {
			g.over = true
			end()
		}
	})
	return g
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
	if g.here == 0 && g.timer != nil {
		g.timer.Reset(g.idle)
	}
	g.all.Done()
}
