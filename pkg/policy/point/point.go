// Package point splits a call into points: one effect on one resource, with the
// resource in the forms that rules are compared with. It decides nothing.
package point

import (
	"encoding/json"
	"errors"
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/policy/patch"
	"github.com/kxtools/kx/pkg/policy/pattern"
	"github.com/kxtools/kx/pkg/policy/shell"
)

// Resolver tells about files.
type Resolver interface {
	// Resolve returns where an absolute path leads when every symbolic link
	// in it is followed; what does not exist is kept below the nearest
	// folder that does. The path may hold "..", which counts from where a
	// link leads.
	Resolve(path string) (string, error)
	// Glob returns the existing files that match an absolute pattern of
	// *, ? and plain characters; hidden ones, too.
	Glob(pattern string) ([]string, error)
}

// Env is where a call is judged.
type Env struct {
	Workspace string                 // canonical root
	Cwd       string                 // canonical
	Home      string                 // for ~/
	Writable  []string               // folders outside the workspace that count as inside
	Temp      func(path string) bool // whether a path lies in a temp that counts as inside; nil for none
	Resolver  Resolver               // nil: paths are taken as written
}

// Roots returns the folders that path patterns start from.
func (e *Env) Roots() pattern.Roots { return pattern.Roots{Workspace: e.Workspace, Home: e.Home} }

// Point is one effect of a call on one resource.
type Point struct {
	Tool     string // the name that rules have to fit
	Effect   string
	Resource string // for people: the path, address or command

	Where   *pattern.Place    // of a read or write, nil if there is none
	URL     *pattern.Address  // of a net point, nil if there is none
	Leaf    *shell.Leaf       // of a bash point
	Fields  map[string]string // top-level string fields of the input
	Strings []pattern.Place   // every string of an MCP input that may be a path

	Bash    bool            // a read, write or net point of a bash call
	Several bool            // a folder that is read or written as a whole
	Host    bool            // what a final deny masks in the sandbox is not masked
	Names   []string        // of what is written in it, where it is a folder
	Below   []pattern.Place // the same as paths
	Away    bool            // it lies outside the workspace
	Unknown string          // why the resource is not known
}

// Locate returns both forms of a path as it is seen from dir.
func (e *Env) Locate(dir, name string) (*pattern.Place, error) {
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
	p := &pattern.Place{Written: path.Clean(full)}
	p.Resolved = p.Written
	if e.Resolver != nil {
		r, err := e.Resolver.Resolve(full)
		if err != nil {
			return nil, err
		}
		p.Resolved = r
	}
	return p, nil
}

