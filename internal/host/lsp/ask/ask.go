// Package ask asks a language server that is ready for it what kx lsp wants to know,
// and turns what it says into documents: positions as people count them, paths as
// they are seen from the workspace, no more items than were asked for. What a server
// can't say for sure is an error, never an empty answer.
//
// internal/host/lsp asks, once a service has made a View.
package ask

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	lsptype "github.com/sourcegraph/go-lsp"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/host/lsp/protocol"
	"github.com/kxtools/kx/internal/host/lsp/service"
	"github.com/kxtools/kx/pkg/wire"
)

// The usual limits of answers, for a model that reads all of it.
const (
	usualLocations = 50
	usualHover     = 2000 // characters
	usualSymbols   = 100
	// usualDiagnostics is of all files: who has more has one cause, or does not read on.
	usualDiagnostics = 100
	// mostItems is what an answer has at most: a line of the socket holds that.
	mostItems = 1000
	mostHover = 50_000
	// maxText is how much of a line stands beside a location, in characters.
	maxText = 200
)

// verb answers one kind of question about a position.
type verb struct {
	method string
	what   string // what a server without it can't tell
	answer func(w *Workspace, ctx context.Context, v *service.View, q *wire.CodeQuery, at lsptype.Position, a *wire.CodeAnswer) error
}

// verbs are the questions about a position.
var verbs = map[string]verb{
	"hover":           {"textDocument/hover", "hovers", (*Workspace).hover},
	"definition":      {"textDocument/definition", "definitions", locations("textDocument/definition")},
	"references":      {"textDocument/references", "references", (*Workspace).references},
	"implementation":  {"textDocument/implementation", "implementations", locations("textDocument/implementation")},
	"type-definition": {"textDocument/typeDefinition", "type definitions", locations("textDocument/typeDefinition")},
	"callers":         {"textDocument/prepareCallHierarchy", "callers", (*Workspace).callers},
	"rename":          {"textDocument/rename", "renames", (*Workspace).rename},
}

// at is the position of a question as the protocol sends it.
func at(path string, p lsptype.Position) lsptype.TextDocumentPositionParams {
	return lsptype.TextDocumentPositionParams{TextDocument: lsptype.TextDocumentIdentifier{URI: protocol.FromPath(path)}, Position: p}
}

func (w *Workspace) hover(ctx context.Context, v *service.View, q *wire.CodeQuery, p lsptype.Position, a *wire.CodeAnswer) error {
	var found protocol.Hover
	if err := v.Call(ctx, "textDocument/hover", at(q.Path, p), &found); err != nil {
		return err
	}
	text := strings.TrimSpace(string(found.Contents))
	a.Total = utf8.RuneCountInString(text)
	a.Hover = text
	if most := limit(q.Limit, usualHover, mostHover); a.Total > most {
		a.Hover, a.Truncated = string([]rune(text)[:most]), true
	}
	return nil
}

// locations answers with what a method gives back.
func locations(method string) func(w *Workspace, ctx context.Context, v *service.View, q *wire.CodeQuery, p lsptype.Position, a *wire.CodeAnswer) error {
	return func(w *Workspace, ctx context.Context, v *service.View, q *wire.CodeQuery, p lsptype.Position, a *wire.CodeAnswer) error {
		found, err := definitions(ctx, v, method, q.Path, p)
		if err != nil {
			return err
		}
		return w.locations(v, q, a, found)
	}
}

func definitions(ctx context.Context, v *service.View, method, path string, p lsptype.Position) ([]lsptype.Location, error) {
	var found protocol.Locations
	err := askAt(ctx, v, method, at(path, p), &found)
	return found, err
}

// askAt asks about a place. That there is nothing to ask about is an answer.
func askAt(ctx context.Context, v *service.View, method string, params, found any) error {
	err := v.Call(ctx, method, params, found)
	var said *protocol.Error
	if errors.As(err, &said) && slices.Contains(v.Server.Nothing, said.Message) {
		return nil
	}
	return err
}

func (w *Workspace) references(ctx context.Context, v *service.View, q *wire.CodeQuery, p lsptype.Position, a *wire.CodeAnswer) error {
	found, err := refers(ctx, v, q.Path, p)
	if err != nil {
		return err
	}
	return w.locations(v, q, a, found)
}

// refers returns the places of what stands at one, with those that declare it.
func refers(ctx context.Context, v *service.View, path string, p lsptype.Position) ([]lsptype.Location, error) {
	var found protocol.Locations
	params := lsptype.ReferenceParams{TextDocumentPositionParams: at(path, p), Context: lsptype.ReferenceContext{IncludeDeclaration: true}}
	err := askAt(ctx, v, "textDocument/references", params, &found)
	return found, err
}

// callers answers with the places that call what stands at a position.
func (w *Workspace) callers(ctx context.Context, v *service.View, q *wire.CodeQuery, p lsptype.Position, a *wire.CodeAnswer) error {
	var items []protocol.CallHierarchyItem
	if err := askAt(ctx, v, "textDocument/prepareCallHierarchy", at(q.Path, p), &items); err != nil {
		return err
	}
	var found []lsptype.Location
	from := map[spot]protocol.CallHierarchyItem{}
	for _, item := range items {
		var calls []protocol.IncomingCall
		if err := v.Call(ctx, "callHierarchy/incomingCalls", protocol.IncomingCallsParams{Item: item}, &calls); err != nil {
			return err
		}
		for _, c := range calls {
			for _, r := range c.FromRanges {
				found = append(found, lsptype.Location{URI: c.From.URI, Range: r})
				path, _ := protocol.ToPath(c.From.URI) // which a server escapes in its own way
				from[spot{path, !w.Inside(path), r}] = c.From
			}
		}
	}
	if err := w.locations(v, q, a, found); err != nil {
		return err
	}
	for i := range a.Locations {
		l := &a.Locations[i]
		if item, ok := from[spot{w.Abs(l.Path), l.Outside, lspRange(l.Range)}]; ok {
			l.Name, l.Kind = item.Name, kindName(item.Kind)
		}
	}
	return nil
}

