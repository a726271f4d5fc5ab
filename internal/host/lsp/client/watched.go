package client

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/host/lsp/protocol"
)

const (
	watchFiles = "workspace/didChangeWatchedFiles"
	// maxRegistrations is how many a server may have: honest ones have some ten.
	maxRegistrations = 1000
	// maxChoices is how many patterns without braces one may stand for: each is tried.
	// Honest ones have some ten.
	maxChoices = 1000
)

// watched is what a server has registered for.
type watched struct {
	root string

	mu   sync.Mutex
	list map[string]registration // by id
}

type registration struct {
	method string
	globs  []string // of watched files: patterns of whole paths
}

func newWatched(root string) watched {
	return watched{root: root, list: map[string]registration{}}
}

// register notes what a server wants to hear of; it reports whether there is room.
func (w *watched) register(list []protocol.Registration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range list {
		if _, known := w.list[r.ID]; !known && len(w.list) >= maxRegistrations {
			return false
		}
		reg := registration{method: r.Method}
		if r.Method == watchFiles {
			reg.globs = w.globs(r.Options)
		}
		w.list[r.ID] = reg
	}
	return true
}

// globs are the patterns in the options of a registration. What can't be read watches
// everything: an event too many is no harm.
func (w *watched) globs(raw json.RawMessage) []string {
	const everything = "/**"
	var options protocol.Watchers
	if json.Unmarshal(raw, &options) != nil {
		return []string{everything}
	}
	var globs []string
	for _, x := range options.List {
		base, glob := w.root, x.Pattern.Glob
		if x.Pattern.Base != "" {
			path, ok := protocol.ToPath(x.Pattern.Base)
			if !ok {
				continue // of documents that are no files
			}
			base = path
		}
		if !filepath.IsAbs(glob) {
			glob = strings.TrimSuffix(escape.Replace(base), "/") + "/" + glob
		}
		if !doublestar.ValidatePattern(glob) || choices(glob) > maxChoices {
			glob = everything
		}
		globs = append(globs, glob)
	}
	return globs
}

// choices is for how many patterns one with braces stands at most; it does not count on
// beyond maxChoices.
func choices(glob string) int {
	total := 1
	var open []int // of the braces around
	for i := 0; i < len(glob) && total <= maxChoices; i++ {
		switch last := len(open) - 1; {
		case glob[i] == '\\':
			i++
		case glob[i] == '{':
			open = append(open, 1)
		case glob[i] == ',' && last >= 0:
			open[last]++
		case glob[i] == '}' && last >= 0:
			total, open = total*open[last], open[:last]
		}
	}
	return total
}

// escape writes a path as a pattern that matches it alone.
var escape = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`)

// unregister takes registrations back.
func (w *watched) unregister(u protocol.Unregistrations) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, list := range [][]protocol.Registration{u.List, u.Right} {
		for _, r := range list {
			delete(w.list, r.ID)
		}
	}
}

// Registered reports whether it has registered for a method.
func (c *Client) Registered(method string) bool {
	c.watch.mu.Lock()
	defer c.watch.mu.Unlock()
	for _, r := range c.watch.list {
		if r.method == method {
			return true
		}
	}
	return false
}

// Watches reports whether it wants to hear of changes of a file: of any, if it has not
// said of which.
func (c *Client) Watches(path string) bool {
	c.watch.mu.Lock()
	defer c.watch.mu.Unlock()
	said := false
	for _, r := range c.watch.list {
		if r.method != watchFiles {
			continue
		}
		said = true
		for _, glob := range r.globs {
			if ok, err := doublestar.Match(glob, path); ok || err != nil {
				return true
			}
		}
	}
	return !said
}

// Beyond are the folders and the single files outside of the workspace of which it wants
// to hear. Not among them are those around the workspace, which hold anything, and what
// packages are installed in.
func (c *Client) Beyond() (folders, files []string) {
	c.watch.mu.Lock()
	defer c.watch.mu.Unlock()
	for _, r := range c.watch.list {
		for _, glob := range r.globs {
			dir, rest := doublestar.SplitPattern(glob)
			dir = filepath.Clean(unescape.Replace(dir))
			switch {
			case paths.Inside(c.watch.root, dir), slices.Contains(strings.Split(dir, "/"), "node_modules"):
			case !strings.ContainsAny(rest, "*?[{"):
				files = append(files, filepath.Join(dir, unescape.Replace(rest)))
			case !paths.Inside(dir, c.watch.root):
				folders = append(folders, dir)
			}
		}
	}
	slices.Sort(folders)
	slices.Sort(files)
	folders, files = slices.Compact(folders), slices.Compact(files)
	var outer []string
	for _, dir := range folders {
		if !slices.ContainsFunc(outer, func(o string) bool { return paths.Inside(o, dir) }) {
			outer = append(outer, dir)
		}
	}
	return outer, files
}

// unescape is the reverse of escape, for the part of a pattern that is a path.
var unescape = strings.NewReplacer(`\\`, `\`, `\*`, `*`, `\?`, `?`, `\[`, `[`, `\]`, `]`, `\{`, `{`, `\}`, `}`)
