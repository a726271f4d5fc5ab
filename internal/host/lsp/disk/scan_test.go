package disk

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// Callers who arrive while a look is under way share the next one.
func TestScansAreShared(t *testing.T) {
	root, s := fresh(t)
	write(t, root+"/a.go", "a")
	var mu sync.Mutex
	looks := 0
	begun, goOn := make(chan bool, 100), make(chan bool, 100)
	first := true // of a look: now is asked again for each folder
	s.sys.now = func() time.Time {
		mu.Lock()
		is := first
		if first = !first; is {
			looks++
		}
		mu.Unlock()
		if is {
			begun <- true
			<-goOn
		}
		return time.Now()
	}
	var wg sync.WaitGroup
	results := make(chan *Snapshot, 20)
	ask := func() {
		snap, err := s.Scan(context.Background())
		if err != nil {
			t.Error(err)
		}
		results <- snap
	}
	wg.Go(ask)
	<-begun
	for range 10 {
		wg.Go(ask)
	}
	for waiting := 0; waiting < 10; {
		s.mu.Lock()
		if s.next != nil {
			waiting = s.next.waiting
		}
		s.mu.Unlock()
	}
	write(t, root+"/b.go", "b") // after the first look began: the ten must see it
	goOn <- true
	goOn <- true
	wg.Wait()
	close(results)
	if looks != 2 {
		t.Errorf("11 callers cost %d looks", looks)
	}
	var old, new int
	for snap := range results {
		switch len(snap.Files) {
		case 1, 2:
			if snap.Files[root+"/b.go"].Size == 1 {
				new++
			} else {
				old++
			}
		}
	}
	if new < 10 {
		t.Errorf("%d of the callers see what was there when they called, %d don't", new, old)
	}
}

// Those who go away end a look that nobody else waits for, and no other.
func TestScanIsCancelled(t *testing.T) {
	root, s := fresh(t)
	write(t, root+"/a.go", "a")
	begun, goOn := make(chan bool, 100), make(chan bool)
	s.sys.now = func() time.Time { begun <- true; <-goOn; return time.Now() }
	ctx, cancel := context.WithCancel(context.Background())
	left := make(chan error)
	go func() { _, err := s.Scan(ctx); left <- err }()
	<-begun
	go func() { _, err := s.Scan(ctx); left <- err }() // waits for the next
	stays := make(chan error)
	for queued := false; !queued; {
		s.mu.Lock()
		queued = s.next != nil
		s.mu.Unlock()
	}
	go func() { _, err := s.Scan(context.Background()); stays <- err }()
	for shared := false; !shared; {
		s.mu.Lock()
		shared = s.next.waiting == 2
		s.mu.Unlock()
	}
	s.mu.Lock()
	running, queued := s.running, s.next
	s.mu.Unlock()
	cancel()
	for range 2 {
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("who went away got %v", err)
		}
	}
	if running.ctx.Err() == nil || queued.ctx.Err() != nil {
		t.Error("a look that nobody waits for goes on, or one ended that somebody waits for")
	}
	close(goOn)
	if err := <-stays; err != nil {
		t.Errorf("who stayed got %v", err)
	}
	if _, err := s.Scan(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("who had gone before got %v", err)
	}
	scan(t, s)
}

// A look that all callers left before it began is not what a later caller gets.
func TestScanIsNotJoinedWhenAbandoned(t *testing.T) {
	_, s := fresh(t)
	begun, goOn := make(chan bool, 100), make(chan bool)
	s.sys.now = func() time.Time { begun <- true; <-goOn; return time.Now() }
	first, last := make(chan error), make(chan error)
	go func() { _, err := s.Scan(context.Background()); first <- err }()
	<-begun
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Scan(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("who had gone got %v", err)
	}
	go func() { _, err := s.Scan(context.Background()); last <- err }()
	for queued := false; !queued; {
		s.mu.Lock()
		queued = s.next != nil
		s.mu.Unlock()
	}
	close(goOn)
	for _, c := range []chan error{first, last} {
		if err := <-c; err != nil {
			t.Error(err)
		}
	}
}
