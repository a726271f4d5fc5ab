package fsx

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kxtools/kx/internal/base/fail"
)

// MaxLine caps a line of a log: nothing that kx writes comes near it, and a
// reader must not take the memory that a damaged file asks for.
const MaxLine = 64 << 20

// tailChunk is how much of the end of a log is read at once.
const tailChunk = 64 << 10

// Log appends lines to a file. Its caller holds a lock, so it is the only
// writer; readers need none.
type Log struct {
	f      *os.File
	size   int64
	broken error // the file may end in a part of a line
}

// OpenLog opens the log path for appending and creates it if need be. The end
// of a line that a killed writer left is moved to NAME.torn (events.jsonl ->
// events.torn) first: a line appended to it would be lost too.
func OpenLog(path string) (*Log, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if f, err = os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600); err == nil {
			if err := SyncDir(filepath.Dir(path)); err != nil {
				f.Close()
				return nil, err
			}
		}
	}
	if err != nil {
		return nil, writeError(path, err)
	}
	l := &Log{f: f}
	if err := l.heal(); err != nil {
		f.Close()
		return nil, writeError(path, err)
	}
	return l, nil
}

// heal finds the end of the last whole line and moves what follows aside.
func (l *Log) heal() error {
	fi, err := l.f.Stat()
	if err != nil {
		return err
	}
	l.size = fi.Size()
	end, err := l.lineStart(l.size)
	if err != nil || end == l.size {
		return err
	}
	torn := strings.TrimSuffix(l.f.Name(), ".jsonl") + ".torn"
	aside, err := os.OpenFile(torn, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer aside.Close()
	if _, err := io.Copy(aside, io.NewSectionReader(l.f, end, l.size-end)); err != nil {
		return err
	}
	if _, err := aside.Write([]byte("\n")); err != nil {
		return err
	}
	if err := aside.Sync(); err != nil {
		return err
	}
	if err := l.f.Truncate(end); err != nil {
		return err
	}
	l.size = end
	return l.f.Sync()
}

// lineStart returns the offset after the last newline before end.
func (l *Log) lineStart(end int64) (int64, error) {
	buf := make([]byte, min(tailChunk, end))
	for end > 0 {
		n := min(int64(len(buf)), end)
		if _, err := l.f.ReadAt(buf[:n], end-n); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			return end - n + int64(i) + 1, nil
		}
		end -= n
	}
	return 0, nil
}

// Size is the length of the log in bytes.
func (l *Log) Size() int64 { return l.size }

// Before returns the line that ends at offset end (with its newline, which is
// not returned) and where it starts. Before(Size()) is the last line; at 0 there
// is none.
func (l *Log) Before(end int64) (line []byte, start int64, err error) {
	if end <= 0 {
		return nil, 0, nil
	}
	if start, err = l.lineStart(end - 1); err != nil {
		return nil, 0, writeError(l.f.Name(), err)
	}
	line = make([]byte, end-1-start)
	if _, err = l.f.ReadAt(line, start); err != nil {
		return nil, 0, writeError(l.f.Name(), err)
	}
	return line, start, nil
}

// Append adds a line by one write(2). If it does not fit on the disk the log is
// as it was before.
func (l *Log) Append(line []byte) error {
	switch {
	case l.broken != nil:
		return l.broken
	case len(line) >= MaxLine:
		return fail.Limit("line", "a line of %d MiB is too long for %s", len(line)>>20, l.f.Name())
	case bytes.IndexByte(line, '\n') >= 0:
		return fail.Failed("line", "a line for %s has a newline in it", l.f.Name())
	}
	buf := make([]byte, 0, len(line)+1)
	buf = append(append(buf, line...), '\n')
	if _, err := l.f.Write(buf); err != nil {
		if cut := l.f.Truncate(l.size); cut != nil {
			l.broken = writeError(l.f.Name(), cut)
		}
		return writeError(l.f.Name(), err)
	}
	l.size += int64(len(buf))
	return nil
}

// Sync returns when every appended line is on disk.
func (l *Log) Sync() error {
	if l.broken != nil {
		return l.broken
	}
	if err := datasync(l.f); err != nil {
		// After a failed fsync the kernel may have dropped the pages: what
		// this file holds is not known any more.
		l.broken = writeError(l.f.Name(), err)
		return l.broken
	}
	return nil
}

// Close closes the file.
func (l *Log) Close() error { return l.f.Close() }
