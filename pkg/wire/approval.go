package wire

import (
	"encoding/json"
	"time"
)

// Decider says who or what settled a call or an approval.
type Decider struct {
	Kind string `json:"kind"`
	PID  int    `json:"pid,omitempty"`
	UID  *int   `json:"uid,omitempty"`
	Exe  string `json:"exe,omitempty"`
	TTY  string `json:"tty,omitempty"`
	Via  string `json:"via,omitempty"`
}

// Approval is a request to a person, in whatever state it is.
type Approval struct {
	Type       string           `json:"type"`
	V          int              `json:"v"`
	ID         string           `json:"id"`
	Kind       string           `json:"kind"`
	Tool       string           `json:"tool"`
	Input      json.RawMessage  `json:"input"`
	Preview    string           `json:"preview,omitempty"`
	Questions  []Question       `json:"questions,omitempty"`
	Answers    []QuestionAnswer `json:"answers,omitempty"` // to the questions
	Session    string           `json:"session"`
	Caller     string           `json:"caller"`
	CallID     string           `json:"call_id,omitempty"`
	Workspace  string           `json:"workspace"`
	Cwd        string           `json:"cwd"`
	Sandbox    string           `json:"sandbox,omitempty"` // what the programs of the call would run in
	Mode       string           `json:"mode,omitempty"`    // in which it was asked
	Reason     string           `json:"reason"`
	Points     []Point          `json:"points,omitempty"` // what was decided of its parts when it was asked,
	Leaves     []Leaf           `json:"leaves,omitempty"` // as in the decision
	ActionHash string           `json:"action_hash"`
	// Digests are the sha256 of the files that the action is about, as they
	// were: what is edited or replaced, and the scripts that would run.
	Digests     map[string]string `json:"digests,omitempty"`
	Mandatory   bool              `json:"mandatory"`
	CreatedAt   time.Time         `json:"created_at"`
	ExpiresAt   *time.Time        `json:"expires_at,omitempty"`
	State       string            `json:"state"`
	DecidedAt   *time.Time        `json:"decided_at,omitempty"`
	DecidedBy   *Decider          `json:"decided_by,omitempty"`
	Scope       string            `json:"scope,omitempty"`
	Note        string            `json:"note,omitempty"`
	InputEdited bool              `json:"input_edited,omitempty"`
	Rules       []Rule            `json:"rules,omitempty"` // that the answer made, for scope session and always
	SpendBy     *time.Time        `json:"spend_by,omitempty"`
}

// Question is one question of a request of kind "question". Its id and those of
// its options are made when it is parked.
type Question struct {
	ID          string   `json:"id"`
	Question    string   `json:"question"`
	Options     []Option `json:"options"`
	MultiSelect bool     `json:"multi_select,omitempty"`
}

// Option is an answer to choose.
type Option struct {
	ID          string `json:"id"`
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// QuestionAnswer answers one question: by options, in words, or both.
type QuestionAnswer struct {
	QuestionID        string   `json:"question_id"`
	SelectedOptionIDs []string `json:"selected_option_ids"`
	FreeformAnswer    string   `json:"freeform_answer,omitempty"`
}

// The states of an approval.
const (
	ApprovalPending   = "pending"
	ApprovalAllowed   = "allowed"
	ApprovalDenied    = "denied"
	ApprovalAnswered  = "answered"
	ApprovalExpired   = "expired"
	ApprovalCancelled = "cancelled"
	ApprovalSpent     = "spent"
)
