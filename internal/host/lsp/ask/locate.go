package ask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	lsptype "github.com/sourcegraph/go-lsp"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/host/lsp/position"
	"github.com/kxtools/kx/internal/host/lsp/protocol"
	"github.com/kxtools/kx/internal/host/lsp/service"
	"github.com/kxtools/kx/pkg/wire"
)

// Ambiguous says that an address may mean several places.
type Ambiguous struct{ Places []wire.CodeLocation }

func (a *Ambiguous) Error() string { return fmt.Sprintf("%d places may be meant", len(a.Places)) }

// Locate returns where in an open file a question points.
func (w *Workspace) Locate(v *service.View, q *wire.CodeQuery) (lsptype.Position, error) {
	text, err := v.Text(q.Path)
	if err != nil {
		return lsptype.Position{}, err
	}
	if last := text.Lines(); q.Line < 1 || q.Line > last {
		return lsptype.Position{}, fail.Usage("%s has %d lines, there is no line %d", w.Show(q.Path), last, q.Line)
	}
	column := q.Column
	if q.Name != "" {
		line := text.Line(q.Line)
		found := position.Names(line, q.Name)
		switch {
		case len(found) == 0:
			return lsptype.Position{}, fail.NotFound("no_such_name", "line %d of %s has no name %s", q.Line, w.Show(q.Path), q.Name)
		case q.Occurrence > len(found):
			return lsptype.Position{}, fail.NotFound("no_such_name", "line %d of %s has the name %s only %d times", q.Line, w.Show(q.Path), q.Name, len(found))
		case q.Occurrence > 0:
			column = found[q.Occurrence-1]
		case len(found) > 1:
			return lsptype.Position{}, w.several(q, line, found)
		default:
			column = found[0]
		}
	}
	return text.ToLSP(q.Line, column, v.Encoding())
}

// several lists the places of a name on one line.
func (w *Workspace) several(q *wire.CodeQuery, line string, columns []int) error {
	a := &Ambiguous{}
	for _, c := range columns {
		a.Places = append(a.Places, wire.CodeLocation{
			Path: w.Show(q.Path), Line: q.Line, Column: c, EndLine: q.Line, EndColumn: c + utf8.RuneCountInString(q.Name),
			Text: clip(line), Name: q.Name,
		})
	}
	return a
}

// maxRows is how many rows a server has to give back before kx thinks that it left
// some out: gopls stops at 100, others later.
const maxRows = 100

// maxNamed is how many files that hold a name are looked through for what is called
// so, where the server does not tell.
const maxNamed = 500

// Place is where something is named.
type Place struct {
	Path string
	sym  protocol.DocumentSymbol
	in   string // its containers
}

// Named returns the places of what is called so, NAME or CONTAINER.NAME: in a file or
// below a folder, in the whole workspace for "".
func (w *Workspace) Named(ctx context.Context, v *service.View, name, within string) ([]Place, error) {
	parts := words(name)
	if len(parts) == 0 {
		return nil, fail.Usage("%q is no name", name)
	}
	last := parts[len(parts)-1]
	files := []string{within}
	if v.Speaks(within) == "" {
		var err error
		if files, err = w.filesWith(ctx, v, last, cmp.Or(within, w.root)); err != nil {
			return nil, err
		}
	}
	var list, local []Place
	for _, path := range files {
		syms, err := documentSymbols(ctx, v, path)
		if err != nil {
			return nil, err
		}
		around, err := w.around(v, path, len(parts) > 1)
		if err != nil {
			return nil, err
		}
		walk(syms, "", false, func(in string, inFunction bool, s protocol.DocumentSymbol) {
			switch p := (Place{path, s, in}); {
			case plainName(s.Name) != last || !fits(parts, around, in, s):
			case inFunction:
				local = append(local, p)
			default:
				list = append(list, p)
			}
		})
	}
	if len(list) == 0 {
		list = local
	}
	return w.declared(ctx, v, list)
}

// maxAsked is how many places of one name are asked where they are declared.
const maxAsked = 20

