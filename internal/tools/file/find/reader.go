package find

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// keepBuffer is how large a reader's buffer may stay: one huge file is no
// reason to hold its size until the end.
const keepBuffer = 4 << 20

// reader reads many files below a root into one buffer, with the fewest calls
// to the system: the folder of the last file stays open, the root opens it, and
// a file is opened in it by its name, no link followed and no pipe waited for.
type reader struct {
	root   *os.Root
	dir    string
	folder *os.File
	buf    []byte
}

var errSwapped = errors.New("another file has taken its place")

// read returns the first most bytes of a file until the next call.
func (r *reader) read(c candidate, most int) ([]byte, error) {
	dir, base := path.Split(c.rel)
	if r.folder == nil || r.dir != dir {
		r.close()
		folder, err := r.root.Open(path.Clean(dir))
		if err != nil {
			return nil, err
		}
		r.folder, r.dir = folder, dir
	}
	var fd int
	err := again(func() (err error) {
		fd, err = unix.Openat(int(r.folder.Fd()), base, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		return err
	})
	runtime.KeepAlive(r.folder)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := again(func() error { return unix.Fstat(fd, &st) }); err != nil {
		return nil, err
	}
	if !sameFile(c.st, &st) {
		return nil, errSwapped
	}
	return r.readAll(fd, min(int(st.Size), most), most)
}

// readAll reads up to most bytes, of which there should be size.
func (r *reader) readAll(fd, size, most int) ([]byte, error) {
	if cap(r.buf) < size || cap(r.buf) > max(size, keepBuffer) {
		r.buf = make([]byte, max(size, keepBuffer/16))
	}
	r.buf = r.buf[:cap(r.buf)]
	n := 0
	for n < most {
		if n == len(r.buf) { // it has grown
			r.buf = append(r.buf, make([]byte, len(r.buf))...)
		}
		var got int
		err := again(func() (err error) {
			got, err = unix.Read(fd, r.buf[n:min(len(r.buf), most)])
			return err
		})
		if err != nil {
			return nil, err
		}
		if n += got; got == 0 || n == size {
			break
		}
	}
	return r.buf[:n], nil
}

func (r *reader) close() {
	if r.folder != nil {
		r.folder.Close()
		r.folder = nil
	}
}

// sameFile reports whether an opened file is the regular one that was seen.
func sameFile(seen fs.FileInfo, now *unix.Stat_t) bool {
	st, ok := seen.Sys().(*syscall.Stat_t)
	return ok && seen.Mode().IsRegular() && st.Dev == now.Dev && st.Ino == now.Ino
}

// again repeats a call that a signal has interrupted.
func again(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
