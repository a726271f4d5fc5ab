package wire

import "time"

// CodeQuery is a question about code: what follows a verb on the socket of kxd lsp,
// and the input of a tool lsp_VERB. A position is a line with a column, a name on a
// line, or a symbol; lines and columns count from 1, columns in characters.
type CodeQuery struct {
	Path       string `json:"path,omitempty"`
	Line       int    `json:"line,omitempty"`
	Column     int    `json:"column,omitempty"`
	Name       string `json:"name,omitempty"`       // an identifier on the line
	Occurrence int    `json:"occurrence,omitempty"` // which one of that name on the line, from 1
	Symbol     string `json:"symbol,omitempty"`     // NAME or CONTAINER.NAME
	Query      string `json:"query,omitempty"`      // of symbols: part of a name
	NewName    string `json:"new_name,omitempty"`   // of rename
	Limit      int    `json:"limit,omitempty"`      // 0 for the usual one of the verb
	// WaitMS is how long to wait for a server that is still loading, in
	// milliseconds.
	WaitMS int64 `json:"wait_ms"`
}

// The states of an answer about code. Of diagnostics it is clean or findings where
// the others are ok.
const (
	CodeOK          = "ok"
	CodeClean       = "clean"
	CodeFindings    = "findings"
	CodePending     = "pending"     // the server can't tell yet
	CodeAmbiguous   = "ambiguous"   // Candidates has the places that may be meant
	CodeUnavailable = "unavailable" // there is no server that could tell
)

// CodeNotSupported is the code of an answer where the server does not have what is asked
// for, and will not.
const CodeNotSupported = "not_supported"

// CodeAnswer answers a CodeQuery. Its type is the name of the tool, lsp_VERB.
type CodeAnswer struct {
	Type     string      `json:"type"`
	V        int         `json:"v"`
	Path     string      `json:"path,omitempty"` // as it was asked about, relative to the workspace
	Language string      `json:"language,omitempty"`
	Server   *CodeServer `json:"server,omitempty"`
	State    string      `json:"state"`
	// AsOf is when the files were compared with what the server had seen: the
	// answer is of the files as they were then.
	AsOf   *time.Time `json:"as_of,omitempty"`
	Reason string     `json:"reason,omitempty"` // why it is pending or unavailable
	Code   string     `json:"code,omitempty"`   // of the reason why it is unavailable
	Hint   string     `json:"hint,omitempty"`   // a command to type
	Note   string     `json:"note,omitempty"`   // what is to be known of the server: it is not well, or was started again

	Hover       string         `json:"hover,omitempty"` // Markdown
	Locations   []CodeLocation `json:"locations,omitempty"`
	Symbols     []CodeSymbol   `json:"symbols,omitempty"`
	Diagnostics []Diagnostic   `json:"diagnostics,omitempty"`
	Edits       []CodeEdits    `json:"edits,omitempty"`
	Candidates  []CodeLocation `json:"candidates,omitempty"`

	// Of a rename, what became of its edits: a unified diff that apply_patch takes,
	// and whether it is what was done.
	Patch   string   `json:"patch,omitempty"`
	Paths   []string `json:"paths,omitempty"`
	Added   int      `json:"added,omitempty"`
	Removed int      `json:"removed,omitempty"`
	Applied bool     `json:"applied,omitempty"`
	// ApprovalID is the request that has to be allowed before it is applied.
	ApprovalID string `json:"approval_id,omitempty"`

	Total     int  `json:"total"` // how many there are, or characters of a hover
	Truncated bool `json:"truncated,omitempty"`
	// Skipped are languages or files that the answer says nothing of.
	Skipped []CodeSkipped `json:"skipped,omitempty"`
	// Withheld is how many places are left out because policy denies their files.
	Withheld int `json:"withheld,omitempty"`
}

// CodeServer is a language server.
type CodeServer struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// CodeSkipped says why something is not part of an answer.
type CodeSkipped struct {
	Language string `json:"language,omitempty"`
	Path     string `json:"path,omitempty"`
	State    string `json:"state"` // pending or unavailable
	Reason   string `json:"reason"`
}

