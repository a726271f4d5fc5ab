package jail

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"

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
