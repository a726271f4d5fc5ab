package jail

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// nodes are the devices of a minimal /dev.
var nodes = []string{"null", "zero", "full", "random", "urandom", "tty"}

// mountDev gives the program terminals and shared memory of its own, so that it
// sees those of nobody else.
func (p *Plan) mountDev() error {
	if p.Minimal {
		if err := minimalDev(); err != nil {
			return err
		}
	}
	if err := unix.Mount("devpts", "/dev/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620"); err != nil {
		return at("mount /dev/pts", err)
	}
	if err := unix.Mount("/dev/pts/ptmx", "/dev/ptmx", "", unix.MS_BIND, ""); err != nil {
		return at("bind /dev/ptmx", err)
	}
	if _, err := os.Stat("/dev/shm"); err != nil {
		return nil
	}
	return at("mount /dev/shm", unix.Mount("tmpfs", "/dev/shm", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777"))
}

// minimalDev replaces /dev by one that has no disks: the superuser could read them.
func minimalDev() error {
	fds := make([]int, len(nodes))
	for i, n := range nodes {
		fd, err := unix.OpenTree(unix.AT_FDCWD, "/dev/"+n, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err != nil {
			return at("clone /dev/"+n, err)
		}
		fds[i] = fd
	}
	if err := unix.Mount("tmpfs", "/dev", "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC, "mode=0755"); err != nil {
		return at("mount /dev", err)
	}
	for i, n := range append(append([]string{}, nodes...), "ptmx") {
		f, err := os.OpenFile("/dev/"+n, os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		f.Close()
		if i == len(fds) {
			break // bound by mountDev
		}
		if err := (&detached{fds[i], "/dev/" + n}).place(); err != nil {
			return at("mount /dev/"+n, err)
		}
	}
	for _, dir := range []string{"/dev/pts", "/dev/shm"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	for name, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"} {
		if err := os.Symlink(to, "/dev/"+name); err != nil {
			return err
		}
	}
	return unix.MountSetattr(unix.AT_FDCWD, "/dev", 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// mountProc shows the processes of the namespace and no others. A kernel refuses
// that where something is mounted over a part of /proc, as in containers: then
// the old one stays, of which the user namespace lets nothing be read that counts.
func (p *builder) mountProc() error {
	flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC)
	if p.Minimal {
		flags |= unix.MS_RDONLY
	}
	err := unix.Mount("proc", "/proc", "proc", flags, "")
	if p.ownProc = err == nil; errors.Is(err, unix.EPERM) {
		return nil
	}
	return err
}
