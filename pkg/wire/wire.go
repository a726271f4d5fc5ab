// Package wire holds the JSON documents that kx prints, reads and sends over
// its sockets. It does no I/O. Every document has a "type" and a version "v";
// keys are snake_case and times are RFC 3339 in UTC. The reference for people
// is kx-json(7).
//
// All other packages speak in these types, so this one imports nothing of kx.
package wire

import (
	"bytes"
	"encoding/json"
	"iter"
	"time"
)

// Version is the "v" of every document.
const Version = 1

// Verdict is what policy says of a call.
type Verdict string

// The three verdicts, from best to worst.
const (
	Allow Verdict = "allow"
	Ask   Verdict = "ask"
	Deny  Verdict = "deny"
)

// Worse reports whether v is stricter than o.
func (v Verdict) Worse(o Verdict) bool { return v.rank() > o.rank() }

func (v Verdict) rank() int {
	switch v {
	case Allow:
		return 0
	case Ask:
		return 1
	}
	return 2 // anything that is not understood counts as deny
}

// Call asks for one tool to be run.
type Call struct {
	Type       string          `json:"type,omitempty"`
	ID         string          `json:"id,omitempty"`
	Tool       string          `json:"tool"`
	Input      json.RawMessage `json:"input,omitempty"`
	Mode       string          `json:"mode,omitempty"`
	Session    string          `json:"session,omitempty"`
	ApprovalID string          `json:"approval_id,omitempty"`

	// Extra holds the fields of the record that kx does not know. They come
	// out again on the record that answers it.
	Extra Extra `json:"-"`
}

// Error is how a failure looks inside a document.
type Error struct {
	Code    string `json:"code"`
	Exit    int    `json:"exit,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// ErrorDoc is an error as a document of its own, on stderr or in a batch.
type ErrorDoc struct {
	Type  string `json:"type"`
	V     int    `json:"v"`
	ID    string `json:"id,omitempty"`
	Error Error  `json:"error"`
}

// Status is how a call ended.
type Status string

// The statuses of a result.
const (
	StatusOK          Status = "ok"
	StatusError       Status = "error"
	StatusDenied      Status = "denied"
	StatusPending     Status = "pending"
	StatusLimit       Status = "limit"
	StatusUnavailable Status = "unavailable"
	StatusConflict    Status = "conflict"
	StatusNotFound    Status = "not_found"
	StatusTimeout     Status = "timeout"
	StatusUnknown     Status = "unknown"
)

// Output is what a tool gives back. The key "text" is what a model sees; a tool
// adds its own keys beside it.
type Output map[string]any

// Text returns the part of the output that a model sees.
func (o Output) Text() string { s, _ := o["text"].(string); return s }

// Result answers a Call.
type Result struct {
	Type       string    `json:"type"`
	V          int       `json:"v"`
	ID         string    `json:"id"`
	Tool       string    `json:"tool"`
	Status     Status    `json:"status"`
	Output     Output    `json:"output,omitempty"`
	Error      *Error    `json:"error,omitempty"`
	Decision   *Decision `json:"decision,omitempty"`
	ApprovalID string    `json:"approval_id,omitempty"`
	Untrusted  bool      `json:"untrusted,omitempty"`
	// InputEdited says that a person changed the input before allowing it.
	InputEdited bool  `json:"input_edited,omitempty"`
	DurationMS  int64 `json:"duration_ms"`

	Extra Extra `json:"-"`
}

// Rule is a policy rule as it is shown in decisions and lists. When holds the
// conditions (command, path, url, input.FIELD) as they were written.
type Rule struct {
	Tool     string            `json:"tool"`
	Effect   string            `json:"effect,omitempty"`
	When     map[string]string `json:"when,omitempty"`
	Decision Verdict           `json:"decision"`
	Scope    string            `json:"scope"`
	Origin   string            `json:"origin"`
	Source   string            `json:"source,omitempty"`
	Final    bool              `json:"final,omitempty"`
	Sandbox  string            `json:"sandbox,omitempty"`
	Reason   string            `json:"reason,omitempty"`
	LostTo   string            `json:"lost_to,omitempty"` // of a losing rule, the source of the one that decides
	Lost     string            `json:"lost,omitempty"`    // and why it does
}

// RuleDoc is a rule as a record of its own (kx policy rules).
type RuleDoc struct {
	Type string `json:"type"`
	V    int    `json:"v"`
	// Number is the rule's place in the list, for kx policy remove.
	Number int `json:"number"`
	Rule
}

// Guard names the hard protection that a call hit.
type Guard struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Point is one effect of a call on one resource, and what was decided of it.
type Point struct {
	Effect   string  `json:"effect"`
	Resource string  `json:"resource,omitempty"`
	Decision Verdict `json:"decision"`
	Reason   string  `json:"reason,omitempty"`
	Rule     *Rule   `json:"rule"`
}

// Leaf is one simple command of a bash call. Via says how it is reached
// ("", "substitution", "wrapper timeout", ...). Runs tells a person what code of the
// workspace it runs; nothing is decided by it.
type Leaf struct {
	Argv   []string `json:"argv"`
	Via    string   `json:"via,omitempty"`
	Runs   string   `json:"runs,omitempty"`
	Points []Point  `json:"points"`
}

// Decision explains what happens to a call, and why.
type Decision struct {
	Type             string    `json:"type"`
	V                int       `json:"v"`
	ID               string    `json:"id,omitempty"`
	Tool             string    `json:"tool"`
	Loaded           bool      `json:"loaded"`
	Decision         Verdict   `json:"decision"`
	BaseDecision     Verdict   `json:"base_decision"`
	Mandatory        bool      `json:"mandatory"`
	EffectiveMode    string    `json:"effective_mode"`
	ModeApplied      bool      `json:"mode_applied"`
	ModeEffect       string    `json:"mode_effect"`
	Scope            string    `json:"scope"`
	Rule             *Rule     `json:"rule"`
	Guard            *Guard    `json:"guard"`
	Reason           string    `json:"reason"`
	Hint             string    `json:"hint,omitempty"` // what may have been meant by a name that does not exist
	ApprovalRequired bool      `json:"approval_required"`
	HooksEvaluated   bool      `json:"hooks_evaluated"`
	HookPolicy       string    `json:"hook_policy"`
	Hooks            []HookRun `json:"hooks,omitempty"`
	Points           []Point   `json:"points,omitempty"`
	Leaves           []Leaf    `json:"leaves,omitempty"`
	LosingRules      []Rule    `json:"losing_rules"`

	Extra Extra `json:"-"`
}

// Deciding yields the rule of every point, and the rule of the whole.
func (d *Decision) Deciding() iter.Seq[*Rule] {
	return func(yield func(*Rule) bool) {
		lists := [][]Point{{{Rule: d.Rule}}, d.Points}
		for _, l := range d.Leaves {
			lists = append(lists, l.Points)
		}
		for _, points := range lists {
			for _, p := range points {
				if p.Rule != nil && !yield(p.Rule) {
					return
				}
			}
		}
	}
}

// HookRun is one hook that was run for a call, and what it said.
type HookRun struct {
	Name       string  `json:"name"`
	Event      string  `json:"event"`
	Source     string  `json:"source"` // file:line
	Decision   Verdict `json:"decision,omitempty"`
	Reason     string  `json:"reason,omitempty"`
	Error      string  `json:"error,omitempty"`
	DurationMS int64   `json:"duration_ms"`
}

// MatrixCell is one tool under one mode.
type MatrixCell struct {
	Decision     Verdict `json:"decision"`
	BaseDecision Verdict `json:"base_decision"`
	ModeEffect   string  `json:"mode_effect"`
	Conditional  bool    `json:"conditional"`
}

// MatrixRow is one tool under every mode.
type MatrixRow struct {
	Type   string                `json:"type"`
	V      int                   `json:"v"`
	Tool   string                `json:"tool"`
	Loaded bool                  `json:"loaded"`
	Modes  map[string]MatrixCell `json:"modes"`
	Rule   *Rule                 `json:"rule"`
	Notes  []string              `json:"notes,omitempty"`
}

// Tool describes a tool of the surface.
type Tool struct {
	Type           string          `json:"type"`
	V              int             `json:"v"`
	Name           string          `json:"name"`
	Family         string          `json:"family"`
	Effects        []string        `json:"effects"`
	Default        Verdict         `json:"default"`
	TimeoutMS      int64           `json:"timeout_ms"`
	AllowsParallel bool            `json:"allows_parallel"`
	Plan           bool            `json:"plan"`
	State          string          `json:"state"`
	Reason         string          `json:"reason,omitempty"`
	Description    string          `json:"description,omitempty"`
	InputSchema    json.RawMessage `json:"input_schema,omitempty"`
}

// Session describes an agent's session or the calls of a workspace.
type Session struct {
	Type      string    `json:"type"`
	V         int       `json:"v"`
	ID        string    `json:"id"`
	Workspace string    `json:"workspace"`
	Mode      string    `json:"mode"`
	Model     string    `json:"model"`
	State     string    `json:"state"`
	Parent    string    `json:"parent,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	Turns     int       `json:"turns"`
	Pending   []string  `json:"pending"`
}

