// Package place holds the files that no tool touches: a table of names, in
// table.go, and the folders of the user, the workspace and kx itself. It compares
// paths, also those that still have Wildcards, and opens nothing but the few files
// that are protected by what stands in them. Its caller is internal/gate/guard.
package place

import (
	"path"
	"slices"
	"strings"

	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/gate/guard/expand"
	"github.com/kxtools/kx/pkg/wire"
)

// Places knows the folders of one user and one workspace. It is not changed after
// New.
type Places struct {
	roots  []string // whose content is a project's: the workspace, and folders that count as such
	home   string
	own    []string // kx's directories
	kept   []string // those of them that hold more than sockets
	exempt []string // no system folder is below them
	head   func(path string) ([]byte, error)
}

// temporary are folders for what doesn't last; some lie below system folders.
var temporary = []string{
	"/tmp", "/var/tmp", "/dev/shm", "/private/tmp", "/private/var/tmp", "/var/folders", "/private/var/folders",
}

// New returns the places of a user. roots are the workspace and the folders that
// count as such. head returns the beginning of a file.
func New(roots []string, dirs paths.Dirs, head func(path string) ([]byte, error)) *Places {
	p := &Places{roots: roots, home: dirs.Home, head: head}
	for _, dir := range append([]string{dirs.State, dirs.Config, dirs.Runtime}, dirs.Defaults...) {
		if dir != "" {
			p.own = append(p.own, dir)
		}
	}
	p.kept = append([]string{dirs.State, dirs.Config}, dirs.Defaults[:min(2, len(dirs.Defaults))]...)
	p.exempt = append(append(p.exempt, roots...), temporary...)
	if len(p.home) > 1 {
		p.exempt = append(p.exempt, p.home)
	}
	return p
}

// Touch is what a command does to the file that a word names.
type Touch struct {
	Act
	Deep   bool // to all that is below
	Spread bool // deep, but what is below the workspace may be
}

// MaxHead is how much of a file is searched for a token.
const MaxHead = 64 << 10

// Both looks at a file in both of its forms.
func (p *Places) Both(written, resolved string, a Act) *wire.Guard {
	if hit := p.Match(written, a); hit != nil {
		return hit
	}
	if resolved == written {
		return nil
	}
	return p.Match(resolved, a)
}

// within reports whether name is dir or lies below it.
func within(dir, name string) bool {
	return dir != "" && strings.HasPrefix(name, dir) && (len(name) == len(dir) || dir == "/" || name[len(dir)] == '/')
}

// Match compares a path with the table. It is absolute and clean, and may hold
// wildcards; one that begins with a wildcard may begin anywhere.
func (p *Places) Match(name string, a Act) *wire.Guard {
	if name == "" {
		return nil
	}
	wild := strings.ContainsAny(name, expand.Wildcards)
	for _, dir := range p.own {
		if within(dir, name) || wild && overlaps(strings.Split(dir, "/"), name) {
			return &wire.Guard{Name: "kx", Reason: "kx's own directories are closed to tools: " + show(name)}
		}
	}
	project, home, free := 0, -1, false
	for _, root := range p.roots {
		if within(root, name) {
			project = max(project, len(root)+1)
		}
	}
	if p.home != "" && within(p.home, name) {
		home = len(p.home) + 1
	}
	for _, dir := range p.exempt {
		free = free || within(dir, name)
	}
	for at, first := 0, true; at < len(name); first = false {
		if name[at] == '/' {
			at++
		}
		end := len(name)
		if i := strings.IndexByte(name[at:], '/'); i >= 0 {
			end = at + i
		}
		part := strings.ToLower(name[at:end])
		open := wild && strings.ContainsAny(part, expand.Wildcards)
		for i := range rows {
			r := &rows[i]
			if r.acts&a == 0 || !r.reaches(at, first && name[0] == '/', project, home, free) {
				continue
			}
			if r.names(part, name[end:], open) && p.holding(r, name) {
				return &wire.Guard{Name: r.name, Reason: r.reason + ": " + show(name)}
			}
		}
		at = end
	}
	return nil
}

// names reports whether one of the names of the row begins with a part of a path
// and goes on with what comes behind it.
func (r *row) names(part, rest string, open bool) bool {
	for _, name := range r.files {
		if !open && !near(name, part) {
			continue
		}
		if follow(name, part, rest, r.reach == atHome) {
			return true
		}
	}
	return false
}

