package jail

import (
	"golang.org/x/sys/unix"
)

// loopback lets programs talk to themselves where there is no other network.
func (p *Plan) loopback() error {
	if p.Network {
		return nil
	}
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	ifr.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, ifr)
}

// ownKeyring leaves the session keyring of the user behind. A kernel without
// keyrings has nothing to leave.
func ownKeyring() error {
	_, _, no := unix.Syscall(unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0)
	if no == 0 || no == unix.ENOSYS || no == unix.EPERM || no == unix.EDQUOT {
		return nil
	}
	return no
}

// dropCapabilities takes the capabilities from all threads of this process, and
// from whatever the calling one executes for the superuser.
func dropCapabilities() error {
	// SECBIT_ NOROOT, NO_SETUID_FIXUP and NO_CAP_AMBIENT_RAISE, each with its
	// lock (linux/securebits.h). KEEP_CAPS stays open: ping sets it.
	const bits = 1<<0 | 1<<1 | 1<<2 | 1<<3 | 1<<6 | 1<<7
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return at("clear ambient capabilities", err)
	}
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, bits, 0, 0, 0); err != nil {
		return at("lock capabilities out", err)
	}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return at("drop capabilities", everyThread(unix.SYS_CAPSET, pointer(&hdr), pointer(&none[0]), 0))
}
