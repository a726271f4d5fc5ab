package gate

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/kxtools/kx/pkg/wire"
)

// waiting returns a world whose calls wait, each until await says so.
func waiting(t *testing.T, await func(w *world, ctx context.Context, id string) error) (*world, *[]string) {
	w := newWorld(t, nil)
	var parked []string
	w.Wait = time.Hour
	w.Parked = func(a *wire.Approval) { parked = append(parked, a.ID) }
	w.Await = func(ctx context.Context, id string) error { return await(w, ctx, id) }
	return w, &parked
}

// A request lives 300 s from the last moment at which somebody waited for it.
func TestKeep(t *testing.T) {
	w := newWorld(t, nil)
	r := w.call("write_file", write)
	a, err := w.Approvals.Get(r.ApprovalID)
	if err != nil {
		t.Fatal(err)
	}
	w.pass(200 * time.Second)
	until := w.Now().Add(300 * time.Second)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan bool)
	r1, parked := &run{Batch: w.begin()}, a
	go func() {
		r1.keep(ctx, parked, time.Millisecond)
		close(ended)
	}()
	for deadline := time.Now().Add(10 * time.Second); !a.ExpiresAt.Equal(until); {
		if time.Now().After(deadline) {
			t.Fatalf("it expires at %v, not at %v", a.ExpiresAt, until)
		}
		if a, err = w.Approvals.Get(r.ApprovalID); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	<-ended
	w.pass(301 * time.Second)
	if a, err = w.Approvals.Get(r.ApprovalID); err != nil || a.State != wire.ApprovalExpired {
		t.Errorf("long after the last waiter: %+v, %v", a, err)
	}
}

func TestWait(t *testing.T) {
	verdict := wire.ApprovalAllowed
	w, parked := waiting(t, func(w *world, _ context.Context, id string) error {
		if a, _ := w.Approvals.Get(id); !a.ExpiresAt.Equal(w.Now().Add(300 * time.Second)) {
			w.Errorf("it expires at %v, not 300 s from now", a.ExpiresAt)
		}
		w.answer(id, verdict)
		return nil
	})
	r := w.call("write_file", write)
	w.wants(r, wire.StatusOK, 0, 1)
	if len(*parked) != 1 || (*parked)[0] != r.ApprovalID {
		t.Errorf("parked %v, %+v", *parked, r)
	}
	if got := w.trail(); got != "audit:ask:rule approval:pending audit:allow:human outcome:ok" {
		t.Errorf("audit: %s", got)
	}
	verdict = wire.ApprovalDenied
	w.wants(w.call("write_file", write), wire.StatusDenied, 3, 1)
}

// Nobody answers: the request stays, and the call says that it is pending.
func TestWaitInVain(t *testing.T) {
	w, _ := waiting(t, func(w *world, ctx context.Context, _ string) error {
		<-ctx.Done()
		w.pass(200 * time.Second)
		return ctx.Err()
	})
	w.Wait = time.Millisecond
	r := w.call("write_file", write)
	w.wants(r, wire.StatusPending, 4, 0)
	if a, err := w.Approvals.Get(r.ApprovalID); err != nil || a.State != wire.ApprovalPending || !a.ExpiresAt.Equal(w.Now().Add(300*time.Second)) {
		t.Errorf("%+v, %v", a, err)
	}
	// Some other failure to wait is one.
	w.Await = func(context.Context, string) error { return errors.New("broken") }
	w.wants(w.call("write_file", write), wire.StatusError, 1, 0)
}

// Whatever waiting came to, a call that is interrupted meanwhile does not run, and
// its request and its answer stay.
func TestWaitInterrupted(t *testing.T) {
	for state, await := range map[string]func(w *world, waiting context.Context, id string) error{
		wire.ApprovalPending: func(_ *world, waiting context.Context, _ string) error { <-waiting.Done(); return waiting.Err() },
		wire.ApprovalAllowed: func(w *world, _ context.Context, id string) error { w.answer(id, wire.ApprovalAllowed); return nil },
		wire.ApprovalDenied: func(w *world, _ context.Context, id string) error {
			w.answer(id, wire.ApprovalDenied)
			return errors.New("the connection was closed")
		},
	} {
		ctx, cancel := context.WithCancel(context.Background())
		w, parked := waiting(t, func(w *world, waiting context.Context, id string) error { cancel(); return await(w, waiting, id) })
		w.wants(w.begin().Do(ctx, wire.Call{Tool: "write_file", Input: json.RawMessage(write)}), wire.StatusError, 130, 0)
		if a, err := w.Approvals.Get((*parked)[0]); err != nil || a.State != state {
			t.Errorf("%+v, %v", a, err)
		}
	}
}

// Being woken without an answer is no answer, and a request that is cancelled is
// not made again.
func TestWaitWoken(t *testing.T) {
	woken := 0
	w, _ := waiting(t, func(*world, context.Context, string) error { woken++; return nil })
	w.wants(w.call("write_file", write), wire.StatusPending, 4, 0)
	if woken != 1 {
		t.Errorf("woken %d times", woken)
	}
	w.Await = func(context.Context, string) error {
		_, err := w.Approvals.Cancel(w.Session, wire.Decider{Kind: "human"})
		return err
	}
	r := w.call("write_file", write)
	w.wants(r, wire.StatusConflict, 7, 0)
	if list, _ := w.Approvals.List(wire.ApprovalPending); len(list) != 0 || r.Error.Code != "cancelled" {
		t.Errorf("%+v, waiting %+v", r.Error, list)
	}
}

// However often a call asks, it waits as long as it was told to.
func TestWaitOnce(t *testing.T) {
	var deadlines []time.Time
	w, _ := waiting(t, func(w *world, ctx context.Context, id string) error {
		d, _ := ctx.Deadline()
		if deadlines = append(deadlines, d); len(deadlines) == 3 {
			w.answer(id, wire.ApprovalAllowed)
			return nil
		}
		w.pass(2 * time.Hour) // it expires while the call waits
		return nil
	})
	w.wants(w.call("write_file", write), wire.StatusOK, 0, 1)
	if len(deadlines) != 3 || !deadlines[0].Equal(deadlines[1]) || !deadlines[1].Equal(deadlines[2]) {
		t.Errorf("waited until %v", deadlines)
	}
}
