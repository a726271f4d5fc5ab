package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// built builds kx and kxd so that they can be killed at points.
func built(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	out, err := exec.Command("go", "build", "-tags", "urfave_cli_no_docs failpoint", "-o", dir+"/", ".", "../kxd").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// house is a home where something is asked for, allowed and done while
// processes die, and what became of it.
type house struct {
	*testing.T
	bin, home, runtime, state, work, key string

	agent bool
	waits bool   // the caller waits for its answer
	blows []blow // yet to come
	acked map[string]bool
	tried bool // whether anybody was asked to allow anything

	mu   sync.Mutex
	fell []blow // that killed somebody
	told []string
}

// The effect is a line in a file, so that each time counts.
const (
	effect = `{"command":"echo once >> effects"}`
	turns  = `{"calls":[{"tool":"bash","input":` + effect + `}]}` + "\n" + `{"say":"Done."}` + "\n"
)

func newHouse(t *testing.T, bin string) *house {
	t.Helper()
	c := &house{T: t, bin: bin, home: t.TempDir(), acked: map[string]bool{}}
	var err error
	if c.runtime, err = os.MkdirTemp("", "kx"); err != nil { // short: a socket's name has 100 bytes
		t.Fatal(err)
	}
	c.state, c.work = filepath.Join(c.home, "state"), filepath.Join(c.home, "p")
	c.key = filepath.Join(c.state, "approver.key")
	t.Cleanup(func() {
		c.killHost()
		os.RemoveAll(c.runtime)
	})
	if err := errors.Join(os.Mkdir(c.work, 0o700), os.Mkdir(filepath.Join(c.home, "config"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"config/config.toml": "[experimental]\nunsandboxed_bash = true\n\n[approve]\nnotify = \"cat > /dev/null\"\n", "p/turns": turns,
	} {
		if err := os.WriteFile(filepath.Join(c.home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// command is a line of kx that dies at a point, if one is named.
func (c *house) command(point string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, "kx"), args...)
	cmd.Dir = c.work
	cmd.Env = []string{
		"HOME=" + c.home, "PATH=" + os.Getenv("PATH"), "KX_STATE_DIR=" + c.state, "KX_CONFIG_DIR=" + filepath.Join(c.home, "config"), "KX_RUNTIME_DIR=" + c.runtime,
	}
	if point != "" {
		cmd.Env = append(cmd.Env, "KX_FAILPOINT="+point)
	}
	return cmd
}

// The exit status of who was killed, and of who never began.
const (
	killed     = -1
	notStarted = -2
)

// kx runs a line to its end, or to the blow that is for this process.
func (c *house) kx(b blow, args ...string) (exit int, stdout, stderr string) {
	c.Helper()
	var out, errs bytes.Buffer
	point := b.point
	if b.who == host {
		point = ""
	}
	cmd := c.command(point, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		return notStarted, "", err.Error()
	}
	var hostDied atomic.Bool
	if b.after > 0 {
		defer time.AfterFunc(b.after, func() {
			if b.who == host {
				hostDied.Store(c.killHost())
			} else {
				cmd.Process.Kill()
			}
		}).Stop()
	}
	cmd.Wait()
	exit = cmd.ProcessState.ExitCode()
	c.mu.Lock()
	defer c.mu.Unlock()
	if exit == killed || hostDied.Load() {
		c.fell = append(c.fell, b)
	}
	c.told = append(c.told, fmt.Sprintf("[%v] kx %s: %d %.300s", b, strings.Join(args, " "), exit, errs.String()))
	return exit, out.String(), errs.String()
}

// calm runs a line that must succeed and say nothing on stderr.
func (c *house) calm(args ...string) string {
	c.Helper()
	exit, out, errs := c.kx(blow{}, args...)
	if exit != 0 || errs != "" {
		c.fail("kx %s: %d, %s", strings.Join(args, " "), exit, errs)
	}
	return out
}

func (c *house) fail(format string, args ...any) {
	c.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Fatalf(format+"\n%s", append(args, strings.Join(c.told, "\n"))...)
}

// killHost kills the host that the lock of this state directory names.
func (c *house) killHost() bool {
	b, _ := os.ReadFile(filepath.Join(c.state, "approvals/host.lock"))
	pid, _, _ := strings.Cut(string(b), " ")
	n, err := strconv.Atoi(pid)
	if err != nil || n <= 1 {
		return false
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", n))
	return err == nil && bytes.Contains(line, []byte(c.state)) && syscall.Kill(n, syscall.SIGKILL) == nil
}

// next takes the next blow that is for one of these.
func (c *house) next(who ...string) blow {
	i := slices.IndexFunc(c.blows, func(b blow) bool { return slices.Contains(who, b.who) })
	if i < 0 {
		return blow{}
	}
	b := c.blows[i]
	c.blows = slices.Delete(c.blows, i, i+1)
	return b
}

// step takes the call, or the run, one process further. It reports whether it has
// settled.
func (c *house) step() (settled bool) {
	c.Helper()
	ended := make(chan struct{})
	var exit int
	var errs string
	b := c.mine()
	go func() {
		defer close(ended)
		exit, errs = c.call(b)
	}()
	for running := true; running; {
		answer := make(<-chan time.Time)
		if c.waits {
			answer = time.After(5 * time.Millisecond)
		}
		select {
		case <-ended:
			running = false
		case <-answer:
			c.answer()
		}
	}
	if n := c.effects(); n > 0 && !c.tried {
		c.fail("it happened before anybody was asked")
	}
	switch {
	case exit == 0, exit == 7 && strings.Contains(errs, "session_over"):
		return true
	case exit == 4, exit == killed:
		return false
	}
	c.fail("it ends with %d", exit)
	return false
}

// mine is the blow for the next process of the caller. One that waits is both who
// asks and who acts.
func (c *house) mine() blow {
	switch {
	case c.waits:
		return c.next(caller, actor)
	case c.tried:
		return c.next(actor)
	}
	return c.next(caller)
}

// call is one process of the caller.
func (c *house) call(b blow) (exit int, stderr string) {
	first, again := []string{"call", "bash", effect}, []string(nil)
	if c.agent {
		first, again = []string{"agent", "resume", "a"}, []string{"agent", "run", "--script", "turns", "--new-session", "a"}
	}
	if c.waits {
		first, again = append(first, "--wait", "20s"), append(again, "--wait", "20s")
	}
	exit, _, stderr = c.kx(b, first...)
	if c.agent && exit == 8 { // there is no such run yet
		exit, _, stderr = c.kx(b, again...)
	}
	return exit, stderr
}

// answer allows what waits.
func (c *house) answer() {
	c.Helper()
	if _, err := os.Lstat(c.key); err != nil {
		c.calm("config", "path", "approver-key") // which makes it
	}
	for _, id := range c.ids("list") {
		c.tried = true
		b := c.next(approver, host)
		arm := filepath.Join(c.state, "failpoint")
		if b.who == host && b.point != "" {
			c.killHost() // the next one is armed
			if err := os.WriteFile(arm, []byte(b.point), 0o600); err != nil {
				c.Fatal(err)
			}
		}
		exit, _, errs := c.kx(b, "approve", "allow", id, "--key", c.key)
		if b.who == host && b.point != "" {
			if _, err := os.Lstat(arm); errors.Is(err, fs.ErrNotExist) {
				c.mu.Lock()
				c.fell = append(c.fell, b)
				c.mu.Unlock()
			}
			os.Remove(arm)
		}
		switch {
		case exit == 0:
			c.acked[id] = true
		case exit == killed, b.who == host && exit == 5:
		case exit == 7 && strings.Contains(errs, "already_decided"):
		default:
			c.fail("allowing %s ends with %d", id, exit)
		}
	}
}

// ids are the requests that a listing shows.
func (c *house) ids(args ...string) (ids []string) {
	c.Helper()
	for line := range strings.Lines(c.calm(append([]string{"approve"}, args...)...)) {
		var a struct{ ID string }
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			c.fail("%q: %v", line, err)
		}
		ids = append(ids, a.ID)
	}
	return ids
}

func (c *house) effects() int {
	b, err := os.ReadFile(filepath.Join(c.work, "effects"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.Fatal(err)
	}
	return strings.Count(string(b), "once\n")
}

// play goes on as a person would, whatever dies, until the effect was reported.
func (c *house) play() {
	c.Helper()
	for range 8 + 2*len(c.blows) {
		if c.step() {
			c.check()
			return
		}
		c.answer()
	}
	c.fail("it does not settle")
}
