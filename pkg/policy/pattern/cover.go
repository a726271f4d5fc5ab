package pattern

import (
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/kxtools/kx/pkg/wire"
)

// Covers reports whether p, in a rule of verdict v, surely matches whatever o
// matches in a rule of verdict w. It is a proof: false may also mean that nobody
// can tell.
func (p *Command) Covers(o *Command, v, w wire.Verdict) bool {
	if len(p.Words) > len(o.Words) || !p.Rest && (o.Rest || len(p.Words) != len(o.Words)) {
		return false
	}
	if v == wire.Allow && w != wire.Allow {
		return false // it is exact, where the other takes what may be meant
	}
	for i, want := range p.Words {
		same := want == o.Words[i]
		if i == 0 && v != wire.Allow {
			same = path.Base(want) == path.Base(o.Words[i])
		}
		if !same {
			return false
		}
	}
	return true
}

// meta are the characters that stand for others in a glob.
const meta = `*?[]{}\`

// Covers is Command.Covers for paths.
func (p *Path) Covers(o *Path, v, w wire.Verdict) bool {
	if v == wire.Allow && w != wire.Allow {
		return false // both forms of a path are more than one of them
	}
	anywhere := p.root == '*' && v != wire.Allow
	same := p.root == o.root
	switch {
	case same && p.Glob == o.Glob:
		return true
	case !anywhere && !same && !(p.root == '*' && o.root == 'w') && !(p.root == 'w' && p.Glob == "**" && o.root == '*' && w == wire.Allow):
		return false
	case p.Glob == "**":
		return true
	}
	if dir, ok := strings.CutSuffix(p.Glob, "/**"); ok && same && !strings.ContainsAny(dir, meta) {
		return o.Glob == dir || strings.HasPrefix(o.Glob, dir+"/")
	}
	if name, ok := strings.CutPrefix(p.Glob, "**/"); ok && !strings.Contains(name, "/") {
		last := path.Base(o.Glob)
		return !strings.ContainsAny(last, meta) && doublestar.MatchUnvalidated(name, last)
	}
	return same && !strings.ContainsAny(o.Glob, meta) && doublestar.MatchUnvalidated(p.Glob, o.Glob)
}

// Covers is Command.Covers for addresses, which rules of all verdicts compare alike.
func (p *URL) Covers(o *URL) bool {
	if p.scheme != "*" && p.scheme != o.scheme {
		return false
	}
	dir, ok := strings.CutSuffix(p.glob, "/**")
	switch {
	case p.glob == o.glob, ok && dir == "**":
		return true
	case ok && !strings.ContainsAny(dir, meta):
		return o.glob == dir || strings.HasPrefix(o.glob, dir+"/")
	}
	return false
}

// Everything reports whether the pattern matches any address of its scheme.
func (p *URL) Everything() bool {
	host, _, _ := strings.Cut(p.glob, "/")
	return (host == "*" || host == "**") && strings.HasSuffix(p.glob, "/**")
}

// Tree returns the folder of which the pattern is everything, as Within names it.
func (p *Path) Tree() (string, bool) {
	dir, ok := strings.CutSuffix(p.Glob, "/**")
	return string(p.root) + dir, ok && !strings.ContainsAny(dir, meta)
}

// Within returns the trees that surely hold whatever the pattern matches.
func (p *Path) Within() []string { return trees(string(p.root), p.Glob) }

// Tree is Path.Tree for addresses.
func (p *URL) Tree() (string, bool) {
	dir, ok := strings.CutSuffix(p.glob, "/**")
	return dir, ok && !strings.ContainsAny(dir, meta)
}

// Within is Path.Within for addresses.
func (p *URL) Within() []string { return trees("", p.glob) }

// trees returns the folders of a glob up to its first part that is not literal.
func trees(root, glob string) []string {
	var out []string
	for i, part := range strings.Split(glob, "/") {
		if strings.ContainsAny(part, meta) {
			break
		}
		if i == 0 {
			out = append(out, root+part)
		} else {
			out = append(out, out[i-1]+"/"+part)
		}
	}
	return out
}

// Heads returns the beginnings of the words, longest first, by which a pattern that
// goes on in any way is found.
func (p *Command) Heads() []string {
	if len(p.Words) == 0 {
		return nil
	}
	out := make([]string, len(p.Words))
	head := ""
	for i, w := range p.Words {
		if i == 0 {
			w = path.Base(w)
		}
		head += w + "\x00"
		out[len(p.Words)-1-i] = head
	}
	return out
}
