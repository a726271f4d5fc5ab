package jail

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The rights of Landlock, by what they are for.
const (
	mayRead  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	mayUse   = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV // a device
	mayWrite = mayRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV | resolveUnix
	// resolveUnix is connecting to a socket by its path, of ABI 9.
	resolveUnix = 1 << 16
	// onFile are the rights that make sense for a file.
	onFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// rights are the bits that exist since an ABI: those of files, and what is kept
// inside (abstract sockets and signals).
var rights = []struct {
	abi   int
	files uint64
	scope uint64
}{
	{1, 1<<13 - 1, 0},
	{2, unix.LANDLOCK_ACCESS_FS_REFER, 0},
	{3, unix.LANDLOCK_ACCESS_FS_TRUNCATE, 0},
	{5, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV, 0},
	{ABIScopes, 0, unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL},
	{ABISockets, resolveUnix, 0},
}

// LandlockABI is the version of Landlock that the kernel has, 0 for none.
func LandlockABI() int {
	v, _, no := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if no != 0 {
		return 0
	}
	return int(v)
}

// handled are the bits of an ABI.
func handled(abi int) (files, scope uint64) {
	for _, r := range rights {
		if r.abi <= abi {
			files, scope = files|r.files, scope|r.scope
		}
	}
	return files, scope
}

// landlock binds the calling thread. Behind full walls it is a second wall, and a
// kernel without it is taken as it is; alone, its rules leave out what is masked.
func (p *Plan) landlock() error {
	abi := LandlockABI()
	if abi == 0 {
		if p.Kind == Full {
			return nil
		}
		return at("use Landlock", unix.EOPNOTSUPP)
	}
	files, scope := handled(abi)
	rules, open := p.rules(), p.open() // folders can't be listed any more behind the first ones
	if err := restrict(files, scope, rules); err != nil || p.Kind == Full {
		return err
	}
	// Below a folder that can be written the first rules allow everything; these
	// leave out what is masked there. A new file beside it can't be read then.
	return restrict(unix.LANDLOCK_ACCESS_FS_READ_FILE, 0, open)
}

// restrict binds the calling thread to rules for some rights.
func restrict(files, scope uint64, rules []rule) error {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: files, Scoped: scope}
	fd, _, no := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if no != 0 {
		return at("make rules of Landlock", no)
	}
	defer unix.Close(int(fd))
	for _, r := range rules {
		if err := addRule(int(fd), r.path, r.rights&files); err != nil {
			return at("let Landlock allow "+r.path, err)
		}
	}
	if _, _, no := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); no != 0 {
		return at("enter Landlock", no)
	}
	return nil
}

type rule struct {
	path   string
	rights uint64
}

// open is what can be read: everything but what is masked, and what can be written
// inside of that.
func (p *Plan) open() []rule {
	if p.Kind == Full {
		return nil
	}
	list := readable("/", p.Masked, nil)
	for _, m := range p.Mounts {
		if !m.ReadOnly && slices.ContainsFunc(p.Masked, func(mask string) bool { return strings.HasPrefix(m.Target, mask+"/") }) {
			list = append(list, rule{m.Target, mayRead})
		}
	}
	return list
}

// rules are what the plan allows.
func (p *Plan) rules() []rule {
	list := []rule{{"/", mayRead}}
	if p.Kind != Full {
		list = readable("/", p.Masked, nil)
	}
	for _, m := range p.Mounts {
		if !m.ReadOnly && (p.Kind == Full || m.Source == m.Target && m.Upper == "") {
			list = append(list, rule{m.Target, mayWrite})
		}
	}
	for _, n := range append([]string{"ptmx", "pts"}, nodes...) {
		list = append(list, rule{"/dev/" + n, mayUse | unix.LANDLOCK_ACCESS_FS_READ_DIR})
	}
	if p.Kind == Full {
		list = append(list, rule{"/dev/shm", mayWrite})
	}
	if !p.Minimal {
		list = append(list, rule{"/proc", mayRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE})
	}
	return list
}

// readable lists what covers dir without the masked paths: folders that hold none
// of them as a whole, the others entry by entry.
func readable(dir string, masked []string, to []rule) []rule {
	inside, itself := false, false
	for _, m := range masked {
		inside = inside || strings.HasPrefix(m, strings.TrimSuffix(dir, "/")+"/")
		itself = itself || m == dir
	}
	switch {
	case itself:
		return to
	case !inside:
		return append(to, rule{dir, mayRead})
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return to
	}
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink == 0 { // the rules are those of what it leads to
			to = readable(filepath.Join(dir, e.Name()), masked, to)
		}
	}
	return to
}

// addRule allows rights below a path. What is not there needs none.
func addRule(ruleset int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= onFile
	}
	if rights == 0 {
		return nil
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	if _, _, no := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0); no != 0 {
		return no
	}
	return nil
}
