package proc

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// resetAdopt makes the next Run prepare this process again.
func resetAdopt(t *testing.T) {
	t.Helper()
	old := adopt
	again := sync.OnceValue(prepare)
	adopt = again
	t.Cleanup(func() { adopt = old })
}

func TestRunGivesOnlyItsOwnSurroundings(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("KX_SECRET_OF_PARENT", "1")
	leak, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer leak.Close()
	inherited, _, _ := syscall.Syscall(syscall.SYS_FCNTL, leak.Fd(), syscall.F_DUPFD, 50) // as if we had got it from our own parent
	defer syscall.Close(int(inherited))
	resetAdopt(t)

	s := sh(`env -0 | tr '\0' '\n' | grep -v -e ^_= -e ^SHLVL= -e ^PWD=; pwd; ls /proc/self/fd | wc -l; (: < /dev/tty) 2>/dev/null || echo no tty; ps -o sid= -p $$ | tr -d ' '; echo $$`)
	s.Dir = dir
	res := run(t, s)
	lines := strings.Split(strings.TrimSpace(string(res.Stdout)), "\n")
	want := []string{"PATH=/usr/bin:/bin", dir, "4", "no tty"} // 0, 1, 2 and the one of ls itself
	if len(lines) != 6 || !cmp.Equal(want, lines[:4]) {
		t.Fatalf("surroundings: %q, want %q and a session", lines, want)
	}
	if lines[4] != lines[5] {
		t.Errorf("session %s of process %s is not its own", lines[4], lines[5])
	}
}

// Each script leaves something running and writes the pids of it to the file
// $PIDS. Nothing of it may survive Run, and Run may not wait for it.
var leavers = map[string]string{
	"background job":   `sleep 100 & echo $! >>$PIDS`,
	"disowned session": `setsid sh -c 'echo $$ >>$PIDS; exec sleep 100' & disown; until [ -s $PIDS ]; do :; done`,
	"daemon":           `( ( setsid nohup sh -c 'echo $$ >>$PIDS; exec sleep 100' & ) & ) ; until [ -s $PIDS ]; do :; done`,
	"deaf to TERM":     `( trap '' TERM; echo $BASHPID >>$PIDS; while :; do read -t 1 <> <(:); done ) & until [ -s $PIDS ]; do :; done`,
	"stopped":          `sleep 100 & echo $! >>$PIDS; kill -STOP $!`,
	"deep":             `bash -c 'bash -c "setsid bash -c \"echo \\\$\\\$ >>$PIDS; sleep 100\" & sleep 100" & sleep 100' & until [ -s $PIDS ]; do :; done`,
	"own group":        `set -m; sleep 100 & echo $! >>$PIDS`,
}

func TestRunLeavesNothing(t *testing.T) {
	for name, script := range leavers {
		for _, ending := range []string{"returns", "times out"} {
			t.Run(name+" "+ending, func(t *testing.T) {
				pids := filepath.Join(t.TempDir(), "pids")
				ctx := context.Background()
				s := sh(script)
				if ending == "times out" {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, time.Second/2)
					defer cancel()
					s = sh(script + "\nsleep 100; true")
				}
				s.Env = append(s.Env, "PIDS="+pids)
				began := time.Now()
				res, err := Run(ctx, s)
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("it took %v", took)
				}
				if timedOut := ending == "times out"; timedOut != errors.Is(err, context.DeadlineExceeded) || timedOut != res.TimedOut {
					t.Errorf("error %v, timed out %v", err, res.TimedOut)
				}
				if len(res.Left) > 0 {
					t.Errorf("left %v", res.Left)
				}
				b, _ := os.ReadFile(pids)
				if len(bytes.Fields(b)) == 0 {
					t.Fatal("the script started nothing")
				}
				for _, f := range strings.Fields(string(b)) {
					pid, _ := strconv.Atoi(f)
					if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
						t.Errorf("process %d survived: %v", pid, err)
						_ = syscall.Kill(pid, syscall.SIGKILL)
					}
				}
			})
		}
	}
}

// TERM comes first, and reaches also what is stopped: it may clean up.
func TestRunLetsProcessesCleanUp(t *testing.T) {
	for name, stop := range map[string]string{"running": ":", "stopped": "kill -STOP $BASHPID"} {
		s := sh(`( trap 'sleep 0.1; echo cleaned >out; exit' TERM; touch ready; ` + stop + `; while :; do sleep 0.01; done ) & until [ -e ready ]; do :; done`)
		s.Dir = t.TempDir()
		res := run(t, s)
		if out, err := os.ReadFile(filepath.Join(s.Dir, "out")); string(out) != "cleaned\n" || len(res.Left) > 0 {
			t.Errorf("%s: %q %v, left %v", name, out, err, res.Left)
		}
	}
}

// Processes that make new ones all the time are outrun.
func TestRunEndsForkers(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	s := sh(`trap '' TERM; while :; do setsid sleep 0.05 & wait -n; done`)
	if res, err := Run(ctx, s); len(res.Left) > 0 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("left %v, error %v", res.Left, err)
	}
	if left := (&tree{}).alive(); len(left) > 0 {
		t.Errorf("alive: %v", left)
	}
}

func TestRunSparesOtherChildren(t *testing.T) {
	plain := exec.Command("sleep", "100")
	if err := plain.Start(); err != nil {
		t.Fatal(err)
	}
	resident := exec.Command("sleep", "100")
	resident.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := Spawn(resident); err != nil {
		t.Fatal(err)
	}
	run(t, sh("sleep 100 & true"))
	for _, c := range []*exec.Cmd{plain, resident} {
		if err := c.Process.Signal(syscall.Signal(0)); err != nil {
			t.Errorf("%v: %v", c.SysProcAttr, err)
		}
		_ = c.Process.Kill()
		_ = c.Wait()
	}
}
