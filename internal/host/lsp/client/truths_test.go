package client

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sourcegraph/go-lsp"

	"github.com/kxtools/kx/internal/host/lsp/protocol"
)

// The server that other tests trust: it tells the truth, of the files as it was last
// told of them, in the columns that it counts.
func TestTruths(t *testing.T) {
	for _, unit := range []string{"utf16", "utf8"} {
		does := []string{"pull"}
		start8 := 4 // of "inner", after two spaces
		if unit == "utf8" {
			does = append(does, unit)
		}
		opt := options(t, does...)
		write := func(name, text string) lsp.DocumentURI {
			path := filepath.Join(opt.Root, name)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			return protocol.FromPath(path)
		}
		a := write("a.fk", "let outer\n  let inner 😀 shared\nlet last inner\n")
		b := write("b #é.fk", "let shared\n  use gone WARN\n")
		c := start(t, opt)
		ask := func(method string, params, result any) {
			t.Helper()
			if err := c.Call(within(t), method, params, result); err != nil {
				t.Fatalf("%s: %v", method, err)
			}
		}
		at := func(uri lsp.DocumentURI, line, column int) map[string]any {
			return map[string]any{
				"textDocument": map[string]any{"uri": uri}, "position": lsp.Position{Line: line, Character: column},
				"context": map[string]any{"includeDeclaration": true}, "newName": "other",
			}
		}
		column := 15 // of "shared", after a character of two units of UTF-16
		if unit == "utf8" {
			column = 17
		}
		var found protocol.Locations
		ask("textDocument/definition", at(a, 1, column), &found)
		if len(found) != 1 || found[0].URI != b || found[0].Range.Start.Character != start8 {
			t.Errorf("%s: definition %+v", unit, found)
		}
		ask("textDocument/references", at(b, 0, 4), &found)
		if len(found) != 2 || found[0].Range != (lsp.Range{Start: lsp.Position{Line: 1, Character: column}, End: lsp.Position{Line: 1, Character: column + 6}}) {
			t.Errorf("%s: references %+v", unit, found)
		}
		var symbols protocol.DocumentSymbols
		ask("textDocument/documentSymbol", at(a, 0, 0), &symbols)
		var names []string
		for _, s := range symbols {
			names = append(names, s.Name)
			for _, inner := range s.Children {
				names = append(names, s.Name+"."+inner.Name)
			}
		}
		if d := cmp.Diff([]string{"outer", "outer.inner", "last"}, names); d != "" {
			t.Errorf("%s: %s", unit, d)
		}
		var all []protocol.WorkspaceSymbol
		ask("workspace/symbol", protocol.WorkspaceSymbolParams{Query: "inr"}, &all)
		if len(all) != 1 || all[0].Name != "inner" || all[0].ContainerName != "outer" {
			t.Errorf("%s: symbols %+v", unit, all)
		}
		var edit *protocol.WorkspaceEdit
		ask("textDocument/rename", at(b, 0, 4), &edit)
		if edit == nil || len(edit.Documents) != 2 || edit.Documents[1].URI != b || edit.Documents[1].Edits[0].NewText != "other" {
			t.Errorf("%s: rename %+v", unit, edit)
		}
		var items []protocol.CallHierarchyItem
		ask("textDocument/prepareCallHierarchy", at(a, 1, 6), &items)
		var calls []protocol.IncomingCall
		if len(items) == 1 {
			ask("callHierarchy/incomingCalls", protocol.IncomingCallsParams{Item: items[0]}, &calls)
		}
		if len(calls) != 1 || calls[0].From.Name != "last" || len(calls[0].FromRanges) != 1 {
			t.Errorf("%s: callers %+v", unit, calls)
		}
		problems := func() string {
			var r protocol.Report
			ask("textDocument/diagnostic", at(b, 0, 0), &r)
			var list []string
			for _, d := range r.Items {
				list = append(list, string(d.Code)+" "+string(d.Message))
			}
			return strings.Join(list, "; ")
		}
		const before = "unknown gone is not declared; W1 there may be a bug"
		if got := problems(); got != before {
			t.Errorf("%s: %s", unit, got)
		}
		gone := write("gone.fk", "let gone\n")
		if got := problems(); got != before {
			t.Errorf("%s: it noticed by itself: %s", unit, got)
		}
		if err := c.Notify(within(t), "workspace/didChangeWatchedFiles", lsp.DidChangeWatchedFilesParams{Changes: []lsp.FileEvent{{URI: gone, Type: int(lsp.Created)}}}); err != nil {
			t.Fatal(err)
		}
		if got := problems(); got != "W1 there may be a bug" {
			t.Errorf("%s: %s", unit, got)
		}
	}
}
