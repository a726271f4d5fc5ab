package protocol

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/sourcegraph/go-lsp"
)

// InitializeParams is the first message to a server.
type InitializeParams struct {
	ProcessID  *int            `json:"processId"` // null: it shall watch nobody
	ClientInfo ClientInfo      `json:"clientInfo"`
	RootURI    lsp.DocumentURI `json:"rootUri"`
	RootPath   string          `json:"rootPath"`
	Folders    []Folder        `json:"workspaceFolders"`
	Options    any             `json:"initializationOptions,omitempty"`

	Capabilities json.RawMessage `json:"capabilities"`
}

// ClientInfo names a client or a server. Servers end, or answer with an error, where a
// client has no name.
type ClientInfo struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// Folder is a folder of the workspace.
type Folder struct {
	URI  lsp.DocumentURI `json:"uri"`
	Name string          `json:"name"`
}

// ClientCapabilities is what the client can do. Links are not asked for: a location is
// all that is shown. Positions are in UTF-16 units, which every server has.
const ClientCapabilities = `{
"general": {"positionEncodings": ["utf-16"]},
"window": {"workDoneProgress": true},
"workspace": {
	"configuration": true,
	"workspaceFolders": true,
	"didChangeConfiguration": {"dynamicRegistration": true},
	"didChangeWatchedFiles": {"dynamicRegistration": true, "relativePatternSupport": true},
	"diagnostics": {"refreshSupport": true},
	"workspaceEdit": {"documentChanges": true},
	"symbol": {"symbolKind": {"valueSet": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26]}}
},
"textDocument": {
	"synchronization": {"didSave": true},
	"hover": {"contentFormat": ["markdown", "plaintext"]},
	"definition": {"linkSupport": false},
	"typeDefinition": {"linkSupport": false},
	"implementation": {"linkSupport": false},
	"references": {},
	"callHierarchy": {},
	"documentSymbol": {
		"hierarchicalDocumentSymbolSupport": true,
		"symbolKind": {"valueSet": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26]}
	},
	"rename": {"prepareSupport": true},
	"publishDiagnostics": {"versionSupport": true, "relatedInformation": true, "codeDescriptionSupport": true, "tagSupport": {"valueSet": [1, 2]}},
	"diagnostic": {"dynamicRegistration": true, "relatedDocumentSupport": false, "relatedInformation": true, "codeDescriptionSupport": true, "tagSupport": {"valueSet": [1, 2]}}
},
"experimental": {"serverStatusNotification": true}
}`

// InitializeResult is the answer to it.
type InitializeResult struct {
	Capabilities Capabilities `json:"capabilities"`
	ServerInfo   ClientInfo   `json:"serverInfo"`
}

// Capabilities is what a server can do.
type Capabilities struct {
	PositionEncoding string
	providers        map[string]json.RawMessage
}

// UnmarshalJSON keeps what servers write in many ways as it is.
func (c *Capabilities) UnmarshalJSON(raw []byte) error {
	*c = Capabilities{}
	if err := json.Unmarshal(raw, &c.providers); err != nil {
		return err
	}
	_ = json.Unmarshal(c.providers["positionEncoding"], &c.PositionEncoding) // absent, or not to be understood: the usual one
	return nil
}

// provider is the capability that a method stands on.
var provider = map[string]string{
	"textDocument/hover":                "hoverProvider",
	"textDocument/definition":           "definitionProvider",
	"textDocument/typeDefinition":       "typeDefinitionProvider",
	"textDocument/implementation":       "implementationProvider",
	"textDocument/references":           "referencesProvider",
	"textDocument/documentSymbol":       "documentSymbolProvider",
	"textDocument/rename":               "renameProvider",
	"textDocument/prepareCallHierarchy": "callHierarchyProvider",
	"textDocument/diagnostic":           "diagnosticProvider",
	"workspace/symbol":                  "workspaceSymbolProvider",
	"workspace/executeCommand":          "executeCommandProvider",
}

// Has reports whether the server has a method without having registered it later.
func (c *Capabilities) Has(method string) bool {
	switch method {
	case "textDocument/prepareRename":
		return c.option("renameProvider", "prepareProvider")
	case "textDocument/didSave":
		return c.option("textDocumentSync", "save")
	}
	name, ok := provider[method]
	return ok && On(c.providers[name])
}

// Command reports whether the server has a command of workspace/executeCommand.
func (c *Capabilities) Command(name string) bool {
	var options struct{ Commands []string }
	_ = json.Unmarshal(c.providers["executeCommandProvider"], &options) // absent: none
	return slices.Contains(options.Commands, name)
}

// option reports whether a part of a capability is on.
func (c *Capabilities) option(name, part string) bool {
	var parts map[string]json.RawMessage
	return json.Unmarshal(c.providers[name], &parts) == nil && On(parts[part])
}

// On reports whether a capability is there: anything but nothing, null and false.
func On(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && !bytes.Equal(raw, []byte("null")) && !bytes.Equal(raw, []byte("false"))
}

// Progress tells how far a piece of work is.
type Progress struct {
	Token Word `json:"token"`
	Value struct {
		Kind       string   `json:"kind"` // begin, report or end
		Title      string   `json:"title"`
		Message    string   `json:"message"`
		Percentage *float64 `json:"percentage"`
	} `json:"value"`
}

// Status is what rust-analyzer tells of itself.
type Status struct {
	Health    string `json:"health"` // ok, warning or error
	Quiescent bool   `json:"quiescent"`
	Message   string `json:"message"`
}

// Registration is a capability that a server announces later.
type Registration struct {
	ID      string          `json:"id"`
	Method  string          `json:"method"`
	Options json.RawMessage `json:"registerOptions"`
}

// Registrations are those of one request.
type Registrations struct {
	List []Registration `json:"registrations"`
}

// Unregistrations take some back. The protocol's own word is misspelt; who spells it
// right is understood too.
type Unregistrations struct {
	List  []Registration `json:"unregisterations"`
	Right []Registration `json:"unregistrations"`
}

// Watchers are the options of a registration of workspace/didChangeWatchedFiles.
type Watchers struct {
	List []struct {
		Pattern Pattern `json:"globPattern"`
	} `json:"watchers"`
}

// Pattern is a glob, which may stand below a folder.
type Pattern struct {
	Base lsp.DocumentURI // "" for none
	Glob string
}

// UnmarshalJSON reads a string, or a pattern below an address or a workspace folder.
func (p *Pattern) UnmarshalJSON(raw []byte) error {
	*p = Pattern{}
	if json.Unmarshal(raw, &p.Glob) == nil {
		return nil
	}
	var relative struct {
		Base    json.RawMessage `json:"baseUri"`
		Pattern string          `json:"pattern"`
	}
	if err := json.Unmarshal(raw, &relative); err != nil {
		return err
	}
	p.Glob = relative.Pattern
	if json.Unmarshal(relative.Base, &p.Base) == nil {
		return nil
	}
	var folder Folder
	if err := json.Unmarshal(relative.Base, &folder); err != nil {
		return err
	}
	p.Base = folder.URI
	return nil
}
