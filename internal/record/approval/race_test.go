package approval

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx/fsxtest"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/wire"
)

// Several that answer at once, and several that spend at once: one wins.
func TestRace(t *testing.T) {
	d := newDesk(t)
	for i := range 10 {
		a := d.ask(fmt.Sprint(i), "")
		var mu sync.Mutex
		won := map[string]int{}
		race := func(what string, f func(i int) error) {
			var all sync.WaitGroup
			for i := range 8 {
				all.Go(func() {
					err := f(i)
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						won[what]++
					} else if fail.Exit(err) != 7 {
						t.Error(err)
					}
				})
			}
			all.Wait()
		}
		var verdicts sync.Map
		race("answer", func(i int) error {
			verdict := []string{wire.ApprovalAllowed, wire.ApprovalDenied}[i%2]
			_, err := d.Decide(a.ID, Answer{Allow: verdict == wire.ApprovalAllowed}, wire.Decider{Kind: "human", PID: i})
			if err == nil {
				verdicts.Store("won", verdict)
			}
			return err
		})
		got, err := d.Get(a.ID)
		if verdict, _ := verdicts.Load("won"); err != nil || got.State != verdict {
			t.Errorf("%v won, %v, %v", verdict, got, err)
		}
		race("spend", func(i int) error { return d.Spend(got, fmt.Sprint(i)) })
		if won["answer"] != 1 || won["spend"] != 1 {
			t.Errorf("%v", won)
		}
	}
}

// Of several processes that spend one approval at once, one wins.
func TestRaceOfProcesses(t *testing.T) {
	if task, ok := fsxtest.Child(); ok {
		dir, id, _ := strings.Cut(task, "|")
		st, err := state.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		s := New(st, func() time.Time { return start })
		a, err := s.Get(id)
		if err != nil {
			t.Fatal(err)
		}
		fsxtest.Say(fmt.Sprint("exit ", fail.Exit(s.Spend(a, "c"))))
		return
	}
	d := newDesk(t)
	a := d.ask("ls", "")
	d.decide(a.ID, wire.ApprovalAllowed)
	const many = 4
	said := make(chan string, many)
	for range many {
		cmd := fsxtest.Command(t, d.st.Dir()+"|"+a.ID)
		go func() {
			out, err := cmd.Output()
			if err != nil {
				out = []byte(err.Error())
			}
			line, _, _ := strings.Cut(string(out), "\n")
			said <- line
		}()
	}
	got := map[string]int{}
	for range many {
		got[<-said]++
	}
	if got["exit 0"] != 1 || got["exit 7"] != many-1 {
		t.Errorf("%v", got)
	}
}

// Requests that are parked side by side for one action are one.
func TestParkAtOnce(t *testing.T) {
	d := newDesk(t)
	ids := make([]string, 8)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			if a, err := d.park("ls", ""); err != nil {
				t.Error(err)
			} else {
				ids[i] = a.ID
			}
		})
	}
	all.Wait()
	if slices.Sort(ids); ids[0] != ids[7] {
		t.Errorf("%v", ids)
	}
	if _, err := d.Park(wire.Approval{}, nil); err == nil {
		t.Error("a request without a hash was parked")
	}
}

// However many ask at once, no more than the cap wait.
func TestCapAtOnce(t *testing.T) {
	d := newDesk(t)
	for i := range MaxPending - 5 {
		d.ask(fmt.Sprint(i), "")
	}
	var mu sync.Mutex
	exits := map[int]int{}
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			_, err := d.park(fmt.Sprint("more ", i), "")
			mu.Lock()
			defer mu.Unlock()
			exits[fail.Exit(err)]++
		})
	}
	all.Wait()
	if exits[0] != 5 || exits[6] != 5 {
		t.Errorf("%v", exits)
	}
}