// locations puts places into an answer: sorted, each once, the first ones that fit.
func (w *Workspace) locations(v *service.View, q *wire.CodeQuery, a *wire.CodeAnswer, found []lsptype.Location) error {
	list := make([]spot, 0, len(found))
	for _, l := range found {
		path, ok := protocol.ToPath(l.URI)
		if !ok {
			path = string(l.URI) // of no file: a part of an archive, say
		}
		list = append(list, spot{path, !w.Inside(path), l.Range})
	}
	slices.SortFunc(list, spot.compare)
	list = slices.Compact(list)
	a.Total = len(list)
	if most := limit(q.Limit, usualLocations, mostItems); len(list) > most {
		list, a.Truncated = list[:most], true
	}
	for _, s := range list {
		l, err := w.location(v, s)
		if err != nil {
			return err
		}
		a.Locations = append(a.Locations, l)
	}
	return nil
}

// spot is a piece of a file. Those of the workspace come first.
type spot struct {
	path    string
	outside bool
	rng     lsptype.Range
}

func (s spot) compare(o spot) int {
	if s.outside != o.outside {
		if s.outside {
			return 1
		}
		return -1
	}
	return cmp.Or(cmp.Compare(s.path, o.path), cmp.Compare(s.rng.Start.Line, o.rng.Start.Line), cmp.Compare(s.rng.Start.Character, o.rng.Start.Character))
}

// location converts a piece of a file. Where the file can't be read, or is none, it has
// only the server's numbers.
func (w *Workspace) location(v *service.View, s spot) (wire.CodeLocation, error) {
	l := wire.CodeLocation{Path: w.Show(s.path), Outside: s.outside, Range: wireRange(s.rng)}
	text, err := v.Text(s.path)
	if err != nil {
		var own *fail.Error // of the file
		if !errors.As(err, &own) {
			return l, err
		}
		l.Line, l.Column, l.EndLine, l.EndColumn = s.rng.Start.Line+1, s.rng.Start.Character+1, s.rng.End.Line+1, s.rng.End.Character+1
		return l, nil
	}
	l.Line, l.Column = text.FromLSP(s.rng.Start, v.Encoding())
	l.EndLine, l.EndColumn = text.FromLSP(s.rng.End, v.Encoding())
	if l.EndLine < l.Line || l.EndLine == l.Line && l.EndColumn < l.Column { // some servers say where it ends first
		l.Line, l.Column, l.EndLine, l.EndColumn = l.EndLine, l.EndColumn, l.Line, l.Column
	}
	l.Text = clip(text.Line(l.Line))
	return l, nil
}

// CutCandidates leaves out those for which an answer has no room.
func CutCandidates(a *wire.CodeAnswer) {
	a.Total = len(a.Candidates)
	if a.Total > mostItems {
		a.Candidates, a.Truncated = a.Candidates[:mostItems], true
	}
}

// limit is how many items an answer has.
func limit(asked, usual, most int) int {
	if asked <= 0 {
		return usual
	}
	return min(asked, most)
}

// clip is a line as it stands beside a location.
func clip(line string) string {
	return strings.ToValidUTF8(shorten(strings.TrimSpace(line), maxText), "\uFFFD")
}

// shorten cuts a text that has more characters than it may.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	n, last := 0, 0
	for i := range text { // no further than needed: a line may be all of a file
		switch n++; {
		case n == most:
			last = i
		case n > most:
			return text[:last] + "…"
		}
	}
	return text
}

func wireRange(r lsptype.Range) *wire.CodeRange {
	return &wire.CodeRange{
		Start: wire.CodePosition{Line: r.Start.Line, Character: r.Start.Character},
		End:   wire.CodePosition{Line: r.End.Line, Character: r.End.Character},
	}
}

func lspRange(r *wire.CodeRange) lsptype.Range {
	return lsptype.Range{
		Start: lsptype.Position{Line: r.Start.Line, Character: r.Start.Character},
		End:   lsptype.Position{Line: r.End.Line, Character: r.End.Character},
	}
}

// Knows reports whether a verb asks about a position.
func Knows(verb string) bool { return verbs[verb].answer != nil }

// Ask asks about a position in an open file, with a verb that it knows.
func (w *Workspace) Ask(ctx context.Context, v *service.View, name string, q *wire.CodeQuery, p lsptype.Position, a *wire.CodeAnswer) error {
	ask := verbs[name]
	if !v.Has(ask.method) {
		return fail.Unavailable(wire.CodeNotSupported, "%s does not know of %s", v.Server.Name, ask.what).WithHint("kx lsp references --help")
	}
	return ask.answer(w, ctx, v, q, p, a)
}

// LastWord is a name without its containers.
func LastWord(name string) string {
	if w := words(name); len(w) > 0 {
		return w[len(w)-1]
	}
	return name
}
