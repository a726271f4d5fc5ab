package faketest

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/sourcegraph/go-lsp"

	"github.com/kxtools/kx/internal/host/lsp/protocol"
)

// odd gives an answer another shape, of those that servers choose, or puts into it what
// some of them get wrong.
func (s *server) odd(method string, result any) any {
	list, _ := result.([]lsp.Location)
	switch kind := s.does["odd"]; {
	case kind == "null" && method != "initialize" && method != "shutdown":
		return nil
	case kind == "links" && list != nil:
		links := []object{}
		for _, l := range list {
			links = append(links, object{"targetUri": l.URI, "targetRange": l.Range, "targetSelectionRange": l.Range})
		}
		return links
	case kind == "one" && len(list) > 0:
		return list[0]
	case kind == "marked" && method == "textDocument/hover":
		return object{"contents": []any{"plain", object{"language": "fake", "value": "let marked"}}}
	case kind == "flat" && method == "textDocument/documentSymbol":
		flat := []object{}
		roots, _ := result.([]object)
		for _, o := range roots {
			flat = append(flat, object{"name": o["name"], "kind": o["kind"], "containerName": "around",
				"location": object{"uri": protocol.FromPath(filepath.Join(s.root, "a"+s.ext)), "range": o["range"]}})
		}
		return flat
	case kind == "places" && list != nil:
		at := lsp.Range{Start: lsp.Position{Line: 4, Character: 2}, End: lsp.Position{Line: 4, Character: 3}}
		for _, uri := range []lsp.DocumentURI{"file:///c%3A/x.fk", "untitled:Untitled-1", "jar:file:///a.jar!/b", "etc/hostname",
			protocol.FromPath(filepath.Join(s.root, "not there"+s.ext)), protocol.FromPath(s.root)} {
			list = append(list, lsp.Location{URI: uri, Range: at})
		}
		return list
	case kind == "ranges":
		return s.ranges(result)
	case kind == "past" && method == "textDocument/rename":
		changes, _ := result.(object)["changes"].(map[lsp.DocumentURI][]lsp.TextEdit)
		for _, edits := range changes {
			edits[0].Range.End = lsp.Position{Line: 8}
		}
	case kind == "escaped":
		raw, err := json.Marshal(result)
		if err != nil {
			return err
		}
		return json.RawMessage(strings.ReplaceAll(string(raw), s.ext+`"`, "%2E"+s.ext[1:]+`"`))
	}
	return result
}

// ranges turns every range round, and adds one far past the end and one before the start.
func (s *server) ranges(result any) any {
	switch result := result.(type) {
	case []lsp.Location:
		all := []lsp.Location{}
		for _, l := range result {
			all = append(all, lsp.Location{URI: l.URI, Range: round(l.Range)})
		}
		past, before := lsp.Position{Line: 1 << 30, Character: 1 << 30}, lsp.Position{Line: -5, Character: -5}
		uri := protocol.FromPath(filepath.Join(s.root, "a"+s.ext))
		return append(all, lsp.Location{URI: uri, Range: lsp.Range{Start: past, End: past}}, lsp.Location{URI: uri, Range: lsp.Range{Start: before, End: before}})
	case object:
		changes, _ := result["changes"].(map[lsp.DocumentURI][]lsp.TextEdit)
		for _, edits := range changes {
			for i := range edits {
				edits[i].Range = round(edits[i].Range)
			}
		}
	}
	return result
}

func round(r lsp.Range) lsp.Range { return lsp.Range{Start: r.End, End: r.Start} }

// older is what the server says of a document that is older than the one it was sent.
func (s *server) older(path string, t *text) {
	s.tell("textDocument/publishDiagnostics", object{"uri": protocol.FromPath(path), "diagnostics": []any{}, "version": t.version - 1})
}

// taken reports whether a pull is taken back, which it is three times.
func (s *server) taken(method string) *protocol.Error {
	if !s.has("retrigger") || method != "textDocument/diagnostic" || s.times >= 3 {
		return nil
	}
	if s.times++; s.times == 2 {
		s.ask("refresh", "workspace/diagnostic/refresh", nil)
	}
	return &protocol.Error{Code: protocol.ServerCancelled, Message: "later", Data: json.RawMessage(`{"retriggerRequest":true}`)}
}
