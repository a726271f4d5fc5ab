//go:build !linux

package sock

import (
	"net"

	"golang.org/x/sys/unix"

	"github.com/kxtools/kx/pkg/wire"
)

// peer says who is at the other end, as the kernel knows it.
func peer(c *net.UnixConn) (wire.Decider, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return wire.Decider{}, err
	}
	var who wire.Decider
	var credErr error
	err = raw.Control(func(fd uintptr) {
		var cred *unix.Xucred
		if cred, credErr = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED); credErr == nil {
			uid := int(cred.Uid)
			who.UID = &uid
			who.PID, _ = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
		}
	})
	if err == nil {
		err = credErr
	}
	return who, err
}
