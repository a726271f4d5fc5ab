// Package resident owns hosts/ of the state directory, what residents leave to find
// them by:
//
//	NAME.lock   held by a resident while it lives: its pid and the path of its socket
//	NAME.log    what it noted down, and NAME.log.1 what it noted down before
//
// The lock of the approval host is approvals/host.lock instead, which other programs
// know. A lock that nobody holds says nothing. Locks stay: to remove one would let two
// processes hold "the" lock at once.
//
// internal/host calls it.
package resident

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/record/state"
)

const (
	folder = "hosts"
	// Approve is the name of the approval host.
	Approve = "approve"
	// maxLock bounds a lock file: it holds a pid and a path.
	maxLock = 4096
	// keep is how long the log of a resident that does not come back stays.
	keep = 30 * 24 * time.Hour
)

// Lock is the path of the lock of a resident.
func Lock(stateDir, name string) string {
	if name == Approve {
		return filepath.Join(stateDir, "approvals", "host.lock")
	}
	return filepath.Join(stateDir, folder, name+".lock")
}

// Prepare makes what a resident needs to be found and asked: the folder of its lock,
// and the key of its clients.
func Prepare(st *state.State, name string) error {
	if _, err := st.HostKey(); err != nil {
		return err
	}
	_, err := st.Sub(filepath.Base(filepath.Dir(Lock(st.Dir(), name))))
	return err
}

// Hold writes into a lock who holds it.
func Hold(lock string, pid int, socket string) error {
	return os.WriteFile(lock, fmt.Appendf(nil, "%d %s\n", pid, socket), 0o600)
}

// Read returns what the holder of a lock says of itself: nothing yet if it is just
// starting. It reports whether there is one.
func Read(lock string) (pid int, socket string, held bool) {
	if !fsx.Locked(lock) {
		return 0, "", false
	}
	data, _, err := fsx.ReadRegular(lock, maxLock)
	if err != nil {
		return 0, "", true
	}
	first, rest, _ := strings.Cut(strings.TrimSpace(string(data)), " ")
	if pid, err = strconv.Atoi(first); err != nil || pid <= 1 {
		return 0, "", true
	}
	return pid, rest, true
}

// Entry is a resident that lives.
type Entry struct {
	Name   string
	Lock   string
	PID    int
	Socket string
}

// List returns the residents that live, by name. One that is just starting is not
// among them.
func List(stateDir string) []Entry {
	names := []string{Approve}
	files, _ := os.ReadDir(filepath.Join(stateDir, folder)) // without the folder there are none
	for _, f := range files {
		if name, ok := strings.CutSuffix(f.Name(), ".lock"); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var list []Entry
	for _, name := range names {
		lock := Lock(stateDir, name)
		if pid, socket, held := Read(lock); held && pid > 0 {
			list = append(list, Entry{name, lock, pid, socket})
		}
	}
	return list
}
