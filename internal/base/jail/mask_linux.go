package jail

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

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
