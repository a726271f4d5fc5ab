package proc

import (
	"bytes"
	"errors"
	"math"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// adopt is prepare, once.
var adopt = sync.OnceValue(prepare)

// prepare makes this process the parent of every orphan of a command, and
// closes to its children what it has itself inherited.
func prepare() error {
	if err := unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC); err != nil && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EINVAL) {
		return err // kernels before 5.11 don't know it
	}
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// spawned are the children that shall outlive commands, by pid and the time
// they started, which tells a pid that was given out again.
var spawned = struct {
	sync.Mutex
	since map[int]string
}{since: map[int]string{}}

// Spawn starts cmd as a child that no command's end may touch. A child that
// has no session of its own doesn't need it.
func Spawn(cmd *exec.Cmd) error {
	spawned.Lock() // no list is made between the start and the note of it
	defer spawned.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	if p, ok := readStat(cmd.Process.Pid); ok {
		spawned.since[p.pid] = p.start
	}
	return nil
}

// mortal has the kernel end a child with the process that started it.
func mortal(attr *syscall.SysProcAttr) { attr.Pdeathsig = unix.SIGKILL }

// forget makes a child of Spawn one that is ended like a command's.
func forget(pid int) {
	spawned.Lock()
	defer spawned.Unlock()
	delete(spawned.since, pid)
}

// tree is everything that came from a command: all descendants of this process
// except the children of its own session and of those of Spawn, with theirs. A
// command can't leave: its orphans become our children, and no process can
// join a session that it doesn't come from.
type tree struct{ leader int }

type process struct {
	pid, parent, session int
	zombie               bool
	start                string
}

// alive lists the tree. Orphans that have ended are reaped on the way.
func (t *tree) alive() []int {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT|unix.WALL, nil)
	if errors.Is(err, unix.ECHILD) {
		return nil // without children there are no descendants, and no need for a walk
	}
	spawned.Lock()
	defer spawned.Unlock()
	self := os.Getpid()
	session, _ := unix.Getsid(0)
	all := list()
	if len(all) == 0 && unix.Kill(-t.leader, 0) == nil {
		return []int{-t.leader} // no /proc here: the process group is what can be named
	}
	others := map[int]bool{session: true} // sessions that are no command's
	for _, p := range all {
		if spawned.since[p.pid] == p.start {
			others[p.session] = true
		}
	}
	children := map[int][]process{}
	for _, p := range all {
		if p.parent == self && others[p.session] {
			continue
		}
		children[p.parent] = append(children[p.parent], p)
	}
	var pids []int
	for queue := []int{self}; len(queue) > 0; queue = queue[1:] {
		for _, p := range children[queue[0]] {
			queue = append(queue, p.pid)
			switch {
			case !p.zombie:
				pids = append(pids, p.pid)
			case p.parent != self:
				pids = append(pids, p.pid) // its parent reaps it, or we do after that
			case p.pid != t.leader:
				_, _ = unix.Wait4(p.pid, nil, unix.WNOHANG, nil)
			}
		}
	}
	return pids
}

// signal sends sig to the whole tree as it is now.
func (t *tree) signal(sig unix.Signal) {
	for _, pid := range t.alive() {
		_ = unix.Kill(pid, sig) // gone already, or not ours to end: alive tells
	}
}

// list reads the process table.
func list() []process {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var all []process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, ok := readStat(pid); ok {
			all = append(all, p)
		}
	}
	return all
}

// readStat reads one process. Its name stands in parentheses and may hold
// anything, so the fields are counted from the last one.
func readStat(pid int) (process, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	const state, parent, session, start = 0, 1, 3, 19
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(f) <= start {
		return process{}, false
	}
	p := process{pid: pid, zombie: f[state][0] == 'Z' || f[state][0] == 'X', start: string(f[start])}
	p.parent, _ = strconv.Atoi(string(f[parent]))
	p.session, _ = strconv.Atoi(string(f[session]))
	return p, true
}
