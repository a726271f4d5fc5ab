package disk

import (
	"bytes"
	"encoding/binary"
	"slices"

	"golang.org/x/sys/unix"
)

// kinds are the types of names as the kernel gives them; what is not here is asked for.
var kinds = map[byte]kind{
	unix.DT_REG: file, unix.DT_DIR: directory, unix.DT_LNK: symlink,
	unix.DT_FIFO: other, unix.DT_SOCK: other, unix.DT_CHR: other, unix.DT_BLK: other,
}

// The layout of struct linux_dirent64.
const (
	lengthAt = 16
	typeAt   = 18
	nameAt   = 19
)

// readNames reads the names of the open folder.
func (r *reader) readNames() error {
	if r.buffer == nil {
		r.buffer = make([]byte, 32<<10)
	}
	for {
		var n int
		err := retry(func() (err error) {
			n, err = unix.Getdents(r.dir, r.buffer)
			return err
		})
		if err != nil || n <= 0 {
			return err
		}
		for b := r.buffer[:n]; len(b) > nameAt; {
			length := int(binary.NativeEndian.Uint16(b[lengthAt:]))
			text := b[nameAt:length]
			if end := bytes.IndexByte(text, 0); end >= 0 {
				text = text[:end]
			}
			if s := string(text); s != "." && s != ".." {
				r.add(text, kinds[b[typeAt]])
			}
			b = b[length:]
		}
	}
}

// kernels are the file systems in which the kernel tells of itself and of what runs: they
// have no sources, and each look finds something else.
var kernels = []int64{
	unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC,
	unix.SECURITYFS_MAGIC, unix.BPF_FS_MAGIC, unix.PSTOREFS_MAGIC, unix.DEVPTS_SUPER_MAGIC,
}

// ofKernel reports whether the open folder is in one of them.
func (r *reader) ofKernel() bool {
	var st unix.Statfs_t
	err := retry(func() error { return unix.Fstatfs(r.dir, &st) })
	return err == nil && slices.Contains(kernels, int64(st.Type))
}
