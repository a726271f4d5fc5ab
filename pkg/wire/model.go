package wire

import "time"

// Model is a model that the configuration names.
type Model struct {
	Type      string         `json:"type"`
	V         int            `json:"v"`
	ID        string         `json:"id"` // provider/model
	Provider  string         `json:"provider"`
	Model     string         `json:"model"`
	Kind      string         `json:"kind"`
	BaseURL   string         `json:"base_url,omitempty"`
	Accounts  []ModelAccount `json:"accounts"`
	Context   int64          `json:"context,omitempty"`
	MaxOutput int64          `json:"max_output,omitempty"`
	Price     *Price         `json:"price,omitempty"`
	Roles     []string       `json:"roles"`
}

// ModelAccount is an account of a provider, and how its key stands. The key itself is
// in no document.
type ModelAccount struct {
	Name string `json:"name"`
	Key  string `json:"key"` // set, missing, revoked or none
	Slot string `json:"slot,omitempty"`
	Env  string `json:"env,omitempty"`
}

// Price is in US dollars for a million tokens.
type Price struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cache_read"`
	CacheWrite float64 `json:"cache_write"`
}

// ModelCandidate is a model that would be asked, or why it would not.
type ModelCandidate struct {
	Type     string   `json:"type"`
	V        int      `json:"v"`
	ID       string   `json:"id"`
	Provider string   `json:"provider"`
	Model    string   `json:"model"`
	Kind     string   `json:"kind"`
	Account  string   `json:"account"`
	Role     string   `json:"role,omitempty"`
	Via      []string `json:"via,omitempty"`
	State    string   `json:"state"` // ready or skipped
	Reason   string   `json:"reason,omitempty"`
}

// ModelResolution is what came of asking a model.
type ModelResolution struct {
	Type     string    `json:"type"`
	V        int       `json:"v"`
	At       time.Time `json:"at"`
	ID       string    `json:"id"`
	Provider string    `json:"provider"`
	Model    string    `json:"model"`
	Account  string    `json:"account"`
	Role     string    `json:"role,omitempty"`
	Via      []string  `json:"via,omitempty"`
	Outcome  string    `json:"outcome"` // ok, or what failed
}

// ModelTest is what one small request to a model has shown.
type ModelTest struct {
	Type       string      `json:"type"`
	V          int         `json:"v"`
	ID         string      `json:"id"`
	Provider   string      `json:"provider"`
	Model      string      `json:"model"`
	Account    string      `json:"account"`
	OK         bool        `json:"ok"`
	Stages     []ModelStep `json:"stages"`
	LatencyMS  int64       `json:"latency_ms,omitempty"` // to the first word
	DurationMS int64       `json:"duration_ms"`
	Usage      *Usage      `json:"usage,omitempty"`
	CostUSD    float64     `json:"cost_usd,omitempty"`
	Error      *Error      `json:"error,omitempty"`
}

// ModelStep is one stage of a test.
type ModelStep struct {
	Stage      string `json:"stage"`
	State      string `json:"state"` // ok, failed or skipped
	Detail     string `json:"detail,omitempty"`
	DurationMS int64  `json:"duration_ms,omitempty"`
}
