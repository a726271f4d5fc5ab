package audit

import (
	"encoding/json"
	"time"

	"github.com/kxtools/kx/pkg/wire"
)

// The types of lines.
const (
	TypeDecision     = "audit"
	TypeOutcome      = "outcome"
	TypeApproval     = "approval"
	TypePolicyChange = "policy_change"
	TypeTrustChange  = "trust_change"
	TypeSecretChange = "secret_change"
	TypeSessionStop  = "session_stop"
)

// Place is what the log itself puts into a line. It is empty in a line that is
// to be appended.
type Place struct {
	Seq  int64     `json:"seq,omitempty"`
	At   time.Time `json:"at,omitzero"`
	Prev string    `json:"prev,omitempty"` // hex sha256 of the line before
}

// Decision says what was decided of a call, before anything ran. Input is the
// redacted view, InputBlob names the exact one.
type Decision struct {
	Type      string `json:"type"`
	V         int    `json:"v"`
	CallID    string `json:"call_id"`
	Session   string `json:"session"`
	Caller    string `json:"caller"`
	Workspace string `json:"workspace"`
	Cwd       string `json:"cwd"`
	wire.Decision
	Input        json.RawMessage `json:"input"`
	InputBlob    string          `json:"input_blob"`
	ActionHash   string          `json:"action_hash"`
	DecidedBy    wire.Decider    `json:"decided_by"`
	ApprovalID   string          `json:"approval_id,omitempty"`
	PolicyDigest string          `json:"policy_digest"`
	Place
}

// Outcome says how a call ended.
type Outcome struct {
	Type       string         `json:"type"`
	V          int            `json:"v"`
	CallID     string         `json:"call_id"`
	Status     wire.Status    `json:"status"`
	Bytes      int64          `json:"bytes"`
	DurationMS int64          `json:"duration_ms"`
	Hooks      []wire.HookRun `json:"hooks,omitempty"` // of post_tool_use
	Place
}

// StateRefused is the state of a line about somebody who wanted to answer and is no
// person. The request is as it was.
const StateRefused = "refused"

// Approval says that a request to a person changed its state.
type Approval struct {
	Type       string        `json:"type"`
	V          int           `json:"v"`
	ID         string        `json:"id"`
	State      string        `json:"state"`
	Kind       string        `json:"kind"`
	Tool       string        `json:"tool"`
	CallID     string        `json:"call_id,omitempty"`
	Session    string        `json:"session"`
	Caller     string        `json:"caller"`
	ActionHash string        `json:"action_hash"`
	DecidedBy  *wire.Decider `json:"decided_by,omitempty"`
	Scope      string        `json:"scope,omitempty"`
	Note       string        `json:"note,omitempty"`
	Place
}

// PolicyChange says that somebody changed the rules at Scope. Digest is the
// sha256 of the policy file afterwards, empty for session rules.
type PolicyChange struct {
	Type      string       `json:"type"`
	V         int          `json:"v"`
	Action    string       `json:"action"` // add, remove
	Scope     string       `json:"scope"`
	Session   string       `json:"session,omitempty"`
	Path      string       `json:"path,omitempty"`
	Rule      *wire.Rule   `json:"rule,omitempty"`
	Digest    string       `json:"digest,omitempty"`
	DecidedBy wire.Decider `json:"decided_by"`
	Place
}

// TrustChange says that somebody trusted a workspace, or no longer does. Files
// maps each file that speaks to the sha256 of what was trusted.
type TrustChange struct {
	Type      string            `json:"type"`
	V         int               `json:"v"`
	Action    string            `json:"action"` // add, rm
	Workspace string            `json:"workspace"`
	Level     string            `json:"level,omitempty"`
	Files     map[string]string `json:"files,omitempty"`
	DecidedBy wire.Decider      `json:"decided_by"`
	Place
}

// SecretChange says that somebody set or revoked a secret, or put all of them
// behind a passphrase.
type SecretChange struct {
	Type      string       `json:"type"`
	V         int          `json:"v"`
	Action    string       `json:"action"` // set, rm, passphrase
	Slot      string       `json:"slot,omitempty"`
	DecidedBy wire.Decider `json:"decided_by"`
	Place
}

// SessionStop says that a session was stopped from outside, and which requests
// that cancelled.
type SessionStop struct {
	Type      string       `json:"type"`
	V         int          `json:"v"`
	Session   string       `json:"session"`
	PID       int          `json:"pid,omitempty"`
	Cancelled []string     `json:"cancelled,omitempty"`
	DecidedBy wire.Decider `json:"decided_by"`
	Place
}
