// Package lineage tells what a process is and from whom it descends. A pid alone
// names nothing for long, so a process is known by its pid and the moment it
// started. What can't be read is an error: who asks decides about rights.
package lineage

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// ErrUnknown says that this system does not tell about processes.
var ErrUnknown = errors.New("this system does not tell from whom a process descends")

// Process is a process at one moment.
type Process struct {
	PID        int
	Parent     int
	UID        int    // real user
	Name       string // as the kernel lists it; a process may call itself anything
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

// walks is how often a walk is begun that a dying ancestor broke off. Each death
// breaks one, and who makes more of them than this is up to something.
const walks = 8

// errChanged says that the tree was another one at the end of a walk.
var errChanged = errors.New("its ancestors change while they are read")

// Ancestors returns the process and all that it descends from, itself first. An
// ancestor that this process may not see is an error: what it descends from in
// turn is not known.
func Ancestors(pid int) ([]Process, error) {
	var list []Process
	var err error
	for range walks {
		list, err = walk(pid, Of)
		if !errors.Is(err, errChanged) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ESRCH) {
			break
		}
	}
	return list, err
}

// walk goes up once. A parent that started after its child is another process,
// which got the pid of the parent that died.
func walk(pid int, of func(int) (Process, error)) ([]Process, error) {
	var list []Process
	for pid > 0 {
		p, err := of(pid)
		if err != nil {
			return nil, err
		}
		if len(list) > 0 && p.Start > list[len(list)-1].Start {
			return nil, errChanged
		}
		if list = append(list, p); len(list) > maxDepth {
			return nil, fmt.Errorf("process %d has more than %d ancestors", list[0].PID, maxDepth)
		}
		pid = p.Parent
	}
	return list, nil
}
