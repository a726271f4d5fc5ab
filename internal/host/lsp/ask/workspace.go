package ask

import (
	"path/filepath"
	"strings"
	"sync"

	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/host/lsp/client"
)

// Workspace is what answers speak of.
type Workspace struct {
	root string // canonical

	mu      sync.Mutex
	checked map[*client.Client]*checks
}

// In returns the workspace with a canonical root.
func In(root string) *Workspace {
	return &Workspace{root: root, checked: map[*client.Client]*checks{}}
}

// Inside reports whether a clean path lies in it.
func (w *Workspace) Inside(path string) bool { return paths.Inside(w.root, path) }

// Show is a path as answers have it.
func (w *Workspace) Show(path string) string {
	if rel, err := filepath.Rel(w.root, path); err == nil && w.Inside(path) {
		return rel
	}
	return path
}

// Abs is the reverse of Show.
func (w *Workspace) Abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(w.root, path)
}

// maxNote is how much of what a server says of itself an answer repeats, in bytes.
const maxNote = 300

// Brief is the beginning of what a server says of itself.
func Brief(text string) string {
	if len(text) <= maxNote {
		return text
	}
	return strings.ToValidUTF8(text[:maxNote], "") + "… (kx lsp status has all of it)"
}
