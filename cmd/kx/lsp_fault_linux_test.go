package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// codePatience is what a loaded machine may need for what takes a moment.
const codePatience = time.Minute

// codeHouse is a workspace with language servers that do wrong what they are told to.
type codeHouse struct {
	*testing.T
	home, work, runtime, mark string
}

func newCodeHouse(t *testing.T, servers map[string]string) *codeHouse {
	t.Helper()
	runtime, err := os.MkdirTemp("", "kx") // short: a socket's name has 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	c := &codeHouse{T: t, home: t.TempDir(), runtime: runtime, mark: filepath.Base(runtime)}
	c.work = filepath.Join(c.home, "p")
	t.Cleanup(func() {
		c.kx("host", "stop", "--all")
		c.gone()
		os.RemoveAll(runtime)
	})
	for name, text := range map[string]string{"p/.git/HEAD": "ref: refs/heads/main\n", "p/a.fk": "let one\n  use two\nlet two\n", "p/b.fq": "let other\n"} {
		path := filepath.Join(c.home, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	c.configure(servers)
	return c
}

// configure names servers for extensions, each told what to do.
func (c *codeHouse) configure(servers map[string]string) {
	c.Helper()
	var b strings.Builder
	for ext, does := range servers {
		words := strings.Join(append(strings.Fields(does), "says", "ext=."+ext, "version="+c.mark), `", "`)
		fmt.Fprintf(&b, "[lsp_servers.%s]\ncommand = [\"fakelsp\", \"%s\"]\nruns_code = false\nextensions = {\".%s\" = \"%s\"}\n", ext, words, ext, ext)
	}
	dir := filepath.Join(c.home, "config")
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "config.toml"), []byte(b.String()), 0o600)); err != nil {
		c.Fatal(err)
	}
}

func (c *codeHouse) command(args ...string) *exec.Cmd {
	cmd := exec.Command("kx", append(args, "--state-dir", filepath.Join(c.home, "state"), "--config-dir", filepath.Join(c.home, "config"))...)
	cmd.Dir = c.work
	cmd.Env = []string{"HOME=" + c.home, "PATH=" + os.Getenv("PATH"), "XDG_RUNTIME_DIR=" + c.runtime, "LC_ALL=C.UTF-8"}
	return cmd
}

// codeAnswer is what tests look at.
type codeAnswer struct {
	exit                       int
	State, Reason, Hover, Note string
	all                        string
}

func (c *codeHouse) kx(args ...string) codeAnswer { return c.run(c.command(args...)) }

func (c *codeHouse) run(cmd *exec.Cmd) (a codeAnswer) {
	c.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		c.Fatal(err)
	}
	line, _, _ := strings.Cut(out.String(), "\n")
	_ = json.Unmarshal([]byte(line), &a) // what is none has no state
	a.exit, a.all = cmd.ProcessState.ExitCode(), out.String()+errs.String()
	return a
}

// answers expects an answer.
func (c *codeHouse) answers(a codeAnswer, exit int, hover string) {
	c.Helper()
	if a.exit != exit || !strings.Contains(a.Hover, hover) {
		c.Errorf("exit %d, want %d and %q: %s", a.exit, exit, hover, a.all)
	}
}

const askWait = "60s"

func (c *codeHouse) hover(place string) codeAnswer {
	return c.kx("lsp", "hover", place, "--wait", askWait)
}

// log is what the host has written.
func (c *codeHouse) log() string {
	var all []byte
	files, _ := filepath.Glob(filepath.Join(c.home, "state", "hosts", "*.log"))
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			c.Fatal(err)
		}
		all = append(all, b...)
	}
	return string(all)
}

func (c *codeHouse) told(what string) int { return strings.Count(c.log(), "told "+what+`"`) }

func (c *codeHouse) until(what string, ok func() bool) {
	c.Helper()
	for end := time.Now().Add(codePatience); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			c.Fatalf("%s: not in %v\n%s", what, codePatience, c.log())
		}
	}
}

// servers are the processes of this house's servers.
func (c *codeHouse) servers() (pids []int) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, l := range lines {
		b, err := os.ReadFile(l)
		if err == nil && bytes.Contains(b, []byte("version="+c.mark+"\x00")) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(l)))
			pids = append(pids, pid)
		}
	}
	return pids
}

