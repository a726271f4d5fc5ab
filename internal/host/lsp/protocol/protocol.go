// Package protocol is what language servers and kx say to each other, where the types of
// go-lsp can't be used: those lose parts of what today's servers send, fail on it, or
// send what servers take for something else. Everything else is that package's.
//
// Decoding is tolerant: what servers are known to send is understood, whichever of the
// shapes of the protocol they chose. internal/host/lsp and its client call it.
package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sourcegraph/go-lsp"
)

// The codes of errors that mean something to a client.
const (
	MethodNotFound   = -32601
	InternalError    = -32603
	RequestCancelled = -32800
	ContentModified  = -32801 // the answer would be of an older text: ask again
	ServerCancelled  = -32802 // ask again, if Retrigger says so
)

// Error is an answer of a server that is an error.
type Error struct {
	Code    int64
	Message string
	Data    json.RawMessage
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", strings.TrimSpace(e.Message), e.Code) }

// Retrigger reports whether a diagnostic request shall be sent again.
func (e *Error) Retrigger() bool {
	var data struct {
		Retrigger *bool `json:"retriggerRequest"`
	}
	if e.Code != ServerCancelled {
		return false
	}
	_ = json.Unmarshal(e.Data, &data) // without data it is sent again, says the protocol
	return data.Retrigger == nil || *data.Retrigger
}

// DidChange is the whole new text of an open document. The change event of go-lsp has
// an empty range, by which four of five servers put the text nowhere, without an error.
type DidChange struct {
	TextDocument lsp.VersionedTextDocumentIdentifier `json:"textDocument"`
	Changes      []FullText                          `json:"contentChanges"`
}

// FullText is a change without a range.
type FullText struct {
	Text string `json:"text"`
}

// Change returns the change of a document to a text.
func Change(uri lsp.DocumentURI, version int, text string) DidChange {
	return DidChange{
		TextDocument: lsp.VersionedTextDocumentIdentifier{TextDocumentIdentifier: lsp.TextDocumentIdentifier{URI: uri}, Version: version},
		Changes:      []FullText{{text}},
	}
}

// WorkspaceSymbolParams are those of go-lsp without a limit, which the protocol lacks.
type WorkspaceSymbolParams struct {
	Query string `json:"query"`
}

// Hover is what a server tells of a position; null if it tells nothing.
type Hover struct {
	Contents Markdown   `json:"contents"`
	Range    *lsp.Range `json:"range"`
}

// Markdown is a text that comes as MarkupContent, a string, a MarkedString, or some of
// these.
type Markdown string

// UnmarshalJSON reads whichever it is.
func (m *Markdown) UnmarshalJSON(raw []byte) error {
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		parts = []json.RawMessage{raw}
	}
	var texts []string
	for _, part := range parts {
		text, err := markdown(part)
		if err != nil {
			return err
		}
		if strings.TrimSpace(text) != "" {
			texts = append(texts, text)
		}
	}
	*m = Markdown(strings.Join(texts, "\n\n"))
	return nil
}

func markdown(raw json.RawMessage) (string, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil { // null too
		return text, nil
	}
	var content struct{ Kind, Language, Value string }
	if err := json.Unmarshal(raw, &content); err != nil {
		return "", err
	}
	if content.Language == "" || content.Value == "" {
		return content.Value, nil
	}
	fence := "```"
	for strings.Contains(content.Value, fence) {
		fence += "`"
	}
	return fence + content.Language + "\n" + strings.TrimRight(content.Value, "\n") + "\n" + fence, nil
}

// Locations come as null, one location, some, or some links.
type Locations []lsp.Location

// UnmarshalJSON reads whichever it is. Of a link it is the name that it leads to.
func (l *Locations) UnmarshalJSON(raw []byte) error {
	type either struct {
		lsp.Location
		TargetURI       lsp.DocumentURI `json:"targetUri"`
		TargetRange     *lsp.Range      `json:"targetRange"`
		TargetSelection *lsp.Range      `json:"targetSelectionRange"`
	}
	var list []either
	if raw = bytes.TrimSpace(raw); len(raw) > 0 && raw[0] == '{' {
		list = make([]either, 1)
		if err := json.Unmarshal(raw, &list[0]); err != nil {
			return err
		}
	} else if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	*l = nil
	for _, e := range list {
		if e.TargetURI != "" {
			e.URI = e.TargetURI
			switch {
			case e.TargetSelection != nil:
				e.Range = *e.TargetSelection
			case e.TargetRange != nil:
				e.Range = *e.TargetRange
			}
		}
		if e.URI != "" {
			*l = append(*l, e.Location)
		}
	}
	return nil
}

// DocumentSymbol is something with a name in a file: a DocumentSymbol of the protocol,
// or a SymbolInformation, whose range is that of all of it.
type DocumentSymbol struct {
	Name           string           `json:"name"`
	Detail         string           `json:"detail"`
	Kind           lsp.SymbolKind   `json:"kind"`
	Range          lsp.Range        `json:"range"`
	SelectionRange lsp.Range        `json:"selectionRange"` // of its name
	Children       []DocumentSymbol `json:"children"`
	Location       *lsp.Location    `json:"location"` // of a SymbolInformation only
	ContainerName  string           `json:"containerName"`
}

// DocumentSymbols are those of a file.
type DocumentSymbols []DocumentSymbol

// UnmarshalJSON gives every symbol its ranges.
func (s *DocumentSymbols) UnmarshalJSON(raw []byte) error {
	var list []DocumentSymbol
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	for i := range list {
		if at := list[i].Location; at != nil {
			list[i].Range, list[i].SelectionRange = at.Range, at.Range
		}
	}
	*s = list
	return nil
}

