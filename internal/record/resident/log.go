package resident

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/record/state"
)

const (
	// maxLog is where a log begins anew; with the one before it there are some ten
	// thousand lines to look at.
	maxLog = 1 << 20
	// maxRecord is the longest record: what servers say of themselves is shorter.
	maxRecord = 64 << 10
)

// Log is the log of this process, a resident: an io.Writer of records, a line each. It
// has a bound, and a disk that is full does not hold up whoever writes. If the process
// crashes, its last words go there, too.
type Log struct {
	mu   sync.Mutex
	path string
	f    *os.File
	size int64
}

// OpenLog opens the log of a resident, which holds its lock. Logs of residents that
// did not come back for long go.
func OpenLog(st *state.State, name string, now time.Time) (*Log, error) {
	dir, err := st.Sub(folder)
	if err != nil {
		return nil, err
	}
	sweep(st.Dir(), now)
	l := &Log{path: filepath.Join(dir, name+".log")}
	if err := l.open(os.O_APPEND); err != nil {
		return nil, fail.Failed("log", "%s can't be opened: %v", l.path, fsx.Reason(err)).WithHint("ls -ld %s", l.path).Because(err)
	}
	return l, nil
}

func (l *Log) open(how int) error {
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY|how, 0o600)
	if err != nil {
		return err
	}
	fi, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	l.f, l.size = f, fi.Size()
	_ = debug.SetCrashOutput(f, debug.CrashOptions{}) // without it only the reason of a crash is lost
	return nil
}

// Write writes a record. It always reports success: there is nobody to tell.
func (l *Log) Write(record []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	said := len(record)
	if said > maxRecord {
		record = fmt.Appendf(nil, `{"level":"warn","message":"a record of %d bytes is left out"}`+"\n", said)
	}
	if l.f == nil || l.size+int64(len(record)) > maxLog {
		l.turn()
	}
	if l.f != nil {
		n, _ := l.f.Write(record)
		l.size += int64(n)
	}
	return said, nil
}

// turn begins a new file. Where the old one can't be kept, it goes.
func (l *Log) turn() {
	how := os.O_APPEND
	if os.Rename(l.path, l.path+".1") != nil {
		how = os.O_TRUNC
	}
	if l.f != nil {
		l.f.Close()
		l.f = nil
	}
	l.size = 0
	_ = l.open(how) // without a file the next record tries again
}

// Close ends the log.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return nil
	}
	return l.f.Close()
}

// sweep removes the logs of residents that do not live and did not for long.
func sweep(stateDir string, now time.Time) {
	dir := filepath.Join(stateDir, folder)
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		name, _, ok := strings.Cut(f.Name(), ".log")
		if !ok || !old(f, now) || fsx.Locked(Lock(stateDir, name)) {
			continue
		}
		_ = os.Remove(filepath.Join(dir, f.Name())) // the next one tries again
	}
}

func old(f fs.DirEntry, now time.Time) bool {
	fi, err := f.Info()
	return err == nil && fi.Mode().IsRegular() && now.Sub(fi.ModTime()) > keep
}
