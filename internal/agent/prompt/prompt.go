// Package prompt makes what a model is told before it does anything: kx's own words,
// the project's AGENTS.md, and what a person attached to the task. Whatever it reads
// for that is decided by policy as a call of read_file would be; what is left out or
// cut is told to the model and, as a Source, to the person.
package prompt

import "github.com/kxtools/kx/internal/model"

// Source is one thing that a model is told: where it comes from and how much it is.
type Source struct {
	Source string `json:"source"`
	Kind   string `json:"kind"`
	Bytes  int    `json:"bytes"` // as it lies on disk
	Tokens int    `json:"tokens"`
	SHA256 string `json:"sha256,omitempty"`
	Lost   string `json:"lost,omitempty"` // what of it the model does not see, and why
}

// The kinds of sources.
const (
	KindSystem   = "system"   // kx's own words
	KindProject  = "project"  // AGENTS.md
	KindTools    = "tools"    // their descriptions and schemas
	KindAttached = "attached" // by @path or --attach
)

// System is what a model is told before all else.
type System struct {
	Text    string
	Sources []Source
}

// Task is what a session begins with.
type Task struct {
	Prompt   string
	Attached string
	Images   []model.Image
	Sources  []Source
}
