// Package model owns models/ in the state directory: history.jsonl has what came of
// the last resolutions of models, the oldest first. It shows people where their
// requests went; it counts nothing and decides nothing. The file is replaced as a
// whole, by one writer at a time.
package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/wire"
)

const (
	folder      = "models"
	historyFile = "history.jsonl"
	lockFile    = "lock"

	// Most is how many resolutions are kept: what a person looks through.
	Most = 50
	// maxHistory bounds the file: a line has less than 1 KiB but for a long way of
	// fallbacks.
	maxHistory = 4 << 20
)

// History is the last resolutions of a state directory.
type History struct{ st *state.State }

// New returns the history in st. It makes nothing before the first Add.
func New(st *state.State) *History { return &History{st} }

func (h *History) path() string { return filepath.Join(h.st.Dir(), folder, historyFile) }

// Add writes a resolution down and forgets the oldest ones.
func (h *History) Add(r wire.ModelResolution) error {
	r.Type, r.V, r.At = "model_resolution", wire.Version, r.At.UTC()
	dir, err := h.st.Sub(folder)
	if err != nil {
		return err
	}
	unlock, err := fsx.Lock(filepath.Join(dir, lockFile))
	if err != nil {
		return err
	}
	defer unlock()
	all, err := h.List()
	if err != nil {
		return err
	}
	all = append(all, r)
	var text []byte
	for _, r := range all[max(0, len(all)-Most):] {
		line, err := wire.Marshal(r)
		if err != nil {
			return err
		}
		text = append(append(text, line...), '\n')
	}
	return fsx.WriteFile(h.path(), text, 0)
}

// List returns what is kept, the oldest first. A line that is damaged is passed over.
func (h *History) List() ([]wire.ModelResolution, error) {
	data, _, err := fsx.ReadRegular(h.path(), maxHistory)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fail.Failed("history", "%s can't be read: %v", h.path(), fsx.Reason(err)).WithHint("ls -l %s", h.path()).Because(err)
	}
	return parse(data), nil
}

func parse(data []byte) (all []wire.ModelResolution) {
	for line := range bytes.Lines(data) {
		var r wire.ModelResolution
		if json.Unmarshal(line, &r) == nil && r.Type == "model_resolution" {
			all = append(all, r)
		}
	}
	return all
}
