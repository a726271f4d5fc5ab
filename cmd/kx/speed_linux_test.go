package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// world is a home of its own for benchmarks of whole processes.
type world struct {
	b        *testing.B
	bin, dir string
	env      []string
}

func newWorld(b *testing.B) *world {
	w := &world{b: b, bin: b.TempDir()}
	for _, name := range []string{"kx", "kxd"} {
		cmd := exec.Command("go", "build", "-tags", "urfave_cli_no_docs", "-ldflags", "-s -w", "-o", filepath.Join(w.bin, name), "../"+name)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
	var err error
	if w.dir, err = os.MkdirTemp("", "kx"); err != nil { // short: a socket's name has 100 bytes
		b.Fatal(err)
	}
	w.env = append(os.Environ(), "HOME="+w.dir, "KX_STATE_DIR="+filepath.Join(w.dir, "state"),
		"KX_CONFIG_DIR="+filepath.Join(w.dir, "config"), "KX_RUNTIME_DIR="+filepath.Join(w.dir, "run"))
	b.Cleanup(func() {
		endHost(filepath.Join(w.dir, "state/approvals/host.lock"), w.dir)
		os.RemoveAll(w.dir)
	})
	return w
}

// folder makes a workspace.
func (w *world) folder(name string) string {
	dir := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Join(dir, ".git"), 0o700); err != nil {
		w.b.Fatal(err)
	}
	return dir
}

func (w *world) kx(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(w.bin, "kx"), args...)
	cmd.Dir, cmd.Env = dir, w.env
	return cmd
}

func (w *world) say(cmd *exec.Cmd) string {
	out, _ := cmd.Output() // a pending call exits with 4
	return strings.TrimSpace(string(out))
}

// report prints the median of what was measured, which says more than the mean.
func report(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "median-ms")
}

// BenchmarkAllowToStart takes the time from typing kx approve allow until the
// command that waited for it runs. The start of the approver's kx and that of the
// shell are in it.
func BenchmarkAllowToStart(b *testing.B) {
	w := newWorld(b)
	dir := w.folder("p")
	key := w.say(w.kx(dir, "config", "path", "approver-key"))
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		cmd := w.kx(dir, "call", "bash", fmt.Sprintf(`{"command":"echo $EPOCHREALTIME; : %d"}`, i), "--wait", "30s", "--json")
		var out strings.Builder
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		id := ""
		for id == "" {
			var a struct{ ID string }
			json.Unmarshal([]byte(w.say(w.kx(dir, "approve", "list", "-o", "jsonl"))), &a)
			id = a.ID
		}
		begin := time.Now()
		w.say(w.kx(dir, "approve", "allow", id, "--key", key))
		if err := cmd.Wait(); err != nil {
			b.Fatal(err, out.String())
		}
		var r struct{ Output struct{ Stdout string } }
		if err := json.Unmarshal([]byte(out.String()), &r); err != nil {
			b.Fatal(err)
		}
		at, err := strconv.ParseFloat(strings.TrimSpace(r.Output.Stdout), 64)
		if err != nil {
			b.Fatal(err)
		}
		took = append(took, time.UnixMicro(int64(at*1e6)).Sub(begin))
	}
	report(b, took)
}

// BenchmarkList1000 lists 1,000 requests, those of 20 workspaces.
func BenchmarkList1000(b *testing.B) {
	w := newWorld(b)
	var calls strings.Builder
	for i := range 50 {
		fmt.Fprintf(&calls, `{"tool":"write_file","input":{"path":"f%d","content":"x"}}`+"\n", i)
	}
	for i := range 20 {
		cmd := w.kx(w.folder(fmt.Sprint("p", i)), "call", "-")
		cmd.Stdin = strings.NewReader(calls.String())
		w.say(cmd)
	}
	var took []time.Duration
	for b.Loop() {
		begin := time.Now()
		out := w.say(w.kx(w.dir, "approve", "list", "-o", "jsonl"))
		took = append(took, time.Since(begin))
		if n := strings.Count(out, "\n") + 1; n != 1000 {
			b.Fatalf("%d requests", n)
		}
	}
	report(b, took)
}
