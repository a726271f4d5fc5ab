package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kxtools/kx/pkg/wire"
)

const (
	// maxSlower is how many times as long a key may take with 500 requests as with 5:
	// what is out of sight costs nothing.
	maxSlower = 4
	// maxIdle is the part of a processor that a screen may take on which nothing
	// happens but ages.
	maxIdle = 0.10
)

// queue writes requests of several sessions, as the gate would.
func (c *house) queue(n int) {
	c.Helper()
	dir := filepath.Join(c.state, "approvals/pending")
	c.calm("config", "path", "approver-key") // makes the state directory
	if err := os.MkdirAll(dir, 0o700); err != nil {
		c.Fatal(err)
	}
	const letters = "abcdefghjk"
	for i := range n {
		until := time.Now().Add(time.Hour)
		a := wire.Approval{
			Type: "approval", V: 1, ID: fmt.Sprintf("r%c%c%c", letters[i/100%10], letters[i/10%10], letters[i%10]), Kind: "call", Tool: "bash",
			Input: json.RawMessage(fmt.Sprintf(`{"command":"go test ./pkg/p%d && make p%d"}`, i, i)), Session: fmt.Sprintf("s%d", i/50),
			Caller: "agent", Workspace: c.work, Cwd: c.work, Sandbox: "workspace_write", Mode: "default", Reason: "ask by built-in",
			ActionHash: fmt.Sprint(i), CreatedAt: time.Now().Add(time.Duration(i-1000) * time.Millisecond), ExpiresAt: &until, State: wire.ApprovalPending,
		}
		raw, err := json.Marshal(a)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, a.ID+".json"), raw, 0o600)
		}
		if err != nil {
			c.Fatal(err)
		}
	}
}

// keys starts a screen on which n requests wait, and returns how long it took from a
// key to what changed on the screen, and how much of a processor it takes when nothing
// happens.
func (c *house) keys(n int) (times []time.Duration, idle float64) {
	c.Helper()
	c.queue(n)
	master, slave := pty(c.T)
	if err := unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		c.Fatal(err)
	}
	cmd := c.command("", "approve")
	cmd.Env = append(cmd.Env, "TERM=xterm-256color")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		c.Fatal(err)
	}
	slave.Close() // only kx has it
	late := time.AfterFunc(patient, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	shown := make(chan string, 1000)
	go func() {
		defer close(shown)
		for b := make([]byte, 1<<16); ; {
			k, err := master.Read(b)
			if err != nil {
				return
			}
			shown <- string(b[:k])
		}
	}()
	all := ""
	for !strings.Contains(all, fmt.Sprintf("%d waiting", n)) || !strings.Contains(all, "expires") {
		text, ok := <-shown
		if !ok {
			c.Fatalf("the screen ended:\n%s", all)
		}
		all += text
	}
	// calm waits until nothing more is drawn: ages are, once a second.
	calm := func() {
		for {
			select {
			case <-shown:
			case <-time.After(50 * time.Millisecond):
				return
			}
		}
	}
	const presses = 60
	for i := range presses {
		calm()
		key := "j"
		if i%4 == 3 { // up and down near the top, where 5 requests have room, too
			key = "k"
		}
		if i/4%2 == 1 {
			key = map[string]string{"j": "k", "k": "j"}[key]
		}
		began := time.Now()
		if _, err := master.WriteString(key); err != nil {
			c.Fatal(err)
		}
		<-shown
		times = append(times, time.Since(began))
	}
	calm()
	const still = 3 * time.Second
	before := c.processor(cmd.Process.Pid)
	time.Sleep(still)
	idle = (c.processor(cmd.Process.Pid) - before).Seconds() / still.Seconds()
	if _, err := master.WriteString("q"); err != nil {
		c.Fatal(err)
	}
	go func() {
		for range shown { // until it has ended
		}
	}()
	if err := cmd.Wait(); err != nil {
		c.Errorf("the screen ends with %v", err)
	}
	slices.Sort(times)
	return times, idle
}

// processor is the time that a process has had.
func (c *house) processor(pid int) time.Duration {
	c.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		c.Fatal(err)
	}
	f := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	var user, system int64
	fmt.Sscan(f[11], &user)
	fmt.Sscan(f[12], &system)
	const tick = 10 * time.Millisecond // USER_HZ is 100 on all of Linux
	return time.Duration(user+system) * tick
}

// With 500 requests a key is as quick as with 5, and a screen that nobody touches costs
// next to nothing.
func TestFiveHundredRequests(t *testing.T) {
	bin := built(t)
	few, _ := newHouse(t, bin).keys(5)
	many, idle := newHouse(t, bin).keys(500)
	at := func(list []time.Duration, part float64) time.Duration { return list[int(float64(len(list)-1)*part)] }
	t.Logf("from a key to the screen: median %v, 95%% in %v with 5 requests; %v, %v with 500; idle %.1f%% of a processor",
		at(few, .5), at(few, .95), at(many, .5), at(many, .95), 100*idle)
	if at(many, .5) > maxSlower*at(few, .5) {
		t.Errorf("a key takes %v with 500 requests, %v with 5", at(many, .5), at(few, .5))
	}
	if idle > maxIdle {
		t.Errorf("it takes %.1f%% of a processor", 100*idle)
	}
}
