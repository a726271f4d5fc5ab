// Package lineage tells what a process is and from whom it descends. A pid alone
// names nothing for long, so a process is known by its pid and the moment it
// started. What can't be read is an error: who asks decides about rights.
package lineage

import (
	"errors"
	"fmt"
)

// ErrUnknown says that this system does not tell about processes.
var ErrUnknown = errors.New("this system does not tell from whom a process descends")

// Process is a process at one moment.
type Process struct {
	PID        int
	Parent     int
	Start      uint64 // clock ticks from the boot to its start
	Session    int    // pid of its session's leader
	TTY        string // its controlling terminal, "" if it has none
	Exe        string // "" if it can't be read
	NoNewPrivs bool   // set in every sandbox, and never taken back
	Nested     bool   // it lives in a pid namespace below this process's
}

// maxDepth ends a walk: no tree of processes is that deep, but one that changes
// under the walk might look like a circle.
const maxDepth = 512

// Ancestors returns the process and all that it descends from, itself first.
func Ancestors(pid int) ([]Process, error) {
	var list []Process
	for pid > 0 {
		p, err := Of(pid)
		if err != nil {
			return nil, err
		}
		if list = append(list, p); len(list) > maxDepth {
			return nil, fmt.Errorf("process %d has more than %d ancestors", list[0].PID, maxDepth)
		}
		pid = p.Parent
	}
	return list, nil
}
