package jail

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// ambient are the capabilities in the new user namespace that the first process
// needs after its exec: those of the owner of files are for overlay mounts.
var ambient = []uintptr{
	unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_NET_ADMIN, unix.CAP_DAC_OVERRIDE,
	unix.CAP_DAC_READ_SEARCH, unix.CAP_FOWNER, unix.CAP_CHOWN,
}

// Cell is a plan on its way to a process.
type Cell struct {
	plan     []byte
	theirs   []*os.File // of the child
	spec     *os.File
	lifeline *os.File // closed when the process that started it ends
	report   *os.File
}

// The descriptors of the first process.
const (
	specFD = 3 + iota
	lifelineFD
	reportFD
)

// Prepare makes cmd one that runs p; its streams and environment are for the
// caller. Started is to be called when cmd has been started or could not be, then
// Report when it has ended.
func Prepare(cmd *exec.Cmd, p *Plan) (*Cell, error) {
	raw, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	c := &Cell{plan: raw}
	for _, end := range []struct {
		ours    **os.File
		weWrite bool
	}{{&c.spec, true}, {&c.lifeline, true}, {&c.report, false}} {
		r, w, err := os.Pipe()
		if err != nil {
			c.Started(nil)
			return nil, err
		}
		if end.weWrite {
			*end.ours, c.theirs = w, append(c.theirs, r)
		} else {
			*end.ours, c.theirs = r, append(c.theirs, w)
		}
	}
	cmd.Path, cmd.Args = "/proc/self/exe", []string{Name}
	if p.Kind != Full { // else it is entered behind the walls, where it may be another one
		cmd.Dir = p.Dir
	}
	cmd.ExtraFiles = c.theirs
	attr := &syscall.SysProcAttr{Setsid: true}
	if p.Kind == Full {
		attr.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC
		if !p.Network {
			attr.Cloneflags |= unix.CLONE_NEWNET
		}
		// The ids stay what they are: owners of files, git and ~ come out right.
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		attr.AmbientCaps = ambient
	}
	cmd.SysProcAttr = attr
	return c, nil
}

// Started hands the plan over, or gives up if err says that there is no process.
func (c *Cell) Started(err error) {
	for _, f := range c.theirs {
		f.Close()
	}
	if err != nil || c.report == nil {
		for _, f := range []*os.File{c.spec, c.lifeline, c.report} {
			if f != nil {
				f.Close()
			}
		}
		return
	}
	go func() {
		_, _ = c.spec.Write(c.plan) // that it was not read shows in the report
		c.spec.Close()
	}()
}

// Report returns how the program ended, or why it was not started. Without a
// report the first process was killed.
func (c *Cell) Report() (r Report, ok bool) {
	defer c.lifeline.Close()
	defer c.report.Close()
	ok = json.NewDecoder(io.LimitReader(c.report, 64<<10)).Decode(&r) == nil
	return r, ok
}

// Err is the failure of a report.
func (r Report) Err() error {
	switch {
	case r.Failed == "":
		return nil
	case r.Errno != 0:
		return fmt.Errorf("%s: %w", r.Failed, unix.Errno(r.Errno))
	}
	return errors.New(r.Failed)
}