// declared leaves out the places that only bring in what is declared at another one:
// some servers list imports as variables.
func (w *Workspace) declared(ctx context.Context, v *service.View, list []Place) ([]Place, error) {
	if len(list) < 2 || len(list) > maxAsked || !v.Has("textDocument/definition") || !v.Has("textDocument/references") {
		return list, nil
	}
	at := map[string]bool{} // where they stand
	for _, p := range list {
		at[key(p.Path, p.sym.SelectionRange.Start)] = true
	}
	var own []Place
	for _, p := range list {
		targets, err := definitions(ctx, v, "textDocument/definition", p.Path, p.sym.SelectionRange.Start)
		if err != nil {
			return nil, err
		}
		here, elsewhere := false, false
		for _, t := range targets {
			path, _ := protocol.ToPath(t.URI)
			k := key(path, t.Range.Start)
			here = here || k == key(p.Path, p.sym.SelectionRange.Start)
			elsewhere = elsewhere || at[k]
		}
		if here || !elsewhere {
			own = append(own, p)
		}
	}
	if len(own) == 0 {
		own = list
	}
	return overloads(ctx, v, own)
}

// overloads leaves the first place of what is declared several times: the server finds
// the others where it looks for the first.
func overloads(ctx context.Context, v *service.View, list []Place) ([]Place, error) {
	var first []Place
	for _, p := range list {
		twin := func(f Place) bool { return f.Path == p.Path && f.in == p.in && f.sym.Name == p.sym.Name }
		if i := slices.IndexFunc(first, twin); i >= 0 {
			f := first[i]
			found, err := refers(ctx, v, f.Path, f.sym.SelectionRange.Start)
			if err != nil {
				return nil, err
			}
			if slices.ContainsFunc(found, func(l lsptype.Location) bool {
				path, _ := protocol.ToPath(l.URI)
				return path == p.Path && l.Range.Start == p.sym.SelectionRange.Start
			}) {
				continue
			}
		}
		first = append(first, p)
	}
	return first, nil
}

func key(path string, p lsptype.Position) string {
	return fmt.Sprint(path, ":", p.Line, ":", p.Character)
}

// filesWith returns the files below a folder in which something of a name is declared,
// as far as the server tells, else all that hold the name.
func (w *Workspace) filesWith(ctx context.Context, v *service.View, name, within string) ([]string, error) {
	rows, err := workspaceSymbols(ctx, v, name)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, r := range rows {
		path, ok := protocol.ToPath(r.Location.URI)
		if ok && paths.Inside(within, path) && plainName(r.Name) == name && !slices.Contains(files, path) {
			files = append(files, path)
		}
	}
	if len(files) > 0 && len(rows) < maxRows {
		return files, nil
	}
	for _, path := range v.Files() {
		if v.Speaks(path) == "" || !paths.Inside(within, path) || slices.Contains(files, path) {
			continue
		}
		content, err := v.Content(path)
		if err != nil {
			if fail.Exit(err) == fail.ExitLimit || fail.As(err).Code == service.Unreadable { // for the server, too
				continue
			}
			return nil, err
		}
		if hasName(content, name) {
			if files = append(files, path); len(files) > maxNamed {
				return nil, fail.Limit("too_many_files", "more than %d files hold the name %s", maxNamed, name).WithHint("kx lsp symbols --query %s", name)
			}
		}
	}
	return files, ctx.Err()
}

// hasName reports whether a name stands in a text as a whole.
func hasName(content []byte, name string) bool {
	if !strings.Contains(string(content), name) {
		return false
	}
	for line := range strings.Lines(string(content)) {
		if len(position.Names(line, name)) > 0 {
			return true
		}
	}
	return false
}

// words cuts a name with containers: a.B, a::b, a/b.C, (*T).M, (*List[T]).Add.
func words(name string) []string {
	return strings.FieldsFunc(general(name), func(r rune) bool { return strings.ContainsRune(".:/#()*&", r) })
}

// general is a name without type parameters. What is in brackets by itself is none.
func general(name string) string {
	var kept strings.Builder
	depth, before := 0, ' '
	for _, r := range name {
		named := before == '_' || unicode.IsLetter(before) || unicode.IsDigit(before)
		switch {
		case (r == '[' || r == '<') && (depth > 0 || named):
			depth++
		case depth == 0:
			kept.WriteRune(r)
		case (r == ']' || r == '>') && before != '-':
			depth--
		}
		before = r
	}
	if depth > 0 {
		return name
	}
	return kept.String()
}

