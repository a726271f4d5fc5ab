package lsp

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/kxtools/kx/internal/base/argv"
	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/host/lsp/ask"
	"github.com/kxtools/kx/internal/host/lsp/disk"
	"github.com/kxtools/kx/internal/host/lsp/service"
	"github.com/kxtools/kx/pkg/wire"
)

// named answers a question about what is called so, in all languages of the workspace.
func (h *Host) named(ctx context.Context, r *request, a *wire.CodeAnswer) error {
	if !ask.Knows(r.verb) {
		return fail.Usage("%s takes no symbol", r.verb).WithHint("kx lsp %s --help", r.verb)
	}
	list, err := h.asked(ctx, r)
	if err != nil {
		return err
	}
	found := 0
	var several ask.Ambiguous
	var got wire.CodeAnswer
	var out skipped
	for _, w := range list {
		one := wire.CodeAnswer{Type: a.Type, V: a.V, Language: w.name}
		var places []ask.Place
		var at []wire.CodeLocation
		more := holding(w, r.query.Symbol)
		err := w.Do(ctx, &r.setup, more, func(ctx context.Context, v *service.View) error {
			h.begin(&one, v)
			var err error
			if places, err = h.code.Named(ctx, v, r.query.Symbol, r.query.Path); err != nil || len(places) == 0 {
				return err
			}
			at, err = h.code.Candidates(v, places)
			return err
		})
		err = without(more, err)
		if err == nil && len(places) == 1 && len(several.Places) == 0 {
			err = h.askAt(ctx, r, w, places[0], &one)
		}
		if err != nil {
			if !out.skip(w.name, err) {
				return err
			}
			continue
		}
		if found += len(places); len(places) > 0 {
			several.Places = append(several.Places, at...)
			got = one
		}
	}
	switch {
	case found > 1:
		return &several
	case found == 1:
		*a = got
		a.Skipped = out.list
		return nil
	case out.first != nil:
		return out.first
	}
	if near := h.near(ctx, r, list); len(near) > 0 {
		a.Candidates = near
		return nil
	}
	return fail.NotFound("no_such_symbol", "nothing here is called %s", r.query.Symbol).WithHint("kx lsp symbols --query %s", ask.LastWord(r.query.Symbol))
}

// maxNear is how many names are offered in the place of one that there is not.
const maxNear = 5

// near are symbols that may be meant by a name that nothing has: those that servers find
// for it, or else for a part of it, as it may be misspelt, with the name nearest to it.
func (h *Host) near(ctx context.Context, r *request, list []work) (near []wire.CodeLocation) {
	name := ask.LastWord(r.query.Symbol)
	found := h.like(ctx, r, list, name)
	if half := len([]rune(name)) / 2; len(found) == 0 && half > 0 {
		begin, end := string([]rune(name)[:half]), string([]rune(name)[half:])
		found = append(h.like(ctx, r, list, begin), h.like(ctx, r, list, end)...)
		var names []string
		for _, s := range found {
			names = append(names, ask.LastWord(s.Name))
		}
		nearest := argv.Nearest(name, names)
		found = slices.DeleteFunc(found, func(s wire.CodeSymbol) bool { return ask.LastWord(s.Name) != nearest })
	}
	for _, s := range found {
		l := wire.CodeLocation{Path: s.Path, Line: s.Line, Column: s.Column, EndLine: s.EndLine, EndColumn: s.EndColumn, Name: s.Name, Kind: s.Kind}
		same := func(n wire.CodeLocation) bool { return n.Path == l.Path && n.Line == l.Line && n.Column == l.Column }
		if len(near) < maxNear && !slices.ContainsFunc(near, same) {
			near = append(near, l)
		}
	}
	return near
}

// like are the symbols of the workspace that servers find for a name.
func (h *Host) like(ctx context.Context, r *request, list []work, name string) (found []wire.CodeSymbol) {
	q := wire.CodeQuery{Query: name}
	for _, w := range list {
		var one wire.CodeAnswer
		err := w.Do(ctx, &r.setup, holding(w, name), func(ctx context.Context, v *service.View) error {
			one.Symbols = nil
			return h.code.Find(ctx, v, &q, &one)
		})
		if err == nil { // what else there is called is only an offer
			found = append(found, one.Symbols...)
		}
	}
	ask.Rank(found, name)
	return slices.DeleteFunc(found, func(s wire.CodeSymbol) bool { return s.Outside })
}

