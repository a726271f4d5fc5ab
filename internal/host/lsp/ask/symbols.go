package ask

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	lsptype "github.com/sourcegraph/go-lsp"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/host/lsp/position"
	"github.com/kxtools/kx/internal/host/lsp/protocol"
	"github.com/kxtools/kx/internal/host/lsp/service"
	"github.com/kxtools/kx/pkg/wire"
)

// Symbols answers with the symbols of a file.
func (w *Workspace) Symbols(ctx context.Context, v *service.View, q *wire.CodeQuery, a *wire.CodeAnswer) error {
	syms, err := documentSymbols(ctx, v, q.Path)
	if err != nil {
		return err
	}
	text, err := v.Text(q.Path)
	if err != nil {
		return err
	}
	var add func(syms []protocol.DocumentSymbol, in string, depth int)
	add = func(syms []protocol.DocumentSymbol, in string, depth int) {
		for _, s := range syms {
			c := w.symbolAt(text, v.Encoding(), q.Path, s.Name, s.Kind, s.SelectionRange, s.Range)
			c.Container, c.Depth = in, depth
			a.Symbols = append(a.Symbols, c)
			add(s.Children, within(in, s.Name), depth+1)
		}
	}
	add(syms, "", 0)
	CutSymbols(q, a)
	return nil
}

// maxContainer is how much is kept of what something stands in, in bytes: each name is in
// those of all below it.
const maxContainer = 1000

// within is what stands in a symbol stands in: the nearest, where it is too much.
func within(in, name string) string {
	if in != "" {
		name = in + "." + name
	}
	if n := len(name) - maxContainer; n > 0 {
		name = "…" + strings.ToValidUTF8(name[n:], "")
	}
	return name
}

// CutSymbols leaves out the symbols that were not asked for.
func CutSymbols(q *wire.CodeQuery, a *wire.CodeAnswer) {
	a.Total = len(a.Symbols)
	if most := limit(q.Limit, usualSymbols, mostItems); a.Total > most {
		a.Symbols, a.Truncated = a.Symbols[:most], true
	}
}

// symbolAt converts a symbol. A server that gives all of it for its name has its name
// looked for.
func (w *Workspace) symbolAt(text *position.Text, enc position.Encoding, path, name string, kind lsptype.SymbolKind, own, all lsptype.Range) wire.CodeSymbol {
	s := wire.CodeSymbol{Name: name, Kind: kindName(kind), Path: w.Show(path), Outside: !w.Inside(path), Range: wireRange(all)}
	s.Line, s.Column = text.FromLSP(own.Start, enc)
	s.EndLine, s.EndColumn = text.FromLSP(all.End, enc)
	if own == all && s.Line <= text.Lines() {
		if found := position.Names(text.Line(s.Line), plainName(name)); len(found) > 0 && !slices.Contains(found, s.Column) {
			s.Column = found[0]
		}
	}
	return s
}

func documentSymbols(ctx context.Context, v *service.View, path string) ([]protocol.DocumentSymbol, error) {
	if !v.Has("textDocument/documentSymbol") {
		return nil, fail.Unavailable("not_supported", "%s does not know of symbols", v.Server.Name)
	}
	var list protocol.DocumentSymbols
	err := v.Call(ctx, "textDocument/documentSymbol", lsptype.DocumentSymbolParams{TextDocument: lsptype.TextDocumentIdentifier{URI: protocol.FromPath(path)}}, &list)
	return list, err
}

func workspaceSymbols(ctx context.Context, v *service.View, query string) ([]protocol.WorkspaceSymbol, error) {
	if !v.Has("workspace/symbol") {
		return nil, nil
	}
	var rows []protocol.WorkspaceSymbol
	err := v.Call(ctx, "workspace/symbol", protocol.WorkspaceSymbolParams{Query: query}, &rows)
	return rows, err
}

// Find answers with the symbols of the workspace whose names fit a query, of one
// language.
func (w *Workspace) Find(ctx context.Context, v *service.View, q *wire.CodeQuery, a *wire.CodeAnswer) error {
	if !v.Has("workspace/symbol") {
		return fail.Unavailable(wire.CodeNotSupported, "%s does not look for symbols", v.Server.Name)
	}
	rows, err := workspaceSymbols(ctx, v, q.Query)
	if err != nil {
		return err
	}
	for _, r := range rows {
		path, ok := protocol.ToPath(r.Location.URI)
		if !ok {
			continue
		}
		text, err := v.Text(path)
		var own *fail.Error
		switch {
		case errors.As(err, &own):
			continue // nothing can be said of its columns
		case err != nil:
			return err
		}
		var rng lsptype.Range // a server may leave it out
		if r.Location.Range != nil {
			rng = *r.Location.Range
		}
		s := w.symbolAt(text, v.Encoding(), path, r.Name, r.Kind, rng, rng)
		s.Container = r.ContainerName
		a.Symbols = append(a.Symbols, s)
	}
	return nil
}

func kindName(k lsptype.SymbolKind) string { return strings.ToLower(k.String()) }

// Rank puts symbols in the order in which somebody who looks for a name wants them: the
// name itself, what begins with it, what holds it, the rest.
func Rank(list []wire.CodeSymbol, query string) {
	want := strings.ToLower(LastWord(query))
	far := func(s wire.CodeSymbol) int {
		switch name := strings.ToLower(plainName(s.Name)); {
		case name == want:
			return 0
		case strings.HasPrefix(name, want):
			return 1
		case strings.Contains(name, want):
			return 2
		}
		return 3
	}
	slices.SortStableFunc(list, func(a, b wire.CodeSymbol) int {
		outside := func(s wire.CodeSymbol) int {
			if s.Outside {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(outside(a), outside(b)), cmp.Compare(far(a), far(b)), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	})
}
