package lineage

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Of reads what the kernel says of a process.
func Of(pid int) (Process, error) {
	p := Process{PID: pid}
	dir := fmt.Sprintf("/proc/%d/", pid)
	stat, err := os.ReadFile(dir + "stat")
	if err != nil {
		return p, err
	}
	if err := p.readStat(stat); err != nil {
		return p, fmt.Errorf("%sstat: %w", dir, err)
	}
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		return p, err
	}
	if err := p.readStatus(status); err != nil {
		return p, fmt.Errorf("%sstatus: %w", dir, err)
	}
	p.Exe, _ = os.Readlink(dir + "exe")
	return p, nil
}

// Self reads what the kernel says of this process. Its pid is the one that /proc
// knows it by, which is another than os.Getpid's in a pid namespace without a
// /proc of its own.
func Self() (Process, error) {
	name, err := os.Readlink("/proc/self")
	if err != nil {
		return Process{}, err
	}
	pid, err := strconv.Atoi(name)
	if err != nil {
		return Process{}, fmt.Errorf("/proc/self is %q", name)
	}
	return Of(pid)
}

// Fields of stat, counted from behind the name in parentheses, which may itself
// hold anything.
const (
	statParent  = 1
	statSession = 3
	statTTY     = 4
	statStart   = 19
)

func (p *Process) readStat(stat []byte) error {
	i := bytes.LastIndex(stat, []byte(") "))
	if i < 0 {
		return fmt.Errorf("it is not understood")
	}
	f := strings.Fields(string(stat[i+2:]))
	if len(f) <= statStart {
		return fmt.Errorf("it has %d fields", len(f))
	}
	if from := bytes.IndexByte(stat[:i], '('); from >= 0 {
		p.Name = string(stat[from+1 : i])
	}
	var err error
	if p.Parent, err = strconv.Atoi(f[statParent]); err != nil {
		return err
	}
	if p.Session, err = strconv.Atoi(f[statSession]); err != nil {
		return err
	}
	dev, err := strconv.Atoi(f[statTTY])
	if err != nil {
		return err
	}
	p.TTY = terminal(uint64(uint32(dev)))
	p.Start, err = strconv.ParseUint(f[statStart], 10, 64)
	return err
}

// Major numbers of pseudo terminals.
const (
	firstPTS = 136
	lastPTS  = 143
)

func terminal(dev uint64) string {
	major, minor := unix.Major(dev), unix.Minor(dev)
	switch {
	case dev == 0:
		return ""
	case major >= firstPTS && major <= lastPTS:
		return fmt.Sprintf("/dev/pts/%d", minor+(major-firstPTS)<<8)
	}
	return fmt.Sprintf("%d:%d", major, minor)
}

func (p *Process) readStatus(status []byte) error {
	seen := 0
	for _, line := range strings.Split(string(status), "\n") {
		key, value, _ := strings.Cut(line, ":")
		fields := strings.Fields(value)
		switch key {
		case "NSpid":
			// The pid as every namespace from here inward has it.
			p.Nested = len(fields) > 1
			seen++
		case "Uid":
			if len(fields) == 0 {
				return fmt.Errorf("it has no Uid")
			}
			var err error
			if p.UID, err = strconv.Atoi(fields[0]); err != nil {
				return err
			}
			seen++
		case "NoNewPrivs":
			p.NoNewPrivs = len(fields) == 1 && fields[0] == "1"
			seen++
		}
	}
	if seen != 3 {
		return fmt.Errorf("it has no Uid, NSpid or NoNewPrivs")
	}
	return nil
}

// Namespace names the namespace of a kind (pid, user, mnt) that a process is in.
func Namespace(pid int, kind string) (string, error) {
	return os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, kind))
}

// Boot names the time since the machine was started, in which pids and start
// times mean something.
func Boot() (string, error) {
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(raw)), err
}

// maxArgs is as much of an argument list as is looked at.
const maxArgs = 4 << 10

// Args returns the first arguments that a process was started with, as it shows
// them.
func Args(pid int) ([]string, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxArgs))
	return strings.Split(strings.TrimSuffix(string(raw), "\x00"), "\x00"), err
}