func (c *codeHouse) gone() {
	c.Helper()
	c.until("the servers end", func() bool { return len(c.servers()) == 0 })
}

// host is the process of the host.
func (c *codeHouse) host() int {
	c.Helper()
	locks, _ := filepath.Glob(filepath.Join(c.home, "state", "hosts", "*.lock"))
	if len(locks) != 1 {
		c.Fatalf("%d hosts", len(locks))
	}
	b, err := os.ReadFile(locks[0])
	if err != nil {
		c.Fatal(err)
	}
	word, _, _ := strings.Cut(string(b), " ")
	pid, err := strconv.Atoi(strings.TrimSpace(word))
	if err != nil {
		c.Fatalf("the lock holds %q", b)
	}
	return pid
}

// signal ends the host in some way, and waits until it and its servers are gone.
func (c *codeHouse) signal(s syscall.Signal) {
	c.Helper()
	pid := c.host()
	if err := syscall.Kill(pid, s); err != nil {
		c.Fatal(err)
	}
	c.until("the host ends", func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || bytes.Contains(b, []byte(") Z "))
	})
	c.gone()
}

// However a host ends, its servers end with it, and the next question starts anew.
func TestLanguageHostEnds(t *testing.T) {
	t.Parallel()
	c := newCodeHouse(t, map[string]string{"fk": "child"})
	c.answers(c.hover("a.fk:1:5"), 0, "let one")
	if len(c.servers()) == 0 {
		t.Fatal("the test does not see the server")
	}
	c.signal(syscall.SIGKILL)
	c.answers(c.hover("a.fk:1:5"), 0, "let one")
	if c.told("shutdown") != 0 {
		t.Error("what was killed has said good-bye")
	}
	c.signal(syscall.SIGTERM)
	if c.told("shutdown") != 1 || c.told("exit") > 1 {
		t.Errorf("the server was told shutdown %d times, exit %d times", c.told("shutdown"), c.told("exit"))
	}
	c.configure(map[string]string{"fk": "stays child"})
	c.answers(c.hover("a.fk:1:5"), 0, "let one")
	c.signal(syscall.SIGTERM)

	// The question under way is answered by the next one, or told that there is no answer.
	c.configure(map[string]string{"fk": "silent=textDocument/hover"})
	began := time.Now()
	ended := make(chan codeAnswer)
	go func() { ended <- c.kx("lsp", "hover", "a.fk:1:5", "--wait", "4s") }()
	c.until("the question", func() bool { return c.told("textDocument/hover") >= 4 })
	c.kx("host", "stop", "--all")
	if a := <-ended; a.exit != 124 && a.exit != 5 || time.Since(began) > codePatience {
		t.Errorf("whose host stops: %+v", a)
	}
	c.kx("host", "stop", "--all")
	c.gone()
}

// Another configuration holds for the next question, and ends the server of the old one.
func TestLanguageServerIsConfigured(t *testing.T) {
	t.Parallel()
	c := newCodeHouse(t, map[string]string{"fk": "name=first"})
	a := c.hover("a.fk:1:5")
	c.answers(a, 0, "let one")
	old, host := c.servers(), c.host()
	c.configure(map[string]string{"fk": "name=second"})
	b := c.hover("a.fk:1:5")
	c.answers(b, 0, "let one")
	if !strings.Contains(a.all, `"name":"first"`) || !strings.Contains(b.all, `"name":"second"`) || c.host() != host {
		t.Errorf("%s%s", a.all, b.all)
	}
	c.until("the old server ends", func() bool {
		for _, pid := range old {
			if syscall.Kill(pid, 0) == nil {
				return false
			}
		}
		return true
	})
	// A server under whose question the configuration changes.
	c.configure(map[string]string{"fk": "silent=textDocument/hover"})
	ended := make(chan codeAnswer)
	before := c.told("textDocument/hover")
	go func() { ended <- c.hover("a.fk:1:5") }()
	c.until("the question", func() bool { return c.told("textDocument/hover") > before })
	c.configure(map[string]string{"fk": "name=third"})
	c.answers(c.hover("a.fk:1:5"), 0, "let one")
	c.answers(<-ended, 0, "let one")
}

