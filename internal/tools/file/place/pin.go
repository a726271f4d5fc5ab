package place

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/tool"
)

// File opens the place of one file: its root is the folder that the file is in, or
// the nearest one that exists. That folder was reached without a link, and it is
// held; whoever moves it, or puts a link in its place, changes nothing for us.
func File(env *tool.Env, abs string) (*Place, error) {
	p, err := Open(env, abs)
	if err != nil {
		return nil, err
	}
	for more := true; more && err == nil; {
		more, err = p.enter()
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// enter makes the first folder of Rel the root. It returns false where there is
// none: what is left is the file, or does not exist yet.
func (p *Place) enter() (bool, error) {
	head, rest, deeper := strings.Cut(p.Rel, string(filepath.Separator))
	if !deeper {
		return false, nil
	}
	seen, err := p.Root.Lstat(head)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, Explain(err, p.Show)
	case seen.Mode()&fs.ModeSymlink != 0:
		return false, changed(p.Show)
	case !seen.IsDir():
		above := strings.TrimSuffix(p.Abs, string(filepath.Separator)+rest)
		return false, fail.Failed("not_a_folder", "%s is not a folder, so there is nothing in it", Name(above))
	}
	next, err := p.Root.OpenRoot(head)
	if err != nil {
		return false, Explain(err, p.Show)
	}
	if now, err := next.Stat("."); err != nil || !os.SameFile(seen, now) {
		next.Close()
		return false, changed(p.Show)
	}
	p.Root.Close()
	p.Root, p.Rel = next, rest
	return true, nil
}

// made is a folder that was made, and where.
type made struct {
	root *os.Root
	name string
}

// MakeFolders makes the folders that are missing above the file.
func (p *Place) MakeFolders() error {
	for {
		head, _, deeper := strings.Cut(p.Rel, string(filepath.Separator))
		if !deeper {
			return nil
		}
		err := p.Root.Mkdir(head, 0o777) // less the umask
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return Explain(err, p.Show)
		}
		if err == nil {
			root, err := p.Root.OpenRoot(".")
			if err != nil {
				return Explain(err, p.Show)
			}
			p.made = append(p.made, made{root, head})
		}
		more, err := p.enter()
		if err == nil && !more {
			err = changed(p.Show) // it is gone again
		}
		if err != nil {
			return err
		}
	}
}

// RemoveFolders removes the folders that MakeFolders has made, if nothing is in them.
func (p *Place) RemoveFolders() {
	for i := len(p.made) - 1; i >= 0; i-- {
		_ = p.made[i].root.Remove(p.made[i].name)
	}
}

// isAt reports whether an open root is the folder that its absolute path leads to
// without a link on the way.
func isAt(root *os.Root, dir string) bool {
	walked, err := walk(dir)
	if err != nil {
		return false
	}
	opened, err := root.Stat(".")
	return err == nil && os.SameFile(walked, opened)
}

// walk goes to a folder from the top and follows no link.
func walk(dir string) (fs.FileInfo, error) {
	const flags = unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC | searchOnly
	at, err := openAt(unix.AT_FDCWD, "/", flags)
	for name := range strings.SplitSeq(strings.Trim(dir, "/"), "/") {
		if err != nil {
			return nil, err
		}
		if name == "" {
			continue // the top itself
		}
		above := at
		at, err = openAt(above, name, flags)
		_ = unix.Close(above)
	}
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(at), dir)
	defer f.Close()
	return f.Stat()
}

func openAt(dir int, name string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}
