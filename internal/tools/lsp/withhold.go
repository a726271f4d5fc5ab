package lsp

import (
	"context"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/tools/file/place"
	"github.com/kxtools/kx/pkg/wire"
)

// withhold takes out of an answer what lies in files that the caller may not read. A
// place outside of the workspace keeps its path, which says where to look, and loses
// its text.
func (d Deps) withhold(ctx context.Context, env *tool.Env, v verb, q wire.CodeQuery, a *wire.CodeAnswer) error {
	f := filter{env: env, seen: map[string]sight{}}
	a.Candidates = f.locations(a.Candidates)
	f.left = 0 // they are none of the total
	a.Locations = f.locations(a.Locations)
	symbols := a.Symbols[:0]
	for _, s := range a.Symbols {
		var refused bool
		if s.Outside, refused = f.look(s.Path); s.Outside || !refused {
			symbols = append(symbols, s)
		} else {
			f.left++
		}
	}
	a.Symbols = symbols
	found := a.Diagnostics[:0]
	for _, d := range a.Diagnostics {
		if _, refused := f.look(d.Path); refused {
			f.left++
			continue
		}
		above := f.left
		d.Related = f.locations(d.Related)
		f.left = above // the finding itself is there
		found = append(found, d)
	}
	a.Diagnostics = found
	skipped := a.Skipped[:0]
	for _, s := range a.Skipped {
		if s.Path != "" {
			if _, refused := f.look(s.Path); refused {
				s.Path = ""
			}
		}
		skipped = append(skipped, s)
	}
	a.Skipped = skipped
	if a.Path != "" {
		if _, refused := f.look(a.Path); refused {
			a.Path = ""
		}
	}
	if a.Hover != "" {
		if err := d.withholdHover(ctx, env, q, &f, a); err != nil {
			return err
		}
	}
	a.Withheld = f.left
	if v.name != "hover" {
		a.Total = max(a.Total-f.left, 0)
	}
	return nil
}

// withholdHover takes a hover out of an answer that shows pieces of a file which the
// caller may not read: the one in which the thing is declared. Where that can't be told,
// neither can the hover.
func (d Deps) withholdHover(ctx context.Context, env *tool.Env, q wire.CodeQuery, f *filter, a *wire.CodeAnswer) error {
	q.Limit = mostItems
	at, err := d.Ask(ctx, env, "definition", q)
	if err != nil {
		return err
	}
	switch {
	case at.Code == wire.CodeNotSupported: // the server has no definitions
		return nil
	case at.State == wire.CodePending, at.State == wire.CodeUnavailable:
		a.State, a.Reason, a.Code, a.Hint = at.State, at.Reason, at.Code, at.Hint
	case at.State == wire.CodeOK && !at.Truncated && !slices.ContainsFunc(at.Locations, f.refuses):
		return nil
	default:
		f.left = 1
	}
	a.Hover, a.Total, a.Truncated = "", 0, false
	return nil
}

// filter decides which places a caller may see; a file is decided once.
type filter struct {
	env  *tool.Env
	seen map[string]sight
	left int // places that were left out
}

// sight is what was decided of a file.
type sight struct{ outside, refused bool }

// look says whether a path of an answer lies outside of the workspace, and whether its
// file may not be read.
func (f *filter) look(path string) (outside, refused bool) {
	abs := absolute(f.env, path)
	s, known := f.seen[abs]
	if !known {
		s.outside, s.refused = look(f.env, abs)
		f.seen[abs] = s
	}
	return s.outside, s.refused
}

// look decides of a file by its name and by what that leads to: servers name files as
// they came to them, through links too.
func look(env *tool.Env, abs string) (outside, refused bool) {
	outside, refused = !place.Within(env.Workspace, abs), !place.MayRead(env, abs)
	real, err := paths.Canonical("/", abs)
	if err != nil { // then it can't be read either
		return outside, true
	}
	if real != abs {
		outside, refused = outside || !place.Within(env.Workspace, real), refused || !place.MayRead(env, real)
	}
	return outside, refused
}

// refuses reports whether a place lies in a file of the workspace that may not be read.
func (f *filter) refuses(l wire.CodeLocation) bool {
	outside, refused := f.look(l.Path)
	return refused && !outside
}

func (f *filter) locations(list []wire.CodeLocation) []wire.CodeLocation {
	kept := list[:0]
	for _, l := range list {
		if l.Outside && !filepath.IsAbs(l.Path) { // what a server made up, in no file
			l.Text = ""
			kept = append(kept, l)
			continue
		}
		var refused bool
		l.Outside, refused = f.look(l.Path)
		switch {
		case refused && !l.Outside:
			f.left++
			continue
		case refused:
			l.Text = ""
		}
		kept = append(kept, l)
	}
	return kept
}

// absolute is the file that an answer means.
func absolute(env *tool.Env, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(env.Workspace, path)
	}
	return filepath.Clean(path)
}

// cut holds the caps, whatever the host has sent.
func cut(env *tool.Env, v verb, q wire.CodeQuery, a *wire.CodeAnswer) {
	if v.name == "hover" {
		most := q.Limit - hoverSlack
		// A secret that is cut in two would not be known any more.
		a.Hover = env.Secrets.String(a.Hover)
		if cut, left := place.CutRunes([]byte(a.Hover), most); left > 0 {
			a.Hover, a.Truncated = string(cut), true
		} else {
			a.Truncated = a.Truncated && a.Total > utf8.RuneCountInString(a.Hover)
		}
	}
	a.Locations = capped(a, a.Locations, q.Limit)
	a.Symbols = capped(a, a.Symbols, q.Limit)
	a.Diagnostics = capped(a, a.Diagnostics, q.Limit)
	a.Candidates = a.Candidates[:min(len(a.Candidates), maxCandidates)]
}

func capped[T any](a *wire.CodeAnswer, list []T, most int) []T {
	a.Total = max(a.Total, len(list))
	if len(list) <= most {
		return list
	}
	a.Truncated = true
	return list[:most]
}