// WorkspaceSymbol is something with a name in the workspace.
type WorkspaceSymbol struct {
	Name          string         `json:"name"`
	Kind          lsp.SymbolKind `json:"kind"`
	ContainerName string         `json:"containerName"`
	Location      struct {
		URI   lsp.DocumentURI `json:"uri"`
		Range *lsp.Range      `json:"range"` // a server may leave it out
	} `json:"location"`
}

// Diagnostic is what a server finds in a file.
type Diagnostic struct {
	Range    lsp.Range              `json:"range"`
	Severity lsp.DiagnosticSeverity `json:"severity"`
	Code     Word                   `json:"code"`
	Source   string                 `json:"source"`
	Message  Markdown               `json:"message"` // newer servers may send MarkupContent
	Tags     []int                  `json:"tags"`    // 1 unnecessary, 2 deprecated
	Related  []Related              `json:"relatedInformation"`
}

// Related is a place that explains a diagnostic.
type Related struct {
	Location lsp.Location `json:"location"`
	Message  string       `json:"message"`
}

// Word is a string or a number: a code of diagnostics, a token of progress.
type Word string

// UnmarshalJSON reads whichever it is; anything else is kept as it stands.
func (w *Word) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(bytes.TrimSpace(raw))
	}
	*w = Word(text)
	return nil
}

// Report is the answer to textDocument/diagnostic.
type Report struct {
	Kind     string                     `json:"kind"` // "", which is full, "full" or "unchanged"
	ResultID string                     `json:"resultId"`
	Items    []Diagnostic               `json:"items"`
	Related  map[lsp.DocumentURI]Report `json:"relatedDocuments"`
}

// Published is the last word of a server about a file.
type Published struct {
	URI         lsp.DocumentURI `json:"uri"`
	Version     *int            `json:"version"` // some servers don't say it
	Diagnostics []Diagnostic    `json:"diagnostics"`

	Seq int64     `json:"-"` // counts what was published, from 1
	At  time.Time `json:"-"`
}

// CallHierarchyItem is a function in a call hierarchy; it goes back as it came.
type CallHierarchyItem struct {
	Name           string          `json:"name"`
	Kind           lsp.SymbolKind  `json:"kind"`
	Tags           []int           `json:"tags,omitempty"`
	Detail         string          `json:"detail,omitempty"`
	URI            lsp.DocumentURI `json:"uri"`
	Range          lsp.Range       `json:"range"`
	SelectionRange lsp.Range       `json:"selectionRange"`
	Data           json.RawMessage `json:"data,omitempty"`
}

// IncomingCallsParams asks who calls an item.
type IncomingCallsParams struct {
	Item CallHierarchyItem `json:"item"`
}

// IncomingCall is a caller, with the places in it where it calls.
type IncomingCall struct {
	From       CallHierarchyItem `json:"from"`
	FromRanges []lsp.Range       `json:"fromRanges"`
}

// PrepareRename is the answer to textDocument/prepareRename; null if there is nothing to
// rename.
type PrepareRename struct {
	Range       *lsp.Range `json:"range"` // nil: the word at the position
	Placeholder string     `json:"placeholder"`
}

// UnmarshalJSON reads a range too.
func (p *PrepareRename) UnmarshalJSON(raw []byte) error {
	var both struct {
		Start, End  *lsp.Position
		Range       *lsp.Range
		Placeholder string
	}
	if err := json.Unmarshal(raw, &both); err != nil {
		return err
	}
	*p = PrepareRename{Range: both.Range, Placeholder: both.Placeholder}
	if both.Start != nil && both.End != nil {
		p.Range = &lsp.Range{Start: *both.Start, End: *both.End}
	}
	return nil
}

// WorkspaceEdit is what a rename changes.
type WorkspaceEdit struct {
	Documents []DocumentEdit // by address
	// Unsupported names what else it would do: create, rename, delete, snippet. An
	// edit that has some must not be made.
	Unsupported []string
}

// DocumentEdit are the edits of one document.
type DocumentEdit struct {
	URI     lsp.DocumentURI
	Version *int
	Edits   []lsp.TextEdit
}

// UnmarshalJSON reads both forms; documentChanges is preferred, as the protocol says.
func (w *WorkspaceEdit) UnmarshalJSON(raw []byte) error {
	var edit struct {
		Changes         map[lsp.DocumentURI][]lsp.TextEdit `json:"changes"`
		DocumentChanges []struct {
			Kind         string `json:"kind"`
			TextDocument struct {
				URI     lsp.DocumentURI `json:"uri"`
				Version *int            `json:"version"`
			} `json:"textDocument"`
			Edits []struct {
				lsp.TextEdit
				Snippet json.RawMessage `json:"snippet"`
			} `json:"edits"`
		} `json:"documentChanges"`
	}
	if err := json.Unmarshal(raw, &edit); err != nil {
		return err
	}
	*w = WorkspaceEdit{}
	for _, c := range edit.DocumentChanges {
		if c.Kind != "" {
			w.Unsupported = append(w.Unsupported, c.Kind)
			continue
		}
		d := DocumentEdit{URI: c.TextDocument.URI, Version: c.TextDocument.Version}
		for _, e := range c.Edits {
			if On(e.Snippet) {
				w.Unsupported = append(w.Unsupported, "snippet")
			}
			d.Edits = append(d.Edits, e.TextEdit)
		}
		w.Documents = append(w.Documents, d)
	}
	if edit.DocumentChanges == nil {
		for uri, edits := range edit.Changes {
			w.Documents = append(w.Documents, DocumentEdit{URI: uri, Edits: edits})
		}
	}
	slices.SortStableFunc(w.Documents, func(a, b DocumentEdit) int { return strings.Compare(string(a.URI), string(b.URI)) })
	return nil
}
