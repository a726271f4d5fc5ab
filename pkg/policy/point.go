package policy

import (
	"encoding/json"
	"errors"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/kxtools/kx/pkg/policy/shell"
)

// place is a path in both of its forms, absolute and clean.
type place struct {
	written  string
	resolved string
}

// point is one effect of a call on one resource.
type point struct {
	tool     string // the name that rules have to fit
	effect   string
	resource string // for people: the path, address or command

	where   *place            // of a read or write, nil if there is none
	url     *address          // of a net point, nil if there is none
	leaf    *shell.Leaf       // of a bash point
	fields  map[string]string // top-level string fields of the input
	strings []place           // every string of an MCP input that may be a path

	bash    bool   // a read, write or net point of a bash call
	several bool   // a folder that is read as a whole
	away    bool   // it lies outside the workspace
	unknown string // why the resource is not known
}

// locate returns both forms of a path as it is seen from dir.
func (e *Env) locate(dir, name string) (*place, error) {
	if strings.IndexByte(name, 0) >= 0 {
		return nil, errors.New("the path has a NUL byte")
	}
	full := name
	switch {
	case name == "~" || strings.HasPrefix(name, "~/"):
		if e.Home == "" {
			return nil, errors.New("the home folder is not known")
		}
		full = e.Home + name[1:]
	case !strings.HasPrefix(name, "/"):
		full = dir + "/" + name
	}
	p := &place{written: path.Clean(full)}
	p.resolved = p.written
	if e.Resolver != nil {
		r, err := e.Resolver.Resolve(full)
		if err != nil {
			return nil, err
		}
		p.resolved = r
	}
	return p, nil
}

// inside reports whether both forms lie in the workspace or in a folder that
// counts as such.
func (e *Env) inside(p *place) bool {
	return e.holds(p.written) && e.holds(p.resolved)
}

func (e *Env) holds(name string) bool {
	if _, ok := below(e.Workspace, name); ok {
		return true
	}
	for _, dir := range e.Writable {
		if _, ok := below(dir, name); ok {
			return true
		}
	}
	return false
}

// show returns a path the short way: relative to the workspace if it is inside.
func (e *Env) show(name string) string {
	if rel, ok := below(e.Workspace, name); ok {
		return rel
	}
	return name
}

// points splits a call of any tool but bash. Without an input, its points have
// no resource and only rules without conditions speak for them.
func (e *Env) points(entry *Entry, call *Call) []point {
	var input map[string]any
	bad := ""
	if len(call.Input) > 0 {
		if err := json.Unmarshal(call.Input, &input); err != nil {
			bad = "the input is not a JSON object"
		}
	}
	base := point{tool: entry.Name, fields: stringFields(input), unknown: bad}
	if entry.Name == "apply_patch" && input != nil {
		return e.patchPoints(base, input)
	}
	if len(entry.Effects) == 0 {
		return []point{base}
	}
	var pts []point
	for _, effect := range entry.Effects {
		p := base
		p.effect = effect
		switch {
		case isMCP(entry.Name):
			p.strings = e.paths(input, nil)
		case input == nil:
		case effect == Net && entry.URL != "":
			p.setURL(base.fields[entry.URL])
		case (effect == Read || effect == Write) && entry.Path != "":
			name, given := base.fields[entry.Path]
			if !given {
				name = entry.Default
			}
			p.setPath(e, e.Cwd, name)
		}
		pts = append(pts, p)
	}
	return pts
}

func (p *point) setPath(e *Env, dir, name string) {
	if name == "" {
		p.unknown = "no path is given"
		return
	}
	where, err := e.locate(dir, name)
	if err != nil {
		p.unknown, p.resource = "the path can't be resolved: "+err.Error(), name
		return
	}
	p.where, p.resource = where, e.show(where.resolved)
}

func (p *point) setURL(text string) {
	p.resource = text
	if a, ok := parseURL(text); ok {
		p.url = &a
	} else {
		p.unknown = "the address can't be understood"
	}
}

func stringFields(input map[string]any) map[string]string {
	var fields map[string]string
	for k, v := range input {
		if s, ok := v.(string); ok {
			if fields == nil {
				fields = map[string]string{}
			}
			fields[k] = s
		}
	}
	return fields
}

