package jail

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// builder builds the walls of a plan.
type builder struct {
	*Plan
	exposed []detached // wait for the masks
	ownProc bool
}

// build makes the walls, in the order in which one needs the other.
func (p *builder) build() error {
	for _, s := range []struct {
		what string
		do   func() error
	}{
		{"keep mounts to itself", keepMounts},
		{"mount what can be written", p.mountFiles},
		{"mask", p.mask},
		{"mount /dev", p.mountDev},
		{"mount /proc", p.mountProc},
		{"enter " + p.Dir, func() error { return unix.Chdir(p.Dir) }},
		{"bring the loopback up", p.loopback},
		{"take a keyring of its own", ownKeyring},
		{"forbid core dumps", func() error { return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) }},
		{"close itself to its children", func() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }},
	} {
		err := s.do()
		var inner *step
		if err != nil && !errors.As(err, &inner) {
			err = at(s.what, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// keepMounts cuts the mounts off from those outside: whatever is mounted there
// later would appear on top of a mask.
func keepMounts() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") }

// detached is a mount that waits for its place.
type detached struct {
	fd     int
	target string
}

// mountFiles makes everything read-only, except for what the plan lists. Clones
// and layers are made before, since they would be read-only too.
func (p *builder) mountFiles() error {
	ready, err := p.prepare()
	if err != nil {
		return err
	}
	for _, path := range p.Exposed {
		if fd, err := clone(path, true); err == nil {
			p.exposed = append(p.exposed, detached{fd, path})
		}
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID}); err != nil {
		return at("make everything read-only", err)
	}
	for _, m := range ready {
		if err := m.place(); err != nil {
			return at("mount "+m.target, err)
		}
	}
	for _, dir := range p.Pinned {
		if err := rebind(dir, false); err != nil {
			return at("pin "+dir, err)
		}
	}
	for _, path := range p.Fixed {
		if err := rebind(path, true); err != nil {
			return at("keep "+path, err)
		}
	}
	return nil
}

// prepare makes the mounts of the plan, all at once: a layer takes its time.
func (p *Plan) prepare() ([]detached, error) {
	ready, errs := make([]detached, len(p.Mounts)), make([]error, len(p.Mounts))
	var wg sync.WaitGroup
	for i, m := range p.Mounts {
		ready[i].target = m.Target
		if m.Upper == "" {
			ready[i].fd, errs[i] = clone(m.Source, m.ReadOnly)
			continue
		}
		wg.Go(func() { ready[i].fd, errs[i] = m.layer() })
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			return nil, at("clone "+p.Mounts[i].Source, err)
		}
	}
	return ready, nil
}

// place puts a mount where it belongs. Inside of a folder that another mount has
// replaced there is no such place yet.
func (m *detached) place() error {
	defer unix.Close(m.fd)
	err := unix.MoveMount(m.fd, "", unix.AT_FDCWD, m.target, unix.MOVE_MOUNT_F_EMPTY_PATH)
	if !errors.Is(err, unix.ENOENT) {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(m.fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		err = os.MkdirAll(m.target, 0o755)
	} else if err = os.MkdirAll(filepath.Dir(m.target), 0o755); err == nil {
		var f *os.File
		if f, err = os.OpenFile(m.target, os.O_CREATE|os.O_RDONLY, 0o600); err == nil {
			f.Close()
		}
	}
	if err != nil {
		return err
	}
	return unix.MoveMount(m.fd, "", unix.AT_FDCWD, m.target, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// clone copies the mounts at a path, into no place yet. A symbolic link was not
// there when the plan was made, and leads nowhere.
func clone(path string, readOnly bool) (int, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_SYMLINK_NOFOLLOW)
	if err != nil || !readOnly {
		return fd, err
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID}); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// rebind mounts a path on itself, which can't be moved or removed then. What is
// gone by now needs no such care.
func rebind(path string, readOnly bool) error {
	fd, err := clone(path, readOnly)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.MoveMount(fd, "", unix.AT_FDCWD, path, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// layer mounts the source with changes on top, in no place yet.
func (m *Mount) layer() (fd int, err error) {
	fsfd, err := unix.Fsopen("overlay", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fsfd)
	for _, o := range [][2]string{{"lowerdir", escapeLower(m.Source)}, {"upperdir", m.Upper}, {"workdir", m.Work}} {
		if err := unix.FsconfigSetString(fsfd, o[0], o[1]); err != nil {
			return -1, err
		}
	}
	// Without volatile the end of every command would wait for all that is still to
	// be written to the disk, whoever wrote it. What a crash of the machine may leave
	// is what it leaves of any cache; the mark that it might have is taken off.
	if err := unmark(filepath.Join(m.Work, "work/incompat")); err != nil {
		return -1, err
	}
	for _, flag := range []string{"userxattr", "volatile"} {
		if err := unix.FsconfigSetFlag(fsfd, flag); err != nil {
			return -1, err
		}
	}
	if err := unix.FsconfigCreate(fsfd); err != nil {
		return -1, err
	}
	return unix.Fsmount(fsfd, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID)
}

// unmark removes the mark of a volatile layer, which the kernel would not mount
// again otherwise. It does by name what os.RemoveAll finds out in twice the time.
func unmark(dir string) error {
	_ = unix.Unlink(filepath.Join(dir, "volatile/dirty"))
	_ = unix.Rmdir(filepath.Join(dir, "volatile"))
	if err := unix.Rmdir(dir); err != nil && !errors.Is(err, unix.ENOENT) {
		return os.RemoveAll(dir)
	}
	return nil
}

// escapeLower writes a folder as overlayfs reads a list of them.
func escapeLower(path string) string {
	return strings.NewReplacer(`\`, `\\`, `:`, `\:`).Replace(path)
}

// mask hides what the plan lists. Masks come after everything else, and so hold
// inside of it; what is exposed comes after them.
func (p *builder) mask() error {
	empty, err := emptyFolder()
	if err != nil {
		return err
	}
	defer unix.Close(empty)
	var opened []string
	for _, path := range p.Masked {
		var st unix.Stat_t
		err := unix.Lstat(path, &st) // most are not there: finding that out name by name takes its time
		real := path
		if err == nil {
			real, err = filepath.EvalSymlinks(path)
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			continue
		}
		if err != nil {
			return at("mask "+path, err)
		}
		if p.exposesIn(real) {
			opened = append(opened, real)
		}
		if err := hide(real, empty); err != nil {
			return at("mask "+path, err)
		}
	}
	return p.expose(opened)
}

func (p *builder) exposesIn(dir string) bool {
	return slices.ContainsFunc(p.exposed, func(m detached) bool { return strings.HasPrefix(m.target, dir+"/") })
}

// expose puts what is exposed in its place. A masked folder where it belongs is
// one of its own, which takes a name for it.
func (p *builder) expose(masked []string) error {
	for _, dir := range masked {
		if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "size=64k,mode=0755"); err != nil {
			return at("mask "+dir, err)
		}
	}
	for _, m := range p.exposed {
		if err := m.place(); err != nil {
			return at("expose "+m.target, err)
		}
	}
	for _, dir := range masked {
		if err := unix.MountSetattr(unix.AT_FDCWD, dir, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
			return at("mask "+dir, err)
		}
	}
	return nil
}

// hide mounts nothing over a path.
func hide(path string, empty int) error {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		if errors.Is(err, unix.ENOENT) {
			return nil
		}
		return err
	}
	var fd int
	var err error
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		fd, err = unix.OpenTree(empty, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	} else {
		fd, err = unix.OpenTree(unix.AT_FDCWD, os.DevNull, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	err = unix.MoveMount(fd, "", unix.AT_FDCWD, path, unix.MOVE_MOUNT_F_EMPTY_PATH)
	if errors.Is(err, unix.ENOENT) {
		return nil // it has gone meanwhile
	}
	return err
}

// emptyFolder returns an empty folder that is in no place.
func emptyFolder() (int, error) {
	fsfd, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fsfd)
	for _, o := range [][2]string{{"size", "4k"}, {"mode", "0555"}} {
		if err := unix.FsconfigSetString(fsfd, o[0], o[1]); err != nil {
			return -1, err
		}
	}
	if err := unix.FsconfigCreate(fsfd); err != nil {
		return -1, err
	}
	return unix.Fsmount(fsfd, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
}

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