// plainName is the last part of what servers call a symbol: gopls says (*T).M.
func plainName(name string) string {
	if i := strings.IndexAny(name, "(<"); i > 0 {
		name = name[:i]
	}
	if w := words(name); len(w) > 0 {
		return w[len(w)-1]
	}
	return name
}

// around are the containers of all that is in a file: the workspace, the folders in it,
// the package that the file says it is of, and the file itself. Who asks for no
// container needs none.
func (w *Workspace) around(v *service.View, path string, needed bool) ([]string, error) {
	if !needed {
		return nil, nil
	}
	content, err := v.Content(path)
	if err != nil {
		return nil, err
	}
	dir, file := filepath.Split(filepath.Join(filepath.Base(w.root), w.Show(path)))
	list := append(words(dir), words(clause(content))...)
	return append(list, words(strings.TrimSuffix(file, filepath.Ext(file)))...), nil
}

// clause is the package that a text says it is of, as in Go: it may have another name
// than its folder.
func clause(content []byte) string {
	for line := range strings.Lines(string(content)) {
		if rest, ok := strings.CutPrefix(line, "package "); ok {
			name, _, _ := strings.Cut(rest, "//")
			return strings.TrimRight(strings.TrimSpace(name), ";")
		}
	}
	return ""
}

// fits reports whether the containers that a name is asked for with are those of a
// symbol: what stands around its file, and around it in its file. What has a name of
// several words, as Rust's impl A for B, is called by each of them.
func fits(parts, around []string, in string, s protocol.DocumentSymbol) bool {
	have := slices.Concat(around, eachWord(words(in)), words(s.Name))
	parts = append(eachWord(parts[:len(parts)-1]), parts[len(parts)-1])
	at := len(have) - 1
	for want := len(parts) - 2; want >= 0; want-- {
		for at--; at >= 0 && have[at] != parts[want]; at-- {
		}
		if at < 0 {
			return false
		}
	}
	return true
}

func eachWord(names []string) []string { return strings.Fields(strings.Join(names, " ")) }

// walk visits symbols with the names of what they stand in, and whether that is a
// function.
func walk(syms []protocol.DocumentSymbol, in string, inFunction bool, visit func(in string, inFunction bool, s protocol.DocumentSymbol)) {
	for _, s := range syms {
		visit(in, inFunction, s)
		below := within(in, s.Name)
		function := inFunction || s.Kind == lsptype.SKFunction || s.Kind == lsptype.SKMethod || s.Kind == lsptype.SKConstructor
		walk(s.Children, below, function, visit)
	}
}

// ErrGone says that what was found at a place is not there any more.
var ErrGone = errors.New("the symbol has moved")

// At returns where the name of a place stands in its file, which is open now.
func (w *Workspace) At(v *service.View, p Place) (lsptype.Position, error) {
	text, err := v.Text(p.Path)
	if err != nil {
		return lsptype.Position{}, err
	}
	s := w.symbolAt(text, v.Encoding(), p.Path, p.sym.Name, p.sym.Kind, p.sym.SelectionRange, p.sym.Range)
	if s.Line > text.Lines() || !slices.Contains(position.Names(text.Line(s.Line), plainName(p.sym.Name)), s.Column) {
		return lsptype.Position{}, ErrGone
	}
	return text.ToLSP(s.Line, s.Column, v.Encoding())
}

// Candidates are the places of a name as they are listed.
func (w *Workspace) Candidates(v *service.View, places []Place) (list []wire.CodeLocation, err error) {
	for _, p := range places {
		l, err := w.location(v, spot{p.Path, false, p.sym.SelectionRange})
		if err != nil {
			return nil, err
		}
		l.Name, l.Kind = p.sym.Name, kindName(p.sym.Kind)
		if p.in != "" {
			l.Name = p.in + "." + p.sym.Name
		}
		list = append(list, l)
	}
	return list, nil
}
