package faketest

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sourcegraph/go-lsp"

	"github.com/kxtools/kx/internal/host/lsp/position"
	"github.com/kxtools/kx/internal/host/lsp/protocol"
)

type object = map[string]any

// query is what requests and notifications have in them.
type query struct {
	RootURI  lsp.DocumentURI `json:"rootUri"`
	Document struct {
		URI     lsp.DocumentURI `json:"uri"`
		Version int             `json:"version"`
		Text    string          `json:"text"`
	} `json:"textDocument"`
	Position lsp.Position `json:"position"`
	Context  struct {
		Declaration bool `json:"includeDeclaration"`
	} `json:"context"`
	Query   string `json:"query"`
	NewName string `json:"newName"`
	Item    struct {
		Name string `json:"name"`
	} `json:"item"`
	Changes []struct {
		URI   lsp.DocumentURI `json:"uri"` // of a file, or
		Range *lsp.Range      `json:"range"`
		Text  string          `json:"text"`
	} `json:"changes"`
	ContentChanges []struct {
		Range json.RawMessage `json:"range"` // of a text, which has none
		Text  string          `json:"text"`
	} `json:"contentChanges"`
}

func (q query) path() string {
	path, _ := protocol.ToPath(q.Document.URI) // "" is a file that is not known
	return path
}

// notified takes a notification.
func (s *server) notified(m message) {
	var q query
	if m.Params != nil && json.Unmarshal(m.Params, &q) != nil {
		return
	}
	switch m.Method {
	case "initialized":
		s.index()
		s.initialized()
		return
	case "textDocument/didOpen":
		s.files[q.path()] = &text{q.Document.Text, q.Document.Version, true}
	case "textDocument/didChange":
		t := s.files[q.path()]
		for _, c := range q.ContentChanges {
			if t != nil && c.Range == nil { // servers put a change with a range elsewhere
				t.content, t.version = c.Text, q.Document.Version
			}
		}
	case "textDocument/didClose":
		delete(s.files, q.path())
		s.look(q.path())
	case "workspace/didChangeWatchedFiles":
		for _, c := range q.Changes {
			if path, ok := protocol.ToPath(c.URI); ok {
				s.look(path)
			}
		}
	default:
		return
	}
	s.push()
}

func (s *server) initialized() {
	if !s.has("unwatched") {
		s.ask("watch", "client/registerCapability", object{"registrations": []any{object{
			"id": "w", "method": "workspace/didChangeWatchedFiles", "registerOptions": object{"watchers": []any{object{
				"globPattern": object{"baseUri": protocol.FromPath(s.root), "pattern": "**/*" + s.ext}}}}}}})
	}
	if s.has("register") {
		s.ask("pull", "client/registerCapability", object{"registrations": []any{object{"id": "d", "method": "textDocument/diagnostic"}}})
	}
	if s.has("asks") {
		s.asking()
	}
	if s.has("loading") {
		s.load()
	} else if s.has("status") {
		s.tell("experimental/serverStatus", object{"health": "warning", "quiescent": true, "message": "it is told to be unwell"})
	}
	s.flood(s.number("flood"))
	if s.has("deaf") {
		forever()
	}
}

// push publishes the diagnostics of all open files.
func (s *server) push() {
	if s.has("pull") || s.has("register") {
		return
	}
	for _, path := range slices.Sorted(maps.Keys(s.files)) {
		if t := s.files[path]; t.open {
			if s.has("older") {
				s.older(path, t)
			}
			if s.has("only") {
				continue
			}
			doc := object{"uri": protocol.FromPath(path), "diagnostics": s.diagnostics(path)}
			if !s.has("unversioned") {
				doc["version"] = t.version
			}
			s.tell("textDocument/publishDiagnostics", doc)
			if s.has("older") {
				s.older(path, t)
			}
		}
	}
}

