// Package agentroot owns agentroot/ in the state directory: the living processes
// below which an agent acts. A process that runs tools enters itself, and so does
// a command that answers for another client's agent enter that client. Whoever
// descends from one of them is no person, whatever it can read or type.
//
// An entry is a file named by pid; it counts while the process lives that had
// this pid, this start and this boot of the machine. Entries of the dead are
// removed when new ones are made.
package agentroot

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/base/lineage"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/wire"
)

// What an agent root is.
const (
	Tool  = "tool"  // a kx process that runs tools
	Agent = "agent" // another client's agent
)

// Root is one entry.
type Root struct {
	Type  string    `json:"type"`
	V     int       `json:"v"`
	PID   int       `json:"pid"`
	Start uint64    `json:"start"` // clock ticks since boot
	Boot  string    `json:"boot"`
	Kind  string    `json:"kind"`
	Name  string    `json:"name,omitempty"` // of the client
	At    time.Time `json:"at"`
}

// String tells a person which process it is.
func (r *Root) String() string {
	switch {
	case r.Kind == Tool:
		return fmt.Sprintf("kx process %d, which runs tools", r.PID)
	case r.Name == "":
		return fmt.Sprintf("process %d, an agent", r.PID)
	}
	return fmt.Sprintf("process %d, the agent %s", r.PID, r.Name)
}

// Store is the agent roots of one state directory.
type Store struct {
	st  *state.State
	now func() time.Time
}

// New returns the agent roots in st. It makes nothing before the first.
func New(st *state.State, now func() time.Time) *Store { return &Store{st: st, now: now} }

// maxRoot bounds what is read of an entry: a few short fields.
const maxRoot = 4 << 10

// RegisterSelf enters this process.
func (s *Store) RegisterSelf(kind, name string) error {
	self, err := lineage.Self()
	if errors.Is(err, lineage.ErrUnknown) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.Register(self.PID, kind, name)
}

// Register enters a process. Where the system does not tell about processes
// there is nothing to enter, and nothing that would be found.
func (s *Store) Register(pid int, kind, name string) error {
	boot, err := lineage.Boot()
	if errors.Is(err, lineage.ErrUnknown) {
		return nil
	}
	if err != nil {
		return err
	}
	p, err := lineage.Of(pid)
	if err != nil {
		return err
	}
	dir, err := s.st.Sub("agentroot")
	if err != nil {
		return err
	}
	s.sweep(dir, boot)
	raw, err := wire.Marshal(Root{"agent_root", wire.Version, pid, p.Start, boot, kind, name, s.now().UTC()})
	if err != nil {
		return err
	}
	// It means nothing after a boot, so nothing waits for the disk.
	tmp := filepath.Join(dir, "."+strconv.Itoa(pid))
	if err := os.WriteFile(tmp, append(raw, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(dir, strconv.Itoa(pid)+".json"))
}

// Leave removes the entry of a process that runs no more tools.
func (s *Store) Leave(pid int) {
	os.Remove(filepath.Join(s.st.Dir(), "agentroot", strconv.Itoa(pid)+".json"))
}

// sweep removes the entries of processes that are gone.
func (s *Store) sweep(dir, boot string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		pid, ok := pidOf(e.Name())
		if !ok {
			continue
		}
		if r, err := s.read(pid); err == nil && !alive(r, boot) {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

func pidOf(name string) (int, bool) {
	n, err := strconv.Atoi(strings.TrimSuffix(name, ".json"))
	return n, err == nil && n > 0 && strings.HasSuffix(name, ".json")
}

func alive(r *Root, boot string) bool {
	p, err := lineage.Of(r.PID)
	return r.Boot == boot && err == nil && p.Start == r.Start
}

func (s *Store) read(pid int) (*Root, error) {
	raw, _, err := fsx.ReadRegular(filepath.Join(s.st.Dir(), "agentroot", strconv.Itoa(pid)+".json"), maxRoot)
	if err != nil {
		return nil, err
	}
	var r Root
	return &r, json.Unmarshal(raw, &r)
}

// Above returns the agent root that a process descends from, nil if there is
// none. A root itself is not below itself. An entry that can't be read counts as
// one that is alive: who asks decides about rights.
func (s *Store) Above(pid int) (*Root, error) {
	boot, err := lineage.Boot()
	if err != nil {
		return nil, err
	}
	chain, err := lineage.Ancestors(pid)
	if err != nil {
		return nil, err
	}
	for _, p := range chain[1:] {
		r, err := s.read(p.PID)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return &Root{PID: p.PID, Kind: Agent}, nil
		case r.Boot == boot && r.Start == p.Start:
			return r, nil
		}
	}
	return nil, nil
}
