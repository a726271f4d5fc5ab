package proc

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// family returns a process and all that descends from it, as they are now.
func family(pid int) []process {
	var all []process
	children := map[int][]process{}
	for _, p := range list() {
		switch {
		case p.zombie:
		case p.pid == pid:
			all = append(all, p)
		default:
			children[p.parent] = append(children[p.parent], p)
		}
	}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i].pid]...)
	}
	return all
}

// Memory is how much of the memory of the machine a process has with all that
// descends from it, in bytes. What they share counts for each.
func Memory(pid int) int64 {
	var pages int64
	for _, p := range family(pid) {
		b, _ := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/statm") // one that has ended has none
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
	all := freeze(pid)
	for deadline := time.Now().Add(giveUp); ; time.Sleep(time.Millisecond) {
		left = nil
		for _, p := range all {
			if now, ok := readStat(p.pid); ok && !now.zombie && now.start == p.start {
				_ = unix.Kill(p.pid, unix.SIGKILL) // gone already, or not ours to end: the next look tells
				left = append(left, p.pid)
			}
		}
		if len(left) == 0 || !time.Now().Before(deadline) {
			return left
		}
	}
}

// freeze stops a process and all that descends from it: when a look finds nobody new,
// nobody is left who could start one.
func freeze(pid int) []process {
	var all []process
	known := map[int]bool{}
	deadline := time.Now().Add(giveUp)
	for fresh := true; fresh && time.Now().Before(deadline); {
		fresh = false
		for _, p := range family(pid) {
			if !known[p.pid] {
				_ = unix.Kill(p.pid, unix.SIGSTOP)
				all, known[p.pid], fresh = append(all, p), true, true
			}
		}
	}
	return all
}