// Who goes away is not waited for: the server hears of it, and the others go on.
func TestCallersOfLanguageServersGo(t *testing.T) {
	t.Parallel()
	c := newCodeHouse(t, map[string]string{"fk": "silent=textDocument/hover"})
	for i, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		cmd := c.command("lsp", "hover", "a.fk:1:5", "--wait", askWait)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		c.until("the question", func() bool { return c.told("textDocument/hover") == i+1 })
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		want := map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGKILL: -1}[s]
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("%v: exit %d, want %d", s, got, want)
		}
		c.until("$/cancelRequest", func() bool { return c.told("$/cancelRequest") == i+1 })
		if a := c.kx("lsp", "symbols", "a.fk", "--wait", askWait); a.exit != 0 {
			t.Errorf("after %v: %s", s, a.all)
		}
	}
	if n := c.told("initialize"); n != 1 {
		t.Errorf("%d servers were started", n)
	}

	// One that goes while the server loads: the next one finds what was loaded.
	d := newCodeHouse(t, map[string]string{"fk": "loading=3s"})
	cmd := d.command("lsp", "hover", "a.fk:1:5", "--wait", askWait)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d.until("the start", func() bool { return d.told("initialized") == 1 })
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	a := d.kx("lsp", "hover", "a.fk:1:5", "--wait", "0s")
	if a.exit != 124 || !strings.Contains(a.Reason, "still loading the project (") {
		t.Errorf("while it loads: %s", a.all)
	}
	d.answers(d.hover("a.fk:1:5"), 0, "let one")
	d.answers(d.kx("lsp", "hover", "a.fk:1:5", "--wait", "0s"), 0, "let one")
	if n := d.told("initialize"); n != 1 {
		t.Errorf("%d servers were started", n)
	}
}

// Each gets its own answer, in its own time, from one server, whichever is first.
func TestCallersAtOnce(t *testing.T) {
	t.Parallel()
	c := newCodeHouse(t, map[string]string{"fk": "late=200ms"})
	var all sync.WaitGroup
	for i := range 30 {
		all.Go(func() {
			place, want := "a.fk:1:5", "declared at a.fk:1:5"
			if i%2 == 1 {
				place, want = "a.fk:2:7", "declared at a.fk:3:5"
			}
			c.answers(c.hover(place), 0, want)
		})
	}
	all.Wait()
	if n, hosts := c.told("initialize"), strings.Count(c.log(), `"begins"`); n != 1 || hosts != 1 {
		t.Errorf("%d servers, %d hosts", n, hosts)
	}

	d := newCodeHouse(t, map[string]string{"fk": "pairs=textDocument/hover"})
	d.kx("lsp", "symbols", "a.fk", "--wait", askWait)
	all.Go(func() { d.answers(d.hover("a.fk:1:5"), 0, "declared at a.fk:1:5") })
	all.Go(func() { d.answers(d.hover("a.fk:2:7"), 0, "declared at a.fk:3:5") })
	all.Wait()

	e := newCodeHouse(t, map[string]string{"fk": "late=4s"})
	e.kx("lsp", "status")
	all.Go(func() { e.answers(e.hover("a.fk:1:5"), 0, "let one") })
	all.Go(func() { e.answers(e.kx("lsp", "hover", "a.fk:1:5", "--wait", "1s"), 124, "") })
	all.Wait()
}