// askAt asks about the one place that a symbol has.
func (h *Host) askAt(ctx context.Context, r *request, w work, p ask.Place, a *wire.CodeAnswer) error {
	q := r.query
	q.Path, q.Symbol, q.Name = p.Path, "", ask.LastWord(r.query.Symbol)
	more, note, err := h.companions(ctx, r, w.Service, &q)
	if err != nil {
		return err
	}
	q.Name = ""
	before := a.Note // where it was looked for
	err = w.Do(ctx, &r.setup, append(more, p.Path), func(ctx context.Context, v *service.View) error {
		h.begin(a, v)
		a.Note = notes(before, a.Note, note, apart(v, r.verb, p.Path, ask.LastWord(r.query.Symbol)))
		at, err := h.code.At(v, p)
		if err != nil {
			return err
		}
		a.Path = h.code.Show(p.Path)
		return h.code.Ask(ctx, v, r.verb, &q, at, a)
	})
	return without(more, err)
}

// search answers with the symbols whose names fit a query.
func (h *Host) search(ctx context.Context, r *request, a *wire.CodeAnswer) error {
	list, err := h.asked(ctx, r)
	if err != nil {
		return err
	}
	var all []wire.CodeSymbol
	var out skipped
	var last wire.CodeAnswer
	answered := 0
	for _, w := range list {
		one := wire.CodeAnswer{Type: a.Type, V: a.V}
		more := holding(w, r.query.Query)
		err := w.Do(ctx, &r.setup, more, func(ctx context.Context, v *service.View) error {
			h.begin(&one, v)
			return h.code.Find(ctx, v, &r.query, &one)
		})
		if err = without(more, err); err != nil {
			if !out.skip(w.name, err) {
				return err
			}
			continue
		}
		answered++
		one.Note = notes(last.Note, one.Note)
		all, last = append(all, one.Symbols...), one
		if answered == 1 {
			last.Language = w.name
		}
	}
	if answered == 0 {
		if out.first != nil {
			return out.first
		}
		return fail.Unavailable("not_registered", "the workspace has no files that a language server is registered for").WithHint("man kx-lsp")
	}
	if *a = last; answered > 1 {
		a.Language, a.Server = "", nil
	}
	a.Symbols, a.Skipped = all, out.list
	ask.Rank(a.Symbols, r.query.Query)
	ask.CutSymbols(&r.query, a)
	return nil
}

// asked are the services that a question without a position goes to: that of its
// file, or all that the workspace has files for.
func (h *Host) asked(ctx context.Context, r *request) ([]work, error) {
	snap, err := h.shared.Scanner.Scan(ctx)
	if err != nil {
		return nil, err
	}
	files := snap.Paths()
	if path := r.query.Path; path != "" && path != h.root {
		if s, l := h.service(path); s != nil {
			return []work{{s, l.Name, []string{path}}}, nil
		}
		inside := files[:0:0]
		for _, f := range files {
			if paths.Inside(path, f) {
				inside = append(inside, f)
			}
		}
		files = inside
	}
	list := h.used(r, files)
	if len(list) == 0 {
		return nil, fail.Unavailable("not_registered", "the workspace has no files that a language server is registered for").WithHint("man kx-lsp")
	}
	return list, nil
}

// skipped are the languages that an answer goes on without.
type skipped struct {
	list  []wire.CodeSkipped
	first error // why the first of them is
}

// skip leaves out a language that could not answer; false if the answer can't go on.
func (s *skipped) skip(language string, err error) bool {
	state := wire.CodeUnavailable
	var late *service.Pending
	switch {
	case errors.As(err, &late), errors.Is(err, context.DeadlineExceeded):
		state = wire.CodePending
	case errors.Is(err, disk.ErrMoved), fail.Exit(err) != fail.ExitUnavailable:
		return false
	}
	s.list = append(s.list, wire.CodeSkipped{Language: language, State: state, Reason: reason(err)})
	s.first = cmp.Or(s.first, err)
	return true
}