// Event is one line of a session: what an agent did, in order.
type Event struct {
	Type    string          `json:"type"`
	V       int             `json:"v"`
	Seq     int64           `json:"seq"`
	At      time.Time       `json:"at"`
	Session string          `json:"session"`
	Event   string          `json:"event"`
	Data    json.RawMessage `json:"data"`
}

// Run is the last record of an agent run.
type Run struct {
	Type    string         `json:"type"`
	V       int            `json:"v"`
	Session string         `json:"session"`
	State   string         `json:"state"`
	Exit    int            `json:"exit"`
	Calls   map[string]int `json:"calls"`
	Output  string         `json:"output,omitempty"`
	Usage   *Usage         `json:"usage,omitempty"`
	CostUSD float64        `json:"cost_usd,omitempty"`
}

// Usage is what models took, in tokens. What is 0 was not told.
type Usage struct {
	Input      int64 `json:"input,omitempty"` // without what the cache had
	CacheRead  int64 `json:"cache_read,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
	Output     int64 `json:"output,omitempty"` // with reasoning
	Reasoning  int64 `json:"reasoning,omitempty"`
}

// Extra is a set of fields that a record carries through kx untouched.
type Extra map[string]json.RawMessage

// Append adds to the JSON object doc the fields of e that doc does not have.
func (e Extra) Append(doc []byte) []byte {
	if len(e) == 0 {
		return doc
	}
	var have map[string]json.RawMessage
	if json.Unmarshal(doc, &have) != nil {
		return doc
	}
	add := map[string]json.RawMessage{}
	for k, v := range e {
		if _, ok := have[k]; !ok {
			add[k] = v
		}
	}
	if len(add) == 0 {
		return doc
	}
	tail, err := Marshal(add)
	if err != nil {
		return doc
	}
	doc = bytes.TrimSuffix(bytes.TrimSpace(doc), []byte("}"))
	return append(append(append([]byte{}, doc...), ','), tail[1:]...)
}

// Marshal is json.Marshal without HTML escaping and without a final newline.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