// A server that ends is started again, the answer says so, and after a few times it is
// left alone with its reason, while those of other languages go on.
func TestLanguageServerCrashes(t *testing.T) {
	t.Parallel()
	c := newCodeHouse(t, map[string]string{"fk": "die=textDocument/definition", "fq": ""})
	const why = "died of textDocument/definition"
	for range 2 { // each asks twice
		if a := c.kx("lsp", "definition", "a.fk:2:7", "--wait", askWait); a.exit != 5 || !strings.Contains(a.Reason, why) {
			t.Errorf("that ends it: %s", a.all)
		}
	}
	a := c.hover("a.fk:1:5")
	if a.exit != 5 || !strings.Contains(a.Reason, why) || !strings.Contains(a.Reason, "3 times") {
		t.Errorf("the last: %s", a.all)
	}
	c.answers(c.hover("b.fq:1:5"), 0, "let other")
	if a := c.kx("lsp", "status"); !strings.Contains(a.all, `"state":"failed"`) || !strings.Contains(a.all, why) || !strings.Contains(a.all, `"state":"ready"`) {
		t.Errorf("status: %s", a.all)
	}
	a = c.kx("lsp", "doctor", "fk")
	var check struct{ Hint string }
	if err := json.Unmarshal([]byte(a.all), &check); err != nil || a.exit != 5 || !strings.Contains(a.all, why) {
		t.Errorf("doctor: %v %s", err, a.all)
	}
	if words := strings.Fields(check.Hint); !strings.HasPrefix(check.Hint, "kx host stop lsp-") || c.kx(words[1:]...).exit != 0 {
		t.Errorf("doctor says %q", check.Hint)
	}
	if a := c.kx("lsp", "symbols", "a.fk", "--wait", askWait); a.exit != 0 || a.State != "ok" {
		t.Errorf("after that: %s", a.all)
	}

	d := newCodeHouse(t, map[string]string{"fk": "exit=9", "fq": ""})
	for _, args := range [][]string{{"hover", "a.fk:1:5", "--wait", askWait}, {"doctor", "fk"}, {"status"}} {
		a := d.kx(append([]string{"lsp"}, args...)...)
		if !strings.Contains(a.all, "exit status 9") || !strings.Contains(a.all, "it can't start, as it was told") || args[0] == "hover" && a.exit != 5 {
			t.Errorf("%s: exit %d, %s", args[0], a.exit, a.all)
		}
	}
	d.answers(d.hover("b.fq:1:5"), 0, "let other")

	// Killed between two questions.
	old := d.servers()
	if len(old) == 0 {
		t.Fatal("no server runs")
	}
	for _, pid := range old {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	a = d.hover("b.fq:1:5")
	d.answers(a, 0, "let other")
	if !strings.Contains(a.Note, "started again") {
		t.Errorf("no word of it: %s", a.all)
	}
}

// What a server says too much of, or never, fills nothing and stops nobody else.
func TestLanguageServerFloods(t *testing.T) {
	t.Parallel()
	c := newCodeHouse(t, map[string]string{"fk": "flood=20000", "fq": "big=20000000"})
	c.kx("lsp", "hover", "a.fk:1:5", "--wait", "8s") // it says that it works and works
	a := c.kx("lsp", "hover", "b.fq:1:5", "--wait", askWait)
	if a.exit != 0 || len(a.Hover) > 100_000 || !strings.Contains(a.all, `"truncated":true`) {
		t.Errorf("20 MB: exit %d, %d characters", a.exit, len(a.Hover))
	}
	if n := len(c.log()); n > 1<<20 {
		t.Errorf("the log has %d bytes", n)
	}
	var host struct {
		Memory int64 `json:"memory_bytes"`
	}
	out := c.kx("host", "list")
	if err := json.Unmarshal([]byte(out.all), &host); err != nil || host.Memory == 0 || host.Memory > 600<<20 {
		t.Errorf("the host has %d bytes in memory: %v, %s", host.Memory, err, out.all)
	}
	for _, does := range []string{"deaf", "half", "mute"} {
		c.configure(map[string]string{"fk": does, "fq": ""})
		began := time.Now()
		if a := c.kx("lsp", "hover", "a.fk:1:5", "--wait", "1s"); a.exit != 124 || time.Since(began) > codePatience/2 {
			t.Errorf("%s: exit %d after %v: %s", does, a.exit, time.Since(began), a.all)
		}
		c.answers(c.hover("b.fq:1:5"), 0, "let other")
	}
	for does, want := range map[string]string{"garbage=hello": "hello", "huge": "1073741824 bytes", "refuse=never": "never"} {
		c.configure(map[string]string{"fk": does, "fq": ""})
		if a := c.hover("a.fk:1:5"); a.exit != 5 || !strings.Contains(a.Reason, want) {
			t.Errorf("%s: %s", does, a.all)
		}
	}
}
