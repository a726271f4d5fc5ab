package proc

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What is ended while it starts processes that start processes leaves none of them.
func TestKillTakesAll(t *testing.T) {
	const mark = "1004.5"
	sleepers := func() (pids []int) {
		for _, p := range list() {
			line, _ := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/cmdline")
			if !p.zombie && strings.Contains(string(line), mark) {
				pids = append(pids, p.pid)
			}
		}
		return pids
	}
	defer func() {
		for _, p := range sleepers() {
			_ = unix.Kill(p, unix.SIGKILL)
		}
	}()
	for range 3 {
		root := exec.Command("/bin/sh", "-c", `for i in $(seq 300); do sh -c "sh -c \"sh -c 'sleep `+mark+`; :'; :\"; :" & done; sleep `+mark)
		if err := root.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(30 * time.Second); len(sleepers()) < 20; {
			if time.Now().After(deadline) {
				t.Fatal("it starts nothing")
			}
		}
		left := Kill(root.Process.Pid)
		_ = root.Wait()
		if strays := sleepers(); len(left) > 0 || len(strays) > 0 {
			t.Errorf("left %v, and astray are %v", left, strays)
		}
	}
}