func (s *server) diagnostics(path string) []any {
	found := []any{}
	add := func(t token, severity int, code any, message string) {
		found = append(found, object{"range": s.place(t), "severity": severity, "code": code, "source": "fake", "message": message})
	}
	for _, t := range s.tokens(path) {
		switch {
		case t.name == "BUG":
			add(t, 1, 7, "there is a bug")
		case t.name == "WARN":
			add(t, 2, "W1", "there may be a bug")
		case t.use && len(s.declared(t.name)) == 0:
			add(t, 1, "unknown", t.name+" is not declared")
		}
	}
	return found
}

// result is the answer to a request.
func (s *server) result(m message) (any, *protocol.Error) {
	var q query
	if m.Params != nil && json.Unmarshal(m.Params, &q) != nil {
		return nil, &protocol.Error{Code: -32602, Message: "it can't read the params"}
	}
	if method, code, ok := strings.Cut(s.does["error"], ","); ok && method == m.Method && !s.erred {
		s.erred = true
		var n int64
		fmt.Sscan(code, &n)
		return nil, &protocol.Error{Code: n, Message: "it was told to fail\n    at fail (fake.js:1)"}
	}
	known := map[string]func(query) any{
		"initialize": s.initialize, "shutdown": func(query) any { return nil },
		"fake/answers": func(query) any { return s.answers }, "fake/told": func(query) any { return s.told },
		"textDocument/documentSymbol": s.documentSymbols,
	}
	if !s.busy() || s.has("waits") {
		maps.Copy(known, map[string]func(query) any{
			"textDocument/hover":      s.hover,
			"textDocument/definition": s.definition, "textDocument/typeDefinition": s.definition, "textDocument/implementation": s.definition,
			"textDocument/references": s.references, "workspace/symbol": s.workspaceSymbols,
			"textDocument/prepareRename": s.prepareRename, "textDocument/rename": s.rename,
			"textDocument/prepareCallHierarchy": s.prepareCalls, "callHierarchy/incomingCalls": s.callers,
			"textDocument/diagnostic": func(q query) any { return object{"kind": "full", "items": s.diagnostics(q.path())} },
		})
	} else if m.Method == "textDocument/diagnostic" {
		return object{"items": []any{}}, nil
	} else if known[m.Method] == nil {
		return nil, nil // as a server does that tells by its status alone that it is not ready
	}
	f := known[m.Method]
	if lacks := s.does["lacks"]; f == nil || lacks != "" && m.Method == "textDocument/"+lacks || m.Method == "textDocument/diagnostic" && !s.has("pull") && !s.has("register") {
		return nil, &protocol.Error{Code: protocol.MethodNotFound, Message: "it knows no " + m.Method}
	}
	if m.Method == "initialize" && s.has("refuse") {
		return nil, &protocol.Error{Code: protocol.InternalError, Message: s.does["refuse"]}
	}
	if err := s.taken(m.Method); err != nil {
		return nil, err
	}
	return s.odd(m.Method, f(q)), nil
}

func (s *server) initialize(q query) any {
	s.root, _ = protocol.ToPath(q.RootURI)
	s.ext = s.does["ext"]
	s.loading = s.has("loading")
	caps := object{
		"textDocumentSync": object{"openClose": true, "change": 1, "save": true}, "hoverProvider": object{}, "definitionProvider": true,
		"typeDefinitionProvider": true, "implementationProvider": true, "referencesProvider": object{"workDoneProgress": true},
		"documentSymbolProvider": true, "workspaceSymbolProvider": true, "renameProvider": object{"prepareProvider": true}, "callHierarchyProvider": true,
	}
	if s.has("pull") {
		caps["diagnosticProvider"] = object{"interFileDependencies": true}
	}
	delete(caps, s.does["lacks"]+"Provider")
	if s.enc != position.UTF16 {
		caps["positionEncoding"] = s.enc
	}
	return object{"capabilities": caps, "serverInfo": object{"name": s.does["name"], "version": s.does["version"]}}
}

