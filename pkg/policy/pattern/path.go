package pattern

import (
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/kxtools/kx/pkg/wire"
)

// Place is a path in both of its forms, absolute and clean.
type Place struct {
	Written  string // as it is written
	Resolved string // where it leads when every link is followed
}

// Roots are the folders that patterns start from.
type Roots struct {
	Workspace string
	Home      string
}

// Path is a condition on a path.
type Path struct {
	Glob     string // without its root
	root     byte   // '/' absolute, '~' home, 'w' workspace, '*' anywhere
	prefix   string // literal head of glob
	suffix   string // literal tail of glob
	needle   string // a literal part of what matches
	Absolute bool   // it says itself where it is: / or ~/
}

func ParsePath(text string) (Path, error) {
	p := Path{Glob: text, root: 'w'}
	switch {
	case strings.HasPrefix(text, "$"):
		return p, fmt.Errorf("a variable is not expanded here; write the folder itself")
	case strings.HasPrefix(text, "/"):
		p.root, p.Glob, p.Absolute = '/', text[1:], true
	case text == "~" || strings.HasPrefix(text, "~/"):
		p.root, p.Glob, p.Absolute = '~', strings.TrimPrefix(text[1:], "/"), true
	case strings.HasPrefix(text, "~"):
		return p, fmt.Errorf("only your own ~/ is expanded; write the folder itself")
	case text == "**" || strings.HasPrefix(text, "**/"):
		p.root = '*'
	}
	p.Glob = strings.TrimPrefix(p.Glob, "./")
	if strings.HasSuffix(p.Glob, "/") {
		p.Glob += "**" // a folder is everything in it
	}
	if p.Glob == "" {
		p.Glob = "."
	}
	for _, part := range strings.Split(p.Glob, "/") {
		if part == ".." || part == "." && p.Glob != "." {
			return p, fmt.Errorf("it must not contain %q; write the path that is meant", part)
		}
	}
	if !doublestar.ValidatePattern(p.Glob) {
		return p, fmt.Errorf("it is not a valid glob")
	}
	const meta = `*?[{\`
	if i := strings.IndexAny(p.Glob, meta); i >= 0 {
		p.prefix = p.Glob[:i]
		p.suffix = p.Glob[strings.LastIndexAny(p.Glob, `*?]}\`)+1:]
		// A slash beside ** may match nothing: docs/** is docs itself, too.
		p.prefix = strings.TrimSuffix(p.prefix, "/")
		p.suffix = strings.TrimPrefix(p.suffix, "/")
	} else {
		p.prefix, p.suffix = p.Glob, p.Glob
	}
	if strings.IndexAny(p.Glob, `[{\`) < 0 {
		for _, part := range strings.FieldsFunc(p.Glob, func(r rune) bool { return strings.ContainsRune("*?/", r) }) {
			if len(part) > len(p.needle) {
				p.needle = part
			}
		}
	}
	return p, nil
}

// hits reports whether one absolute, clean path matches.
func (p *Path) hits(name string, roots Roots, anywhere bool) bool {
	rel, ok := strings.TrimPrefix(name, "/"), true
	switch p.root {
	case '~':
		rel, ok = Below(roots.Home, name)
	case 'w':
		rel, ok = Below(roots.Workspace, name)
	case '*':
		if !anywhere {
			rel, ok = Below(roots.Workspace, name)
		}
	}
	if !ok || !strings.HasPrefix(rel, p.prefix) || !strings.HasSuffix(rel, p.suffix) || !strings.Contains(rel, p.needle) {
		return false
	}
	return doublestar.MatchUnvalidated(p.Glob, rel)
}

// MayMatchBelow reports whether the pattern of a deny or ask can match something
// below a folder.
func (p *Path) MayMatchBelow(where *Place, roots Roots) bool {
	return p.reaches(where.Written, roots) || where.Resolved != where.Written && p.reaches(where.Resolved, roots)
}

func (p *Path) reaches(dir string, roots Roots) bool {
	root := ""
	switch p.root {
	case '*':
		return true
	case '~':
		root = roots.Home
	case 'w':
		root = roots.Workspace
	}
	head := strings.TrimSuffix(root, "/") + "/" + p.prefix
	if head == "/" {
		return true
	}
	dir = strings.TrimSuffix(dir, "/") + "/"
	return strings.HasPrefix(head, dir) || strings.HasPrefix(dir, head)
}

// Below returns name relative to root, if it is root or inside it.
func Below(root, name string) (string, bool) {
	switch {
	case root == "":
		return "", false
	case name == root:
		return ".", true
	case root == "/":
		return name[1:], true
	case strings.HasPrefix(name, root) && name[len(root)] == '/':
		return name[len(root)+1:], true
	}
	return "", false
}

// Matches compares both forms of a path. An allow needs both: one form is a miss
// that a person can be told of.
func (p *Path) Matches(where *Place, roots Roots, verdict wire.Verdict) Match {
	anywhere := verdict != wire.Allow
	a := p.hits(where.Written, roots, anywhere)
	b := a
	if where.Resolved != where.Written {
		b = p.hits(where.Resolved, roots, anywhere)
	}
	switch {
	case a && b:
		return Fully
	case a || b:
		return OneForm
	}
	return No
}
