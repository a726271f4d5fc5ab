package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/record/approval"
)

// patience is how long a race may take to get to its start.
const patience = 30 * time.Second

// waiting returns the requests that wait, by the text that names them, as soon as
// there are n.
func (c *house) waiting(n int) map[string]string {
	c.Helper()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		ids := map[string]string{}
		for line := range strings.Lines(c.calm("approve", "list")) {
			var a struct {
				ID    string
				Input struct{ Command string }
			}
			if err := json.Unmarshal([]byte(line), &a); err != nil {
				c.fail("%q: %v", line, err)
			}
			ids[a.Input.Command+" #"+a.ID] = a.ID
		}
		if len(ids) >= n {
			return ids
		}
		if time.Since(began) > patience {
			c.fail("%d wait, want %d", len(ids), n)
		}
	}
}

// TestWaiters lets as many calls wait as a session may have, answers them in any
// order, and looks at what each of them gets.
func TestWaiters(t *testing.T) {
	c := newHouse(t, built(t))
	c.calm("config", "path", "approver-key")
	var all sync.WaitGroup
	for i := range approval.MaxPending {
		all.Go(func() {
			line := fmt.Sprintf("echo %d >> effects", i)
			exit, out, _ := c.kx(blow{}, "call", "bash", fmt.Sprintf(`{"command":%q}`, line), "--wait", "5m")
			var r struct {
				ApprovalID string `json:"approval_id"`
				Error      struct{ Message string }
			}
			err := json.Unmarshal([]byte(out), &r)
			yes, no := exit == 0 && i%2 == 0, exit == fail.ExitDenied && i%2 == 1 && strings.HasSuffix(r.Error.Message, ": not "+line)
			if err != nil || r.ApprovalID == "" || !yes && !no {
				t.Errorf("%q ends with %d, %s", line, exit, out)
			}
		})
	}
	ids := c.waiting(approval.MaxPending)
	for what, id := range ids { // in any order
		line, _, _ := strings.Cut(what, " #")
		var i int
		fmt.Sscanf(line, "echo %d", &i)
		if i%2 == 0 {
			c.calm("approve", "allow", id, "--key", c.key)
		} else {
			c.calm("approve", "deny", id, "--note", "not "+line, "--key", c.key)
		}
	}
	all.Wait()
	var want []string
	for i := 0; i < approval.MaxPending; i += 2 {
		want = append(want, fmt.Sprint(i))
	}
	if got := c.lines(); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		c.fail("what happened is %q", got)
	}
	c.calm("audit", "verify")
}

// lines are the effects, sorted.
func (c *house) lines() []string {
	b, err := os.ReadFile(filepath.Join(c.work, "effects"))
	if err != nil {
		c.fail("%v", err)
	}
	return slices.Sorted(slices.Values(strings.Fields(string(b))))
}

// TestApprovers lets several processes answer one request at once: one wins.
func TestApprovers(t *testing.T) {
	c := newHouse(t, built(t))
	c.calm("config", "path", "approver-key")
	for round := range 5 {
		line := fmt.Sprintf("echo %d >> effects", round)
		if exit, _, _ := c.kx(blow{}, "call", "bash", fmt.Sprintf(`{"command":%q}`, line)); exit != fail.ExitPending {
			c.fail("it ends with %d", exit)
		}
		id := c.ids("list")[0]
		var mu sync.Mutex
		exits, won := map[int]int{}, ""
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				verb := []string{"allow", "deny"}[i%2]
				exit, _, _ := c.kx(blow{}, "approve", verb, id, "--key", c.key)
				mu.Lock()
				defer mu.Unlock()
				if exits[exit]++; exit == 0 {
					won = verb
				}
			})
		}
		all.Wait()
		if !maps.Equal(exits, map[int]int{0: 1, fail.ExitConflict: 7}) {
			c.fail("they end with %v", exits)
		}
		exit, _, _ := c.kx(blow{}, "call", "bash", fmt.Sprintf(`{"command":%q}`, line))
		if want := map[string]int{"allow": 0, "deny": fail.ExitDenied}[won]; exit != want {
			c.fail("%s won, and it ends with %d", won, exit)
		}
	}
}

// TestTurn parks the calls of one turn that all ask, two of them equal, and answers
// them in any order, with a process between the answers or one that waits. Each runs
// once.
func TestTurn(t *testing.T) {
	bin := built(t)
	var calls, want []string
	for i := range 8 {
		n := fmt.Sprint(max(1, i)) // the first two are equal
		want = append(want, n)
		calls = append(calls, fmt.Sprintf(`{"tool":"bash","input":{"command":"echo %s >> effects"}}`, n))
	}
	script := `{"calls":[` + strings.Join(calls, ",") + "]}\n" + `{"say":"Done."}` + "\n"
	for _, how := range []string{"at once", "between", "waits"} {
		t.Run(how, func(t *testing.T) {
			c := newHouse(t, bin)
			c.calm("config", "path", "approver-key")
			if err := os.WriteFile(filepath.Join(c.work, "turns"), []byte(script), 0o600); err != nil {
				t.Fatal(err)
			}
			args := []string{"agent", "run", "--script", "turns", "--new-session", "a"}
			ended := make(chan int, 1)
			if how == "waits" {
				args = append(args, "--wait", "5m")
			}
			go func() {
				exit, _, _ := c.kx(blow{}, args...)
				ended <- exit
			}()
			if how == "waits" {
				// No more of them wait at once than may run side by side.
				for range want {
					for _, id := range c.waiting(1) {
						c.calm("approve", "allow", id, "--key", c.key)
						break
					}
				}
				if exit := <-ended; exit != 0 {
					c.fail("it ends with %d", exit)
				}
			} else {
				if exit := <-ended; exit != fail.ExitPending {
					c.fail("it ends with %d", exit)
				}
				c.answerAll(len(want), how == "between")
				c.resumeTwice()
			}
			if got := c.lines(); !slices.Equal(got, want) {
				c.fail("what happened is %q, want %q", got, want)
			}
			c.calm("audit", "verify")
		})
	}
}

// answerAll allows n requests in any order, and resumes the run between two of them
// if it is to: it does what was allowed, and parks again.
func (c *house) answerAll(n int, between bool) {
	c.Helper()
	ids := slices.Collect(maps.Values(c.waiting(n))) // in any order
	if len(ids) != n {
		c.fail("%d wait, want %d", len(ids), n)
	}
	for i, id := range ids {
		c.calm("approve", "allow", id, "--key", c.key)
		if !between || i == n-1 {
			continue
		}
		if exit, _, _ := c.kx(blow{}, "agent", "resume", "a"); exit != fail.ExitPending || len(c.lines()) != i+1 {
			c.fail("after %d answers it ends with %d, and %q happened", i+1, exit, c.lines())
		}
	}
}

// resumeTwice resumes the run in two processes at once: one goes on, the other hears
// that it runs or is over.
func (c *house) resumeTwice() {
	c.Helper()
	exits := make(chan int, 2)
	for range 2 {
		go func() {
			exit, _, _ := c.kx(blow{}, "agent", "resume", "a")
			exits <- exit
		}()
	}
	if a, b := <-exits, <-exits; a+b != fail.ExitConflict || a*b != 0 {
		c.fail("they end with %d and %d", a, b)
	}
}
