// Package beyond looks at what a language server names outside of the workspace: the
// projects that the one here stands on, and their configuration. What the workspace
// itself has is for disk.
package beyond

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/host/lsp/disk"
)

const (
	// maxBeyond is how many folders and files outside of the workspace are looked at, of
	// those that a server names: a project stands on a few others.
	maxBeyond = 50
	// beyondFiles and beyondFolders are how much of each of them: a moment's look.
	beyondFiles, beyondFolders = 10_000, 1_000
	// tick is how far the times of files may be behind the clock.
	tick = 20 * time.Millisecond
)

// Beyond is what is outside of the workspace, as a server was told of it. Nothing of it
// is called twice at once.
type Beyond struct {
	folders map[string]*around
	files   map[string]disk.File // the zero one where there is none
}

// around is a folder.
type around struct {
	scan *disk.Scanner
	seen *disk.Snapshot // nil at first
}

func newScanner(dir string) *disk.Scanner {
	scan := disk.New(dir)
	scan.Limit(beyondFiles, beyondFolders)
	return scan
}

// Look says what changed in the folders and files that a server names, or why it has to
// be started again: in a folder that it has named since began, nobody knows what went.
// seen takes note that it was told.
func (b *Beyond) Look(ctx context.Context, folders, files []string, began time.Time) (changes []disk.Change, why string, seen func(), err error) {
	folders, files = more(b.folders, folders), more(b.files, files)
	next := Beyond{map[string]*around{}, map[string]disk.File{}}
	// What was never seen counts if it is younger than the server.
	young := func(f disk.File) bool { return f.CTime >= began.Add(-tick).UnixNano() }
	for _, path := range files {
		at, err := disk.Look(path)
		if err != nil {
			at = disk.File{}
		}
		next.files[path] = at
		before, known := b.files[path]
		switch {
		case !known && !young(at), known && before == at:
		case at == disk.File{}:
			changes = append(changes, disk.Change{Path: path, Kind: disk.Deleted})
		case known && before == disk.File{}:
			changes = append(changes, disk.Change{Path: path, Kind: disk.Created})
		default:
			changes = append(changes, disk.Change{Path: path, Kind: disk.Changed})
		}
	}
	for _, dir := range folders {
		was := b.folders[dir]
		if was == nil {
			if was = (&around{scan: newScanner(dir)}); b.folders == nil {
				b.folders = map[string]*around{}
			}
			b.folders[dir] = was // Close lets go of it
		}
		snap, err := was.scan.Scan(ctx)
		if errors.Is(err, disk.ErrMoved) { // another one may be there now
			_ = was.scan.Close() // it was read alone
			was.scan = newScanner(dir)
			snap, err = was.scan.Scan(ctx)
		}
		switch {
		case errors.Is(err, disk.ErrMoved):
			snap = &disk.Snapshot{}
		case err != nil:
			return nil, "", nil, err
		}
		next.folders[dir] = &around{was.scan, snap}
		if was.seen == nil {
			for path, f := range snap.Files {
				if young(f) {
					changes = append(changes, disk.Change{Path: path, Kind: disk.Changed})
				}
				for up := filepath.Dir(path); why == "" && paths.Inside(dir, up); up = filepath.Dir(up) {
					if at, err := disk.Look(up); err == nil && young(at) {
						why = "files came or went in " + up
					}
				}
			}
			continue
		}
		changes = append(changes, disk.Diff(was.seen, snap)...)
	}
	return changes, why, func() { *b = next }, nil
}

// more are what is looked at already, and as many others as there is room for. A server
// takes back for a moment what it named, so that what it named once counts.
func more[V any](known map[string]V, named []string) []string {
	list := slices.Sorted(maps.Keys(known))
	for _, path := range named {
		if _, ok := known[path]; !ok && len(list) < maxBeyond {
			list = append(list, path)
		}
	}
	return list
}

// Close lets go of all of it, once the server has ended.
func (b *Beyond) Close() {
	for _, a := range b.folders {
		_ = a.scan.Close() // it was read alone
	}
	*b = Beyond{}
}
