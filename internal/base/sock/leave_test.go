package sock

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"
)

// over expects a server to have ended.
func over(t *testing.T, ended chan error) {
	t.Helper()
	select {
	case err := <-ended:
		ended <- err // for the end of the test
	case <-time.After(soon):
		t.Fatal("the server goes on")
	}
}

// A request that its client cancels ends, without a word, and no other one does.
func TestCancel(t *testing.T) {
	ended := make(chan int64, 4)
	path, _ := serve(t, &Server{Handle: func(ctx context.Context, r *Request, send func(any) error) (any, error) {
		if r.Verb != "hang" {
			return echo(ctx, r, send)
		}
		<-ctx.Done()
		ended <- r.ID
		return nil, ctx.Err()
	}})
	p := friend(t, path, "host")
	p.say(`{"id":1,"verb":"hang"}`)
	p.say(`{"id":2,"verb":"hang"}`)
	for _, unknown := range []string{`{"id":7,"verb":"cancel"}`, `{"id":7,"verb":"cancel","args":{"id":1}}`} {
		p.say("%s", unknown)
	}
	p.say(`{"id":2,"verb":"cancel"}`)
	if id := <-ended; id != 2 {
		t.Errorf("request %d ended", id)
	}
	p.say(`{"id":2,"verb":"cancel"}`)
	p.say(`{"id":3,"verb":"hi"}`)
	if got, want := p.line(), `{"id":3,"result":{"args":null,"key":"host","verb":"hi"}}`; got != want {
		t.Errorf("the next line is %s", got)
	}
	select {
	case id := <-ended:
		t.Errorf("request %d ended, too", id)
	default:
	}
	p.Close()
	if id := <-ended; id != 1 {
		t.Errorf("request %d ended with its client", id)
	}
}

// A server that makes room takes nobody else and no more requests; what is under way is
// answered, or ends after a while.
func TestLeave(t *testing.T) {
	entered, answer := make(chan string, 8), make(chan bool)
	srv := &Server{grace: time.Second, Handle: func(ctx context.Context, r *Request, _ func(any) error) (any, error) {
		entered <- r.Verb
		if r.Verb == "watch" {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		select {
		case <-answer:
			return map[string]bool{"done": true}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	srv.Leave() // before it serves there is nothing to leave
	path, ended := serve(t, srv)
	idle, asks, watches := friend(t, path, "host"), friend(t, path, "host"), friend(t, path, "host")
	asks.say(`{"id":1,"verb":"ask"}`)
	watches.say(`{"id":1,"verb":"watch"}`)
	<-entered
	<-entered
	if n := srv.Clients(); n != 3 {
		t.Errorf("%d clients", n)
	}
	srv.Leave()
	idle.ends() // and with it the reading of all
	asks.say(`{"id":2,"verb":"ask"}`)
	close(answer)
	if got := asks.line(); got != `{"id":1,"result":{"done":true}}` {
		t.Errorf("the answer: %q", got)
	}
	asks.ends()
	watches.ends()
	over(t, ended)
	if len(entered) > 0 {
		t.Error("it has taken another request")
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("the socket is still there")
	}
}

// An outdated server ends when its last client leaves it.
func TestOutdated(t *testing.T) {
	var old atomic.Bool
	path, ended := serve(t, &Server{Handle: echo, Outdated: old.Load, grace: time.Minute})
	first, second := friend(t, path, "host"), friend(t, path, "host")
	for _, p := range []*peerConn{first, second} {
		p.say(`{"id":1,"verb":"hi"}`)
		if p.line() == "" {
			t.Fatal("it does not answer")
		}
	}
	old.Store(true)
	first.Close()
	second.say(`{"id":2,"verb":"hi"}`)
	if second.line() == "" {
		t.Error("it has ended for the first one")
	}
	second.Close()
	over(t, ended)
}

// An id that is given twice is no way to hold on to requests.
func TestSameID(t *testing.T) {
	path, _ := serve(t, &Server{Handle: func(ctx context.Context, r *Request, _ func(any) error) (any, error) {
		if r.Verb == "hang" {
			<-ctx.Done()
		}
		return map[string]string{"verb": r.Verb}, ctx.Err()
	}})
	p := friend(t, path, "host")
	p.say(`{"id":1,"verb":"hang"}`)
	p.say(`{"id":1,"verb":"hi"}`)
	if got := p.line(); got != `{"id":1,"result":{"verb":"hi"}}` {
		t.Errorf("it says %s", got)
	}
	for i := range maxOpen + 10 { // room is given back
		p.say(`{"id":%d,"verb":"hi"}`, i+2)
		if got, want := p.line(), fmt.Sprintf(`{"id":%d,"result":{"verb":"hi"}}`, i+2); got != want {
			t.Fatalf("it says %s", got)
		}
	}
}