// Holds reports whether there may be files below a path: it is a folder that is not
// empty, or nothing is known of it.
func (e *Env) Holds(p *pattern.Place) bool {
	if e.Resolver == nil || strings.ContainsAny(p.Resolved, `*?[\`) {
		return true
	}
	names, err := e.Resolver.Glob(strings.TrimSuffix(p.Resolved, "/") + "/*")
	return err != nil || len(names) > 0
}

// anyHolds reports whether one of the words may be a folder with files in it.
func (e *Env) anyHolds(leaf *shell.Leaf, words []shell.Word) bool {
	for _, w := range words {
		if !w.Literal || leaf.Dirs == nil {
			return true
		}
		for _, dir := range leaf.Dirs {
			if where, err := e.Locate(e.Cwd, shell.Join(dir, w.Text)); err != nil || e.Holds(where) {
				return true
			}
		}
	}
	return false
}

// Inside reports whether both forms lie in the workspace or in a folder that
// counts as such.
func (e *Env) Inside(p *pattern.Place) bool {
	return e.holds(p.Written) && e.holds(p.Resolved)
}

func (e *Env) holds(name string) bool {
	if _, ok := pattern.Below(e.Workspace, name); ok {
		return true
	}
	for _, dir := range e.Writable {
		if _, ok := pattern.Below(dir, name); ok {
			return true
		}
	}
	return e.Temp != nil && e.Temp(name)
}

// show returns a path the short way: relative to the workspace if it is inside.
func (e *Env) show(name string) string {
	if rel, ok := pattern.Below(e.Workspace, name); ok {
		return rel
	}
	return name
}

// Points splits a call of any tool but bash. Without an input, its points have
// no resource and only rules without conditions speak for them.
func (e *Env) Points(entry *catalogue.Entry, raw []byte) []Point {
	var input map[string]any
	bad := ""
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &input); err != nil {
			bad = "the input is not a JSON object"
		}
	}
	base := Point{Tool: entry.Name, Fields: StringFields(input), Unknown: bad}
	if entry.Name == "apply_patch" && input != nil {
		return e.patchPoints(base, input)
	}
	if len(entry.Effects) == 0 {
		return []Point{base}
	}
	var pts []Point
	for _, effect := range entry.Effects {
		p := base
		p.Effect = effect
		switch {
		case catalogue.Guessed(entry.Name):
			p.Strings = e.paths(input, nil)
		case input == nil:
		case effect == catalogue.Net && entry.URL != "":
			p.setURL(base.Fields[entry.URL])
		case (effect == catalogue.Read || effect == catalogue.Write) && entry.Path != "":
			name, given := base.Fields[entry.Path]
			if !given {
				name = entry.Default
			}
			p.setPath(e, e.Cwd, name)
		}
		pts = append(pts, p)
	}
	return pts
}

func (p *Point) setPath(e *Env, dir, name string) {
	if name == "" {
		p.Unknown = "no path is given"
		return
	}
	where, err := e.Locate(dir, name)
	if err != nil {
		p.Unknown, p.Resource = "the path can't be resolved: "+err.Error(), name
		return
	}
	p.Where, p.Resource = where, e.show(where.Resolved)
	for _, n := range p.Names {
		if in, err := e.Locate(dir, name+"/"+n); err == nil {
			p.Below = append(p.Below, *in)
		}
	}
}

func (p *Point) setURL(text string) {
	p.Resource = text
	if a, ok := pattern.ParseAddress(text); ok {
		p.URL = &a
	} else {
		p.Unknown = "the address can't be understood"
	}
}

// StringFields returns the top-level string fields of an input.
func StringFields(input map[string]any) map[string]string {
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
func (e *Env) paths(v any, to []pattern.Place) []pattern.Place {
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
		if p, err := e.Locate(e.Cwd, name); err == nil {
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

// patchPoints returns a write point for each file that a patch names, by the
// reading that the tool has of it.
func (e *Env) patchPoints(base Point, input map[string]any) []Point {
	base.Effect = catalogue.Write
	text, _ := input["patch"].(string)
	names, err := patch.Names(text)
	pts := make([]Point, 0, len(names)+1)
	for _, name := range names {
		p := base
		p.setPath(e, e.Cwd, name)
		pts = append(pts, p)
	}
	if err != nil {
		base.Unknown = "the patch can't be read: " + err.Error()
		pts = append(pts, base)
	}
	return pts
}

// Bash returns the points of a Leaf: what it runs, reads, writes and
// reaches.
func (e *Env) Bash(leaf *shell.Leaf, fields map[string]string) []Point {
	pts := make([]Point, 1, 4)
	pts[0] = Point{Tool: "bash", Effect: catalogue.Exec, Leaf: leaf, Fields: fields, Resource: strings.Join(leaf.Argv(), " ")}
	for _, f := range leaf.Files {
		p := Point{Tool: "bash", Effect: catalogue.Read, Leaf: leaf, Fields: fields, Bash: true, Resource: f.Path.Text, Several: f.Path.Tree}
		if !f.Write || f.Both {
			pts = e.Files(pts, p, f.Path)
		}
		if f.Write {
			p.Effect, p.Names = catalogue.Write, f.Names
			p.Several = p.Several && (len(f.From) == 0 || e.anyHolds(leaf, f.From))
			pts = e.Files(pts, p, f.Path)
		}
	}
	for _, u := range leaf.URLs {
		p := Point{Tool: "bash", Effect: catalogue.Net, Leaf: leaf, Fields: fields, Bash: true}
		p.setURL(u.Text)
		if !u.Literal {
			p.URL, p.Unknown = nil, "which address it reaches can't be told"
		}
		pts = append(pts, p)
	}
	return pts
}

// maxGlob is how many files a glob may stand for; each costs a decision.
const maxGlob = 200

// Files appends a point for each file that a word of the leaf may mean.
func (e *Env) Files(pts []Point, p Point, w shell.Word) []Point {
	unknown := func(why string) []Point {
		p.Unknown = why
		return append(pts, p)
	}
	if w.In != "" {
		w, p.Several = shell.Word{Text: w.In, Literal: true}, true
	}
	dirs := p.Leaf.Dirs
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
			if strings.IndexByte("*?[", w.Text[0]) >= 0 && strings.HasPrefix(path.Base(name), "-") {
				return unknown("a file in it has the name of a flag")
			}
			q := p
			q.setPath(e, e.Cwd, name)
			pts = append(pts, q)
		}
	}
	return pts
}

var class = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\[[^\]]*\]`)
})

// glob returns the files that an unquoted word may stand for. It may return
// more than bash would find, never less.
func (e *Env) glob(word string) ([]string, bool) {
	if e.Resolver == nil || strings.ContainsAny(word, "\\{") {
		return nil, false
	}
	pattern := class().ReplaceAllString(word, "?")
	if p, err := e.Locate(e.Cwd, pattern); err == nil && !strings.Contains(pattern, "..") {
		pattern = p.Written
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