// paths collects every string of an input, at any depth, that may be a path.
func (e *Env) paths(v any, to []place) []place {
	switch v := v.(type) {
	case string:
		name := v
		if rest, ok := strings.CutPrefix(strings.ToLower(name), "file:"); ok {
			name = name[len(name)-len(rest):]
			name = strings.TrimPrefix(name, "//localhost")
			if strings.HasPrefix(name, "//") {
				name = name[2:]
			}
			if plain, err := url.PathUnescape(name); err == nil {
				name = plain
			}
		}
		if name == "" || strings.ContainsRune(name, '\n') {
			return to
		}
		if p, err := e.locate(e.Cwd, name); err == nil {
			to = append(to, *p)
		}
	case []any:
		for _, item := range v {
			to = e.paths(item, to)
		}
	case map[string]any:
		for _, item := range v {
			to = e.paths(item, to)
		}
	}
	return to
}

// The lines of a patch that name a file: of the "*** Begin Patch" form, of a
// unified diff, and of git's renames.
var patchLine = regexp.MustCompile(`(?m)^(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |--- |\+\+\+ |rename (?:from|to) |copy to )(.+?)\s*$`)

// patchPoints returns a write point for each file that a patch names.
func (e *Env) patchPoints(base point, input map[string]any) []point {
	base.effect = Write
	var pts []point
	text, _ := input["patch"].(string)
	for _, m := range patchLine.FindAllStringSubmatch(text, -1) {
		name, _, _ := strings.Cut(m[1], "\t")
		if name == "/dev/null" {
			continue
		}
		if strings.HasPrefix(m[0], "--- ") || strings.HasPrefix(m[0], "+++ ") {
			if strings.HasPrefix(name, "a/") || strings.HasPrefix(name, "b/") {
				name = name[2:]
			}
		}
		p := base
		p.setPath(e, e.Cwd, name)
		pts = append(pts, p)
	}
	if pts == nil {
		base.unknown = "which files the patch changes can't be told"
		pts = []point{base}
	}
	return pts
}

// bashPoints returns the points of a leaf: what it runs, reads, writes and
// reaches.
func (e *Env) bashPoints(leaf *shell.Leaf, fields map[string]string) []point {
	pts := make([]point, 1, 4)
	pts[0] = point{tool: "bash", effect: Exec, leaf: leaf, fields: fields, resource: strings.Join(leaf.Argv(), " ")}
	for _, f := range leaf.Files {
		p := point{tool: "bash", effect: Read, leaf: leaf, fields: fields, bash: true, resource: f.Path.Text, several: f.Path.Glob}
		if f.Write {
			p.effect = Write
		}
		pts = e.filePoints(pts, p, f.Path)
	}
	for _, u := range leaf.URLs {
		p := point{tool: "bash", effect: Net, leaf: leaf, fields: fields, bash: true}
		p.setURL(u.Text)
		if !u.Literal {
			p.url, p.unknown = nil, "which address it reaches can't be told"
		}
		pts = append(pts, p)
	}
	return pts
}

// maxGlob is how many files a glob may stand for; each costs a decision.
const maxGlob = 200

// filePoints appends a point for each file that a word of the leaf may mean.
func (e *Env) filePoints(pts []point, p point, w shell.Word) []point {
	unknown := func(why string) []point {
		p.unknown = why
		return append(pts, p)
	}
	dirs := p.leaf.Dirs
	switch rooted := strings.HasPrefix(w.Text, "/") || strings.HasPrefix(w.Text, "~"); {
	case !w.Literal && !w.Glob:
		return unknown("which file it is can't be told")
	case rooted:
		dirs = []string{""}
	case dirs == nil:
		return unknown("the folder it runs in can't be told")
	}
	for _, dir := range dirs {
		if w.Literal {
			q := p
			q.setPath(e, e.Cwd, shell.Join(dir, w.Text))
			pts = append(pts, q)
			continue
		}
		names, ok := e.glob(shell.Join(dir, w.Text))
		if !ok {
			return unknown("which files it means can't be told")
		}
		for _, name := range names {
			q := p
			q.several = false
			q.setPath(e, e.Cwd, name)
			pts = append(pts, q)
		}
	}
	return pts
}

var class = regexp.MustCompile(`\[[^\]]*\]`)

// glob returns the files that an unquoted word may stand for. It may return
// more than bash would find, never less.
func (e *Env) glob(word string) ([]string, bool) {
	if e.Resolver == nil || strings.ContainsAny(word, "\\{") {
		return nil, false
	}
	pattern := class.ReplaceAllString(word, "?")
	if p, err := e.locate(e.Cwd, pattern); err == nil && !strings.Contains(pattern, "..") {
		pattern = p.written
	} else {
		return nil, false
	}
	names, err := e.Resolver.Glob(pattern)
	if err != nil || len(names) > maxGlob {
		return nil, false
	}
	if len(names) == 0 {
		names = []string{word} // bash passes on a glob that matches nothing
	}
	return names, true
}