// CodePosition is a position as the protocol of language servers has it: from 0, in
// UTF-16 units.
type CodePosition struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// CodeRange is what is between two positions, the second one not included.
type CodeRange struct {
	Start CodePosition `json:"start"`
	End   CodePosition `json:"end"`
}

// CodeLocation is a piece of a file. The path is relative to the workspace, or
// absolute outside of it.
type CodeLocation struct {
	Path      string     `json:"path"`
	Line      int        `json:"line"`
	Column    int        `json:"column"`
	EndLine   int        `json:"end_line"`
	EndColumn int        `json:"end_column"`
	Range     *CodeRange `json:"range,omitempty"`
	Outside   bool       `json:"outside,omitempty"`
	Text      string     `json:"text,omitempty"` // the line, without the white space around it
	Name      string     `json:"name,omitempty"` // of callers and candidates: what stands there
	Kind      string     `json:"kind,omitempty"`
}

// CodeSymbol is something with a name. Line and column are those of the name, the end
// is that of all of it.
type CodeSymbol struct {
	Name      string     `json:"name"`
	Kind      string     `json:"kind"`
	Container string     `json:"container,omitempty"`
	Path      string     `json:"path"`
	Line      int        `json:"line"`
	Column    int        `json:"column"`
	EndLine   int        `json:"end_line"`
	EndColumn int        `json:"end_column"`
	Range     *CodeRange `json:"range,omitempty"`
	Outside   bool       `json:"outside,omitempty"`
	Depth     int        `json:"depth,omitempty"` // in symbols of a file: how deep it stands in others
}

// Diagnostic is what a server finds in a file.
type Diagnostic struct {
	Path      string         `json:"path"`
	Line      int            `json:"line"`
	Column    int            `json:"column"`
	EndLine   int            `json:"end_line"`
	EndColumn int            `json:"end_column"`
	Range     *CodeRange     `json:"range,omitempty"`
	Severity  string         `json:"severity"` // error, warning or information
	Source    string         `json:"source,omitempty"`
	Code      string         `json:"code,omitempty"`
	Message   string         `json:"message"`
	Tags      []string       `json:"tags,omitempty"` // unnecessary, deprecated
	Related   []CodeLocation `json:"related,omitempty"`
}

// CodeEdits are the changes of a rename in one file, against the text with the given
// digest. They don't overlap and stand in the order of the text.
type CodeEdits struct {
	Path   string     `json:"path"` // absolute
	SHA256 string     `json:"sha256"`
	Edits  []CodeEdit `json:"edits"`
}

// CodeEdit puts a text in the place of another one.
type CodeEdit struct {
	Start   int    `json:"start"` // offset in bytes
	End     int    `json:"end"`
	NewText string `json:"new_text"`
}

// LanguageServer is a server as kx lsp status shows it.
type LanguageServer struct {
	Type     string `json:"type"` // lsp_server
	V        int    `json:"v"`
	Language string `json:"language"`
	Name     string `json:"name"`
	Version  string `json:"version,omitempty"`
	// State is starting, loading, ready, ended (it is started again by the next
	// question) or failed (it ended too often).
	State     string     `json:"state"`
	PID       int        `json:"pid,omitempty"`
	Memory    int64      `json:"memory_bytes,omitempty"` // of all its processes
	OpenFiles int        `json:"open_files"`
	Started   *time.Time `json:"started_at,omitempty"`
	Reason    string     `json:"reason,omitempty"`
}

// LanguageCheck is what kx lsp doctor finds of a language.
type LanguageCheck struct {
	Type     string `json:"type"` // lsp_check
	V        int    `json:"v"`
	Language string `json:"language"`
	Used     bool   `json:"used"`  // the workspace has files of it
	State    string `json:"state"` // ok, missing, failed or untrusted
	Server   string `json:"server,omitempty"`
	Version  string `json:"version,omitempty"`
	Program  string `json:"program,omitempty"` // the path that was started
	Reason   string `json:"reason,omitempty"`
	Hint     string `json:"hint,omitempty"` // the command that mends it
}
