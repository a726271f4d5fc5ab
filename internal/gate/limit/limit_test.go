package limit

import (
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/record/config"
)

func small() config.Limits {
	return config.Limits{
		MaxInputBytes: 10, MaxOutputBytes: 20, MaxResultEnvelopeBytes: 30, MaxTimeoutMS: 1000, MaxParallelTools: 4, MaxCallsPerTurn: 3,
		MaxCumulativeOutputBytes: 40, MaxCumulativeResultEnvelopeBytes: 70, MaxSandbox: "workspace_write",
	}
}

// over checks that err is the quota and nothing else; "" for none.
func over(t *testing.T, err error, quota string) {
	t.Helper()
	var e *Exceeded
	if quota == "" {
		if err != nil {
			t.Error(err)
		}
		return
	}
	if !errors.As(err, &e) || e.Quota != quota || fail.Exit(err) != 6 || fail.As(err).Code != quota || fail.As(err).Msg != err.Error() {
		t.Errorf("got %v, want %s", err, quota)
	}
}

func TestEnter(t *testing.T) {
	b := NewBatch(small())
	over(t, b.Enter("x", 10), "")
	over(t, b.Enter("x", 11), InputBytes)
	over(t, b.Enter("x", 0), "")
	over(t, b.Enter("x", 11), CallsPerTurn)
	over(t, NewBatch(small()).Enter("x", 10), "")
}

func TestLeave(t *testing.T) {
	b := NewBatch(small())
	over(t, b.Leave("x", 20, 30), "")
	over(t, b.Leave("x", 21, 30), OutputBytes)
	over(t, b.Leave("x", 20, 31), EnvelopeBytes)
	over(t, b.Leave("x", 20, 30), "") // what was over did not count
	over(t, b.Leave("x", 1, 1), CumulativeOutput)
	over(t, b.Leave("x", 0, 10), "")
	over(t, b.Leave("x", 0, 1), CumulativeEnvelope)
	over(t, b.Leave("x", 0, 0), "")
}

func TestTimeout(t *testing.T) {
	l := small()
	for want, got := range map[time.Duration]time.Duration{0: time.Second, -1: time.Second, time.Millisecond: time.Millisecond, time.Second: time.Second, time.Hour: time.Second} {
		if d := NewBatch(l).Timeout(want); d != got {
			t.Errorf("a tool that asks for %v has %v", want, d)
		}
	}
	l.MaxTimeoutMS = math.MaxInt64
	if d := NewBatch(l).Timeout(time.Hour); d != time.Hour {
		t.Errorf("without a limit it has %v", d)
	}
	if NewBatch(l).Parallel() != 4 {
		t.Error("parallel")
	}
}

func TestProfile(t *testing.T) {
	for i, most := range config.Profiles {
		l := small()
		l.MaxSandbox = most
		for j, needs := range config.Profiles {
			quota := ""
			if j > i {
				quota = Sandbox
			}
			over(t, NewBatch(l).Profile("bash", needs), quota)
		}
		over(t, NewBatch(l).Profile("bash", "something"), Sandbox)
	}
	l := small()
	l.MaxSandbox = "something"
	over(t, NewBatch(l).Profile("bash", "read_only"), Sandbox)
}

// Calls of a batch count one by one, also side by side.
func TestSideBySide(t *testing.T) {
	l := small()
	l.MaxCallsPerTurn, l.MaxCumulativeOutputBytes = 100, 50
	b := NewBatch(l)
	var entered, left int
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			in, out := b.Enter("x", 1), b.Leave("x", 1, 0)
			mu.Lock()
			defer mu.Unlock()
			if in == nil {
				entered++
			}
			if out == nil {
				left++
			}
		})
	}
	all.Wait()
	if entered != 100 || left != 50 {
		t.Errorf("%d entered, %d left", entered, left)
	}
}
