package faketest

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/sourcegraph/go-lsp"

	"github.com/kxtools/kx/internal/host/lsp/position"
	"github.com/kxtools/kx/internal/host/lsp/protocol"
)

// The language: "let NAME" declares a name, inside of the let above it that is indented
// less; "use NAME" is an error where nothing declares it. BUG is an error wherever it
// stands, WARN a warning. Every other word is a reference to the name that it is.

// world is what the server knows of the files.
type world struct {
	root  string
	ext   string
	files map[string]*text // by path
}

type text struct {
	content string
	version int
	open    bool
}

// token is a word of a text, at a place from 1.
type token struct {
	name         string
	path         string
	line, column int
	indent       int
	decl, use    bool // it stands after let, or after use
}

// look reads a file as it is on the disk.
func (w *world) look(path string) {
	if t := w.files[path]; t != nil && t.open || filepath.Ext(path) != w.ext {
		return
	}
	b, err := os.ReadFile(path)
	if err != nil {
		delete(w.files, path)
		return
	}
	w.files[path] = &text{content: string(b)}
}

// index reads all files.
func (w *world) index() {
	w.files = map[string]*text{}
	_ = filepath.WalkDir(w.root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			w.look(path)
		}
		return nil // what can't be read is not known
	})
}

// tokens are the words of a file.
func (w *world) tokens(path string) []token {
	t := w.files[path]
	if t == nil {
		return nil
	}
	var list []token
	p := position.New([]byte(t.content))
	for n := 1; n <= p.Lines(); n++ {
		line := []rune(p.Line(n))
		indent := len(line) - len([]rune(strings.TrimLeft(string(line), " \t")))
		before := ""
		for i := 0; i < len(line); {
			j := i
			for j < len(line) && (unicode.IsLetter(line[j]) || unicode.IsDigit(line[j]) || line[j] == '_') {
				j++
			}
			if j == i {
				i++
				continue
			}
			name := string(line[i:j])
			list = append(list, token{name, path, n, i + 1, indent, before == "let", before == "use"})
			before, i = name, j
		}
	}
	return list
}

// all are the words of all files, in the order of their paths.
func (w *world) all() []token {
	var list []token
	for _, path := range slices.Sorted(maps.Keys(w.files)) {
		list = append(list, w.tokens(path)...)
	}
	return list
}

func (w *world) find(ok func(token) bool) []token {
	return slices.DeleteFunc(w.all(), func(t token) bool { return !ok(t) })
}

func (w *world) declared(name string) []token {
	return w.find(func(t token) bool { return t.decl && t.name == name })
}

func (s *server) place(t token) lsp.Range {
	p := position.New([]byte(s.files[t.path].content))
	start, _ := p.ToLSP(t.line, t.column, s.enc) // it stands there
	end, _ := p.ToLSP(t.line, t.column+len([]rune(t.name)), s.enc)
	return lsp.Range{Start: start, End: end}
}

// block is all that belongs to a declaration: the lines after it that are indented more.
func (s *server) block(t token) lsp.Range {
	p := position.New([]byte(s.files[t.path].content))
	last := t.line
	for n := t.line + 1; n <= p.Lines(); n++ {
		l := p.Line(n)
		if rest := strings.TrimLeft(l, " \t"); rest != "" {
			if len([]rune(l))-len([]rune(rest)) <= t.indent {
				break
			}
			last = n
		}
	}
	start, _ := p.ToLSP(t.line, 1, s.enc)
	end, _ := p.ToLSP(last, len([]rune(p.Line(last)))+1, s.enc)
	return lsp.Range{Start: start, End: end}
}

func (s *server) locations(list []token) []lsp.Location {
	found := []lsp.Location{}
	for _, t := range list {
		found = append(found, lsp.Location{URI: protocol.FromPath(t.path), Range: s.place(t)})
	}
	return found
}

// around is the declaration in which a word stands, nil for none.
func (s *server) around(t token) *token {
	var found *token
	for _, d := range s.tokens(t.path) {
		if d.decl && (d.line < t.line && d.indent < t.indent || d.line == t.line && d.column < t.column) {
			if found == nil || d.line >= found.line {
				found = &d
			}
		}
	}
	return found
}

// at is the word at a position.
func (s *server) at(q query) (token, bool) {
	path := q.path()
	t := s.files[path]
	if t == nil {
		return token{}, false
	}
	line, column := position.New([]byte(t.content)).FromLSP(q.Position, s.enc)
	for _, w := range s.tokens(path) {
		if w.line == line && w.column <= column && column <= w.column+len([]rune(w.name)) {
			return w, true
		}
	}
	return token{}, false
}
