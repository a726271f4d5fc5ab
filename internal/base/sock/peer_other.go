//go:build !linux

package sock

import (
	"net"

	"golang.org/x/sys/unix"

	"github.com/kxtools/kx/pkg/wire"
)

// caller is the process at the other end. Nothing holds it here.
type caller struct{ who wire.Decider }

// peer says who is at the other end, as the kernel knows it.
func peer(c *net.UnixConn) (*caller, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	p := &caller{}
	var credErr error
	err = raw.Control(func(fd uintptr) {
		var cred *unix.Xucred
		if cred, credErr = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED); credErr == nil {
			uid := int(cred.Uid)
			p.who.UID = &uid
			p.who.PID, _ = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
		}
	})
	if err == nil {
		err = credErr
	}
	return p, err
}

// alive reports whether the process that connected still lives, as far as its pid
// tells.
func (p *caller) alive() bool { return unix.Kill(p.who.PID, 0) == nil }

func (p *caller) release() {}
