package proc

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// KillAll ends commands and children with what they left, whatever they do against
// it, and leaves alone who shall outlive them.
func TestKillAll(t *testing.T) {
	const deaf = "trap '' INT TERM HUP; (setsid sh -c 'trap \"\" TERM; echo $$ >>$PIDS; sleep 100' &) ; echo $$ >>$PIDS; sleep 100; sleep 100"
	pids := filepath.Join(t.TempDir(), "pids")
	env := []string{"PATH=/usr/bin:/bin", "PIDS=" + pids}
	outlives := exec.Command("/bin/sleep", "100")
	outlives.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	child := exec.Command("bash", "-c", deaf)
	child.Env = env
	if err := Spawn(outlives); err != nil {
		t.Fatal(err)
	}
	defer outlives.Process.Kill()
	detached := exec.Command("/bin/sleep", "101")
	if _, err := Detach(detached); err != nil {
		t.Fatal(err)
	}
	defer detached.Process.Kill()
	started, err := Start(child, nil)
	if err != nil {
		t.Fatal(err)
	}
	waited := make(chan error, 1)
	go func() { waited <- child.Wait() }()
	ran := make(chan Result, 1)
	go func() {
		res, _ := Run(context.Background(), Spec{Argv: []string{"/bin/bash", "-c", deaf}, Dir: "/", Env: env})
		ran <- res
	}()
	var list []string
	for deadline := time.Now().Add(30 * time.Second); len(list) < 4; time.Sleep(5 * time.Millisecond) {
		b, _ := os.ReadFile(pids)
		if list = strings.Fields(string(b)); time.Now().After(deadline) {
			t.Fatalf("only %q run", list)
		}
	}
	KillAll()
	for _, f := range list {
		pid, _ := strconv.Atoi(f)
		if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
			t.Errorf("process %d survived: %v", pid, err)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	if res := <-ran; res.Signal != "SIGKILL" {
		t.Errorf("the command ended with %+v", res)
	}
	<-waited
	if left := started.End(); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	for _, cmd := range []*exec.Cmd{outlives, detached} {
		if p, ok := readStat(cmd.Process.Pid); !ok || p.zombie {
			t.Errorf("who should outlive it has ended: %q", cmd.Args)
		}
	}
	leaders.Range(func(pid, _ any) bool { t.Errorf("process %v is still known", pid); return true })
}
