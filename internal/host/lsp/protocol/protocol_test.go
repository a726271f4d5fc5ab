package protocol

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sourcegraph/go-lsp"
)

// A change with a range, be it null, is put nowhere by most servers.
func TestFullTextHasNoRange(t *testing.T) {
	raw, err := json.Marshal(Change("file:///a", 3, "text"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"textDocument":{"uri":"file:///a","version":3},"contentChanges":[{"text":"text"}]}`
	if string(raw) != want {
		t.Errorf("%s, want %s", raw, want)
	}
}

// What servers were seen to need.
func TestHello(t *testing.T) {
	raw, err := json.Marshal(InitializeParams{ClientInfo: ClientInfo{Name: "kx"}, RootURI: "file:///w", Folders: []Folder{{"file:///w", "w"}}, Capabilities: json.RawMessage(ClientCapabilities)})
	if err != nil {
		t.Fatal(err)
	}
	var hello any
	if err := json.Unmarshal(raw, &hello); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]any{
		"processId":                               nil,
		"clientInfo.name":                         "kx",
		"rootUri":                                 "file:///w",
		"capabilities.general.positionEncodings":  []any{"utf-16"},
		"capabilities.window.workDoneProgress":    true,
		"capabilities.workspace.configuration":    true,
		"capabilities.workspace.workspaceFolders": true,
		"capabilities.workspace.didChangeWatchedFiles.dynamicRegistration":           true,
		"capabilities.workspace.didChangeWatchedFiles.relativePatternSupport":        true,
		"capabilities.workspace.diagnostics.refreshSupport":                          true,
		"capabilities.textDocument.definition.linkSupport":                           false,
		"capabilities.textDocument.documentSymbol.hierarchicalDocumentSymbolSupport": true,
		"capabilities.textDocument.rename.prepareSupport":                            true,
		"capabilities.textDocument.publishDiagnostics.versionSupport":                true,
		"capabilities.textDocument.publishDiagnostics.relatedInformation":            true,
		"capabilities.textDocument.publishDiagnostics.codeDescriptionSupport":        true,
		"capabilities.textDocument.publishDiagnostics.tagSupport.valueSet":           []any{1.0, 2.0},
		"capabilities.textDocument.diagnostic.dynamicRegistration":                   true,
		"capabilities.textDocument.callHierarchy":                                    map[string]any{},
		"capabilities.experimental.serverStatusNotification":                         true,
	} {
		at, ok := hello, true
		for _, name := range strings.Split(path, ".") {
			var m map[string]any
			if m, ok = at.(map[string]any); ok {
				at, ok = m[name]
			}
			if !ok {
				break
			}
		}
		if !ok || !reflect.DeepEqual(at, want) {
			t.Errorf("%s is %v, want %v", path, at, want)
		}
	}
	caps := hello.(map[string]any)["capabilities"].(map[string]any)
	if symbol := caps["workspace"].(map[string]any)["symbol"]; symbol == nil {
		t.Error("no workspace.symbol")
	}
}

// decoders reads a document as each of the types does, and shows what became of it.
var decoders = map[string]func([]byte) (any, error){
	"hover":       decode[*Hover],
	"locations":   decode[Locations],
	"symbols":     decode[DocumentSymbols],
	"wsymbols":    decode[[]WorkspaceSymbol],
	"diagnostic":  decode[Diagnostic],
	"report":      decode[Report],
	"published":   decode[Published],
	"calls":       decode[[]IncomingCall],
	"prepare":     decode[*PrepareRename],
	"edit":        decode[*WorkspaceEdit],
	"initialize":  decode[InitializeResult],
	"progress":    decode[Progress],
	"status":      decode[Status],
	"register":    decode[Registrations],
	"unregister":  decode[Unregistrations],
	"watchers":    decode[Watchers],
	"params-call": decode[IncomingCallsParams],
}

func decode[T any](raw []byte) (any, error) {
	var v T
	err := json.Unmarshal(raw, &v)
	return v, err
}

func span(a, b, c, d int) lsp.Range {
	return lsp.Range{Start: lsp.Position{Line: a, Character: b}, End: lsp.Position{Line: c, Character: d}}
}

const r1 = `{"start":{"line":1,"character":2},"end":{"line":3,"character":4}}`

func TestDecode(t *testing.T) {
	place := span(1, 2, 3, 4)
	seven := 7
	for _, c := range []struct {
		kind, raw string
		want      any
	}{
		{"hover", `null`, (*Hover)(nil)},
		{"hover", `{"contents":[]}`, &Hover{}},
		{"hover", `{"contents":"a"}`, &Hover{Contents: "a"}},
		{"hover", `{"contents":{"kind":"markdown","value":"**a**"},"range":` + r1 + `}`, &Hover{Contents: "**a**", Range: &place}},
		{"hover", `{"contents":{"language":"go","value":"x\n"}}`, &Hover{Contents: "```go\nx\n```"}},
		{"hover", `{"contents":["",{"language":"ts","value":"a ` + "```" + ` b"},"c"]}`, &Hover{Contents: "````ts\na ``` b\n````\n\nc"}},
		{"locations", `null`, Locations(nil)},
		{"locations", `[]`, Locations(nil)},
		{"locations", ` {"uri":"file:///a","range":` + r1 + `}`, Locations{{URI: "file:///a", Range: place}}},
		{"locations", `[{"uri":"file:///a","range":` + r1 + `},{"targetUri":"file:///b","targetRange":{},"targetSelectionRange":` + r1 + `},{}]`, Locations{{URI: "file:///a", Range: place}, {URI: "file:///b", Range: place}}},
		{"locations", `[{"targetUri":"file:///b","targetRange":` + r1 + `}]`, Locations{{URI: "file:///b", Range: place}}},
		{"symbols", `null`, DocumentSymbols(nil)},
		{"symbols", `[{"name":"a","kind":12,"range":` + r1 + `,"selectionRange":` + r1 + `,"children":[{"name":"b"}]}]`,
			DocumentSymbols{{Name: "a", Kind: 12, Range: place, SelectionRange: place, Children: []DocumentSymbol{{Name: "b"}}}}},
		{"symbols", `[{"name":"a","kind":5,"containerName":"c","location":{"uri":"file:///a","range":` + r1 + `}}]`,
			DocumentSymbols{{Name: "a", Kind: 5, ContainerName: "c", Range: place, SelectionRange: place, Location: &lsp.Location{URI: "file:///a", Range: place}}}},
		{"diagnostic", `{"range":` + r1 + `,"severity":1,"code":2322,"message":"m","tags":[1],"relatedInformation":[{"location":{"uri":"file:///b","range":` + r1 + `},"message":"here"}]}`,
			Diagnostic{Range: place, Severity: lsp.Error, Code: "2322", Message: "m", Tags: []int{1}, Related: []Related{{lsp.Location{URI: "file:///b", Range: place}, "here"}}}},
		{"diagnostic", `{"code":"E0308","source":"rustc","message":{"kind":"markdown","value":"m"}}`, Diagnostic{Code: "E0308", Source: "rustc", Message: "m"}},
		{"diagnostic", `{"code":null}`, Diagnostic{}},
		{"diagnostic", `{"code":{"value":7}}`, Diagnostic{Code: `{"value":7}`}},
		{"report", `null`, Report{}},
		{"report", `{"kind":"","items":[{"message":"m"}]}`, Report{Items: []Diagnostic{{Message: "m"}}}},
		{"report", `{"kind":"unchanged","resultId":"7","relatedDocuments":{"file:///b":{"kind":"full","items":[]}}}`,
			Report{Kind: "unchanged", ResultID: "7", Related: map[lsp.DocumentURI]Report{"file:///b": {Kind: "full", Items: []Diagnostic{}}}}},
		{"published", `{"uri":"file:///a","version":7,"diagnostics":[]}`, Published{URI: "file:///a", Version: &seven, Diagnostics: []Diagnostic{}}},
		{"published", `{"uri":"file:///a","version":null,"diagnostics":[]}`, Published{URI: "file:///a", Diagnostics: []Diagnostic{}}},
		{"prepare", `null`, (*PrepareRename)(nil)},
		{"prepare", r1, &PrepareRename{Range: &place}},
		{"prepare", `{"range":` + r1 + `,"placeholder":"x"}`, &PrepareRename{Range: &place, Placeholder: "x"}},
		{"prepare", `{"defaultBehavior":true}`, &PrepareRename{}},
		{"edit", `null`, (*WorkspaceEdit)(nil)},
		{"edit", `{"changes":{"file:///b":[{"range":` + r1 + `,"newText":"x"}],"file:///a":[]}}`,
			&WorkspaceEdit{Documents: []DocumentEdit{{URI: "file:///a", Edits: []lsp.TextEdit{}}, {URI: "file:///b", Edits: []lsp.TextEdit{{Range: place, NewText: "x"}}}}}},
		{"edit", `{"changes":{"file:///old":[]},"documentChanges":[{"kind":"rename","oldUri":"file:///a","newUri":"file:///b"},{"textDocument":{"uri":"file:///a","version":7},"edits":[{"range":` + r1 + `,"newText":"x","annotationId":"n"},{"range":` + r1 + `,"snippet":{"kind":"snippet","value":"$0"}}]},{"textDocument":{"uri":"file:///0","version":null},"edits":[]}]}`,
			&WorkspaceEdit{Unsupported: []string{"rename", "snippet"}, Documents: []DocumentEdit{{URI: "file:///0"}, {URI: "file:///a", Version: &seven, Edits: []lsp.TextEdit{{Range: place, NewText: "x"}, {Range: place}}}}}},
		{"unregister", `{"unregisterations":[{"id":"1","method":"m"}],"unregistrations":[{"id":"2"}]}`, Unregistrations{List: []Registration{{ID: "1", Method: "m"}}, Right: []Registration{{ID: "2"}}}},
	} {
		got, err := decoders[c.kind]([]byte(c.raw))
		if err != nil {
			t.Errorf("%s %s: %v", c.kind, c.raw, err)
		} else if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s %s: %s", c.kind, c.raw, d)
		}
	}
	for kind, raw := range map[string]string{"hover": `{"contents":7}`, "locations": `7`, "symbols": `{}`, "edit": `[]`, "initialize": `[]`} {
		if got, err := decoders[kind]([]byte(raw)); err == nil {
			t.Errorf("%s %s: %+v", kind, raw, got)
		}
	}
}

// The item of a call hierarchy goes back with what the server hid in it.
func TestCallHierarchyItemGoesBack(t *testing.T) {
	raw := `{"item":{"name":"f","kind":12,"tags":[1],"detail":"d","uri":"file:///a","range":` + r1 + `,"selectionRange":` + r1 + `,"data":{"x":[1,"2"]}}}`
	v, err := decode[IncomingCallsParams]([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	if back, err := json.Marshal(v); err != nil || string(back) != raw {
		t.Errorf("%s, %v", back, err)
	}
}

func TestCapabilities(t *testing.T) {
	var c Capabilities
	err := json.Unmarshal([]byte(`{
		"positionEncoding":"utf-8","hoverProvider":true,"definitionProvider":{"workDoneProgress":true},"referencesProvider":false,"implementationProvider":null,
		"renameProvider":{"prepareProvider":true},"executeCommandProvider":{"commands":["typescript.tsserverRequest"]},"textDocumentSync":{"save":{"includeText":false}},
		"diagnosticProvider":{"interFileDependencies":true}}`), &c)
	if err != nil {
		t.Fatal(err)
	}
	for method, want := range map[string]bool{
		"textDocument/hover": true, "textDocument/definition": true, "textDocument/references": false, "textDocument/implementation": false,
		"textDocument/rename": true, "textDocument/prepareRename": true, "textDocument/didSave": true, "textDocument/diagnostic": true,
		"textDocument/documentSymbol": false, "textDocument/unknown": false,
	} {
		if c.Has(method) != want {
			t.Errorf("%s: %v", method, !want)
		}
	}
	if c.PositionEncoding != "utf-8" || !c.Command("typescript.tsserverRequest") || c.Command("x") {
		t.Errorf("%+v", c)
	}
	for _, raw := range []string{`{}`, `null`, `{"textDocumentSync":1,"renameProvider":true,"executeCommandProvider":7,"positionEncoding":7}`} {
		var c Capabilities
		if err := json.Unmarshal([]byte(raw), &c); err != nil || c.Has("textDocument/didSave") || c.Has("textDocument/prepareRename") || c.Command("") || c.PositionEncoding != "" {
			t.Errorf("%s: %+v, %v", raw, c, err)
		}
	}
}

func TestRetrigger(t *testing.T) {
	for _, c := range []struct {
		code int64
		data string
		want bool
	}{
		{ServerCancelled, `{"retriggerRequest":true}`, true}, {ServerCancelled, `{"retriggerRequest":false}`, false}, {ServerCancelled, ``, true},
		{ContentModified, `{"retriggerRequest":true}`, false},
	} {
		if e := (&Error{Code: c.code, Data: json.RawMessage(c.data)}); e.Retrigger() != c.want {
			t.Errorf("%d %s", c.code, c.data)
		}
	}
}

func TestAddresses(t *testing.T) {
	for path, want := range map[string]lsp.DocumentURI{
		"/a/b.go": "file:///a/b.go", "/a b/c#d%e?f": "file:///a%20b/c%23d%25e%3Ff", "/é\n☃": "file:///%C3%A9%0A%E2%98%83", "/a:b[1]~_-.": "file:///a%3Ab%5B1%5D~_-.", "/\xff": "file:///%FF",
	} {
		got := FromPath(path)
		back, ok := ToPath(got)
		if got != want || back != path || !ok {
			t.Errorf("%q: %s, back %q %v", path, got, back, ok)
		}
	}
	for uri, want := range map[lsp.DocumentURI]string{
		"file:///c%3A/x": "/c:/x", "file:///c%3a/x": "/c:/x", "file:///a b/é": "/a b/é", "file:/a": "/a", "file://localhost/a/../b": "/b", "file:///a?q#f": "/a",
		"untitled:x": "", "": "", "file://host/a": "", "file:///%zz": "", "file:///a%00b": "", "a/b": "", "http://x/a": "", "jar:file:///a": "",
	} {
		if got, ok := ToPath(uri); got != want || ok != (want != "") {
			t.Errorf("%s: %q %v, want %q", uri, got, ok, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, raw := range []string{`null`, `[]`, `{}`, `{"contents":[{"language":"a","value":"b"}]}`, `[{"targetUri":"file:///a","targetRange":` + r1 + `}]`, r1,
		`{"documentChanges":[{"kind":"create"},{"textDocument":{"uri":"a"},"edits":[{"snippet":1}]}]}`, `{"watchers":[{"globPattern":{"baseUri":{"uri":"a"},"pattern":"b"}}]}`,
		`{"token":1,"value":{"kind":"begin","percentage":1e99}}`, `{"unregisterations":[{"id":"a"}]}`, `{"kind":"","items":[{"code":1}]}`, ClientCapabilities} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for kind, d := range decoders {
			v, err := d(raw)
			if err == nil && !json.Valid(raw) {
				t.Errorf("%s understands %q: %+v", kind, raw, v)
			}
			if c, ok := v.(InitializeResult); ok {
				c.Capabilities.Has("textDocument/prepareRename")
				c.Capabilities.Command("x")
			}
		}
	})
}

// What is written as an address is read as the same path.
func FuzzAddresses(f *testing.F) {
	for _, s := range []string{"/a", "/a b#%?\n", "file:///c%3A/x", "file://localhost/a", "/\xff\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if path, ok := ToPath(lsp.DocumentURI(s)); ok {
			if back, ok := ToPath(FromPath(path)); !ok || back != path {
				t.Errorf("%q becomes %q, and %q", s, path, back)
			}
		}
		for _, c := range FromPath(s) {
			if c <= ' ' || c > '~' || strings.ContainsRune(`#?"<>[]{}|\^`, c) {
				t.Errorf("%q has %q in its address", s, c)
			}
		}
	})
}
