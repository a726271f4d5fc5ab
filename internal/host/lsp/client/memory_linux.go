package client

import (
	"bytes"
	"os"
	"strconv"
)

// memory is what a process and all that came from it have in memory.
func memory(pid int) int64 {
	dir, err := os.Open("/proc")
	if err != nil {
		return 0
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what could be read counts
	children := map[int][]int{}
	for _, name := range names {
		p, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if parent, ok := parentOf(name); ok {
			children[parent] = append(children[parent], p)
		}
	}
	pages := int64(0)
	for queue := []int{pid}; len(queue) > 0; queue = queue[1:] {
		queue = append(queue, children[queue[0]]...)
		b, err := os.ReadFile("/proc/" + strconv.Itoa(queue[0]) + "/statm")
		if f := bytes.Fields(b); err == nil && len(f) > 1 {
			n, _ := strconv.ParseInt(string(f[1]), 10, 64) // the kernel writes numbers
			pages += n
		}
	}
	return pages * int64(os.Getpagesize())
}

// parentOf reads the parent of a process. Its name stands in parentheses and may hold
// anything, so the fields are counted from the last one.
func parentOf(pid string) (int, bool) {
	b, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0, false
	}
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(f) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(string(f[1]))
	return parent, err == nil
}
