package proc

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// family returns a process and all that descends from it, as they are now.
func family(pid int) []int {
	children := map[int][]int{}
	found := false
	for _, p := range list() {
		if !p.zombie {
			children[p.parent] = append(children[p.parent], p.pid)
			found = found || p.pid == pid
		}
	}
	if !found {
		return nil
	}
	pids := []int{pid}
	for i := 0; i < len(pids); i++ {
		pids = append(pids, children[pids[i]]...)
	}
	return pids
}

// Memory is how much of the memory of the machine a process has with all that
// descends from it, in bytes. What they share counts for each.
func Memory(pid int) int64 {
	var pages int64
	for _, p := range family(pid) {
		b, _ := os.ReadFile("/proc/" + strconv.Itoa(p) + "/statm") // one that has ended has none
		if f := bytes.Fields(b); len(f) > 1 {
			n, _ := strconv.ParseInt(string(f[1]), 10, 64)
			pages += n
		}
	}
	return pages * int64(os.Getpagesize())
}

// Kill ends a process of somebody else with all that descends from it, at once, and
// returns what it could not end.
func Kill(pid int) (left []int) {
	for deadline := time.Now().Add(giveUp); ; time.Sleep(time.Millisecond) {
		for _, sig := range []unix.Signal{unix.SIGSTOP, unix.SIGKILL} { // what is stopped can't fork between the list and the KILL
			for _, p := range family(pid) {
				_ = unix.Kill(p, sig) // gone already, or not ours to end: the next list tells
			}
		}
		if left = family(pid); len(left) == 0 || !time.Now().Before(deadline) {
			return left
		}
	}
}
