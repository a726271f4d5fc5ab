package approval

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
)

// owed/ has a file for each answer that may not be in the audit yet: made before
// the answer, removed when the audit has it. A host that dies in between leaves
// the file, and the next one writes what is missing.

var owedCount atomic.Int64 // two answers to one request have files of their own

// Owe notes that the audit is owed the answer to a request. paid is called when it
// has it, or when there is no answer.
func (s *Store) Owe(id string) (paid func(), err error) {
	if !wellFormed(id) {
		return nil, missing(id)
	}
	dir, err := s.st.Sub("approvals", "owed")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, id+"-"+strconv.Itoa(os.Getpid())+"-"+strconv.FormatInt(owedCount.Add(1), 10))
	// kill -9 leaves what was written to the kernel; nothing waits for the disk.
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return nil, err
	}
	return func() { os.Remove(path) }, nil
}

// Owed returns the requests whose answers the audit may lack, each with what
// removes the note.
func (s *Store) Owed() map[string]func() {
	dir := filepath.Join(s.st.Dir(), "approvals", "owed")
	names, _ := os.ReadDir(dir)
	owed := map[string]func(){}
	for _, e := range names {
		id, _, _ := strings.Cut(e.Name(), "-")
		before := owed[id]
		owed[id] = func() {
			if before != nil {
				before()
			}
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
	return owed
}
