package sock

import (
	"errors"
	"net"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/kxtools/kx/internal/base/lineage"
	"github.com/kxtools/kx/pkg/wire"
)

// soPeerPIDFD is SO_PEERPIDFD, of Linux 6.5 and later.
const soPeerPIDFD = 77

// caller is the process at the other end, held by a pidfd: its pid may be given to
// another process once it has ended, the pidfd stays with the first.
type caller struct {
	who wire.Decider

	mu sync.Mutex
	fd int // below 0 when there is nothing to hold
}

// peer says who is at the other end, as the kernel knows it.
func peer(c *net.UnixConn) (*caller, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	p := &caller{fd: -1}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		if cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); credErr == nil {
			p.fd = hold(int(fd), int(cred.Pid))
		}
	}); err != nil {
		return nil, err
	}
	if credErr != nil {
		return nil, credErr
	}
	uid := int(cred.Uid)
	p.who = wire.Decider{PID: int(cred.Pid), UID: &uid}
	if l, err := lineage.Of(p.who.PID); err == nil {
		p.who.TTY, p.who.Exe = l.TTY, l.Exe
	}
	return p, nil
}

// hold returns a pidfd of the peer, -1 if there is none to have: it ended already.
func hold(conn, pid int) int {
	fd, err := unix.GetsockoptInt(conn, unix.SOL_SOCKET, soPeerPIDFD)
	if errors.Is(err, unix.ENOPROTOOPT) { // an older kernel, which leaves the moment since connect open
		fd, err = unix.PidfdOpen(pid, 0)
	}
	if err != nil {
		return -1
	}
	return fd
}

// alive reports whether the process that connected still lives.
func (p *caller) alive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fd < 0 {
		return false
	}
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}, 0)
		if !errors.Is(err, unix.EINTR) {
			return err == nil && n == 0 // it is readable once the process has ended
		}
	}
}

// release ends the hold.
func (p *caller) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fd >= 0 {
		unix.Close(p.fd)
		p.fd = -1
	}
}
