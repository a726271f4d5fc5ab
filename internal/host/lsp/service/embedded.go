package service

import (
	"path/filepath"
	"slices"

	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/host/lsp/disk"
	"github.com/kxtools/kx/internal/host/lsp/language"
)

// embedded says which file came or went that a program takes in as it is. A server that
// looked for it once does not look again, whatever it is told. The patterns that say so
// stand in the folders above.
func (r *running) embedded(changes []disk.Change, snap *disk.Snapshot) string {
	if r.server.Embeds == nil {
		return ""
	}
	var texts map[string][]string     // files of the language, by folder
	patterns := map[string][]string{} // by folder
	for _, c := range changes {
		if c.Kind == disk.Changed || r.speaks(c.Path) != "" {
			continue
		}
		for dir := filepath.Dir(c.Path); paths.Inside(r.root, dir); dir = filepath.Dir(dir) {
			if texts == nil {
				texts = map[string][]string{}
				for path := range snap.Files {
					if r.speaks(path) != "" {
						texts[filepath.Dir(path)] = append(texts[filepath.Dir(path)], path)
					}
				}
			}
			known, ok := patterns[dir]
			if !ok {
				for _, path := range texts[dir] {
					if content, _, err := r.read(path); err == nil { // else it is asked about for itself
						known = append(known, r.server.Embeds(string(content))...)
					}
				}
				patterns[dir] = known
			}
			rel, err := filepath.Rel(dir, c.Path)
			if err == nil && slices.ContainsFunc(known, func(p string) bool { return language.Takes(p, rel) }) {
				return filepath.Base(c.Path) + " is embedded, and came or went"
			}
		}
	}
	return ""
}