// near is a quick look: it is false of most names, and of none that begins with
// the part.
func near(name, part string) bool {
	switch {
	case part == "":
		return false
	case name[0] == '*':
		return strings.IndexByte(part, '.') >= 0 // as in all of these names
	case name[0] != part[0]:
		return false
	}
	return strings.HasPrefix(name, part) || strings.IndexByte(name, '*') >= 0
}

// reaches reports whether the part that begins at an offset is where the row
// counts. project and home are the offsets of what is below these.
func (r *row) reaches(at int, first bool, project, home int, free bool) bool {
	switch r.reach {
	case below:
		return at >= project
	case away:
		return project == 0 || at == home
	case inside:
		return project > 0 && at >= project
	case rooted:
		// The rows of the system exempt what lies below other folders; those
		// that name single files do not.
		return first && !(free && r.name == "system")
	case atHome:
		return at == home
	}
	return true
}

// follow compares a name of the table with a part of a path and what comes behind
// it; whole says that nothing may be left of the path.
func follow(name, part, rest string, whole bool) bool {
	sure := false
	for {
		want, more, several := strings.Cut(name, "/")
		same, plain := overlap(want, part)
		if !same {
			return false
		}
		sure = sure || plain
		if !several {
			return sure && (!whole || rest == "")
		}
		if rest == "" {
			return false
		}
		part, rest = rest[1:], ""
		if i := strings.IndexByte(part, '/'); i >= 0 {
			part, rest = part[:i], part[i:]
		}
		name, part = more, strings.ToLower(part)
	}
}

// holding reports whether a file holds what its row is about.
func (p *Places) holding(r *row, name string) bool {
	if !r.token {
		return true
	}
	b, err := p.head(name)
	return err == nil && token().Match(b[:min(len(b), MaxHead)])
}

// show writes a path for people: what is not known is an ellipsis.
func show(name string) string {
	return strings.NewReplacer(unknown, "…", unset, "…").Replace(name)
}

// Hit looks at what is done to one file or folder.
func (p *Places) Hit(name string, t Touch) *wire.Guard {
	if hit := p.Match(name, t.Act); hit != nil {
		return hit
	}
	return p.whole(name, t)
}

// whole looks at what is done to a folder with all that is in it, or to all that
// is in a folder.
func (p *Places) whole(name string, t Touch) *wire.Guard {
	contents := false
	dir := name
	if base := path.Base(name); Open(base) {
		contents, dir = true, path.Dir(name)
	}
	switch {
	case t.Act&Remove != 0:
	case t.Spread && t.Act&Write != 0:
	case t.Deep && t.Act&Read != 0:
		return p.sweep(dir)
	default:
		return nil
	}
	said := &wire.Guard{Name: "mass", Reason: "the home, the workspace and what is above them are not deleted or changed whole: " + show(name)}
	for _, root := range append([]string{p.home}, p.own...) {
		if root != "" && paths.Inside(dir, root) {
			return said
		}
	}
	for i, root := range p.roots {
		switch {
		case !paths.Inside(dir, root), i > 0 && dir == root:
		case dir == root && (t.Spread || contents && !t.Deep):
			// rm * takes files alone.
		default:
			return said
		}
	}
	return nil
}

// sweep looks at a folder whose files are all read: the home has credentials in
// it, and so have folders in which a row of more than one part begins.
func (p *Places) sweep(dir string) *wire.Guard {
	said := &wire.Guard{Name: "credentials", Reason: "a folder with credentials in it is not read whole: " + show(dir)}
	if p.home != "" && paths.Inside(dir, p.home) {
		return said
	}
	for _, kept := range p.kept {
		if paths.Inside(dir, kept) {
			return said
		}
	}
	if base := path.Base(dir); p.home != "" && path.Dir(dir) == p.home && !p.project(dir) {
		for i := range rows {
			if r := &rows[i]; r.acts&Read != 0 && r.reach <= away && slices.ContainsFunc(r.files, func(f string) bool { return strings.HasPrefix(f, base+"/") }) {
				return said
			}
		}
	}
	return nil
}

func (p *Places) project(name string) bool {
	for _, root := range p.roots {
		if within(root, name) {
			return true
		}
	}
	return false
}