func (s *server) hover(q query) any {
	if n := s.number("big"); n > 0 {
		return object{"contents": strings.Repeat("x", n)}
	}
	t, ok := s.at(q)
	found := s.declared(t.name)
	if !ok || len(found) == 0 {
		return nil
	}
	where, err := filepath.Rel(s.root, found[0].path)
	if err != nil {
		where = found[0].path
	}
	return object{"range": s.place(t), "contents": object{"kind": "markdown",
		"value": fmt.Sprintf("```fake\nlet %s\n```\n\ndeclared at %s:%d:%d", t.name, where, found[0].line, found[0].column)}}
}

func (s *server) definition(q query) any {
	t, _ := s.at(q)
	return s.locations(s.declared(t.name))
}

func (s *server) mentions(name string, declaration bool) []token {
	if len(s.declared(name)) == 0 {
		return nil
	}
	return s.find(func(t token) bool { return t.name == name && (declaration || !t.decl) })
}

func (s *server) references(q query) any {
	t, _ := s.at(q)
	return s.locations(s.mentions(t.name, q.Context.Declaration))
}

func (s *server) symbol(t token) object {
	return object{"name": t.name, "kind": lsp.SKFunction, "range": s.block(t), "selectionRange": s.place(t)}
}

func (s *server) documentSymbols(q query) any {
	roots := []object{}
	type open struct {
		indent int
		object
	}
	var stack []open
	for _, t := range s.tokens(q.path()) {
		if !t.decl {
			continue
		}
		for len(stack) > 0 && stack[len(stack)-1].indent >= t.indent {
			stack = stack[:len(stack)-1]
		}
		o := s.symbol(t)
		if len(stack) == 0 {
			roots = append(roots, o)
		} else {
			parent := stack[len(stack)-1].object
			children, _ := parent["children"].([]object)
			parent["children"] = append(children, o)
		}
		stack = append(stack, open{t.indent, o})
	}
	return roots
}

// workspaceSymbols finds names that have the letters of the query in them, in order, as
// servers do that are made for typing.
func (s *server) workspaceSymbols(q query) any {
	found := []object{}
	for _, t := range s.find(func(t token) bool { return t.decl }) {
		rest := []rune(strings.ToLower(q.Query))
		for _, r := range strings.ToLower(t.name) {
			if len(rest) > 0 && rest[0] == r {
				rest = rest[1:]
			}
		}
		if len(rest) > 0 {
			continue
		}
		o := object{"name": t.name, "kind": lsp.SKFunction, "location": lsp.Location{URI: protocol.FromPath(t.path), Range: s.place(t)}}
		if outer := s.around(t); outer != nil {
			o["containerName"] = outer.name
		}
		found = append(found, o)
	}
	return found
}

func (s *server) prepareRename(q query) any {
	t, _ := s.at(q)
	if len(s.declared(t.name)) == 0 {
		return nil
	}
	return object{"range": s.place(t), "placeholder": t.name}
}

func (s *server) rename(q query) any {
	t, _ := s.at(q)
	changes := map[lsp.DocumentURI][]lsp.TextEdit{}
	for _, m := range s.mentions(t.name, true) {
		uri := protocol.FromPath(m.path)
		changes[uri] = append(changes[uri], lsp.TextEdit{Range: s.place(m), NewText: q.NewName})
	}
	return object{"changes": changes}
}

func (s *server) item(t token) object {
	o := s.symbol(t)
	o["uri"], o["data"] = protocol.FromPath(t.path), object{"kept": t.name}
	return o
}

func (s *server) prepareCalls(q query) any {
	t, ok := s.at(q)
	found := s.declared(t.name)
	if !ok || len(found) == 0 {
		return nil
	}
	return []object{s.item(found[0])}
}

func (s *server) callers(q query) any {
	calls := []object{}
	for _, m := range s.mentions(q.Item.Name, false) {
		if from := s.around(m); from != nil {
			calls = append(calls, object{"from": s.item(*from), "fromRanges": []lsp.Range{s.place(m)}})
		}
	}
	return calls
}
