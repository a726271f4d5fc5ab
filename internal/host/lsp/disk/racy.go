package disk

import (
	"crypto/sha256"
	"encoding/binary"
	"io"
	"os"
	"syscall"
	"time"
)

const (
	// tick is longer than the steps in which the clock of a disk goes: 10 ms at most on
	// Linux. Two writes within a step leave the same times.
	tick = 20 * time.Millisecond

	// coarse is that of disks that keep whole seconds, or every other one.
	coarse = 2 * time.Second

	// maxSum is the largest file whose contents are compared. A larger one counts as
	// written again as long as it could have been: no source is as large.
	maxSum = 16 << 20
)

type sum [sha256.Size]byte

// racy reports whether a file that was looked at could be written afterwards, and have
// the same times.
func racy(f File, now int64) bool {
	window := int64(tick)
	if f.MTime%int64(time.Second) == 0 && f.CTime%int64(time.Second) == 0 {
		window = int64(coarse)
	}
	// times in the future are those of another machine's disk, or of a clock that was
	// set back; an mtime there can be made by anyone, and says nothing
	return f.CTime > now-window || f.MTime > now-window && f.MTime <= now
}

// again looks at the contents of a file that is or was racy. now is before the look at
// its times.
func (r *reader) again(e, before *entry, now int64) {
	same := false
	if before != nil && before.kind == file {
		was := before.file
		e.file.Edit = was.Edit
		same = e.file == was
	}
	is := racy(e.file, now)
	if !is && !(same && before.sum != nil) {
		return
	}
	s := contents(e.path, e.file.Size, now)
	if same && before.sum != nil {
		if s == *before.sum {
			e.sum = before.sum
		} else {
			e.file.Edit++
		}
	}
	switch {
	case !is:
		e.sum = nil
	case e.sum == nil:
		e.sum = &s
	}
}

// contents is the sum of a file: of one that can't be read always the same, as no
// server reads it either, of one too large never.
func contents(path string, size, now int64) (s sum) {
	if size > maxSum {
		binary.NativeEndian.PutUint64(s[:], uint64(now))
		return s
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe by now
	if err != nil {
		return s
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, maxSum)); err != nil {
		return s
	}
	h.Sum(s[:0])
	return s
}
