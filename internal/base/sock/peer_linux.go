package sock

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/kxtools/kx/pkg/wire"
)

// peer says who is at the other end, as the kernel knows it.
func peer(c *net.UnixConn) (wire.Decider, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return wire.Decider{}, err
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return wire.Decider{}, err
	}
	if credErr != nil {
		return wire.Decider{}, credErr
	}
	uid, pid := int(cred.Uid), int(cred.Pid)
	who := wire.Decider{PID: pid, UID: &uid, TTY: terminal(pid)}
	who.Exe, _ = os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return who, nil
}

// terminal names the controlling terminal of a process, "" if it has none.
func terminal(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The name in parentheses may hold anything; the fields stand behind it.
	_, rest, ok := cutLast(string(stat), ") ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 5 {
		return ""
	}
	dev, err := strconv.Atoi(fields[4])
	if err != nil || dev == 0 {
		return ""
	}
	if major := unix.Major(uint64(dev)); major >= 136 && major <= 143 {
		return fmt.Sprintf("/dev/pts/%d", unix.Minor(uint64(dev))+(major-136)<<8)
	}
	return fmt.Sprintf("%d:%d", unix.Major(uint64(dev)), unix.Minor(uint64(dev)))
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
