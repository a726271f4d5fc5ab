// Package prompt makes what a model is told before it does anything: kx's own words
// and the project's AGENTS.md, afresh for every turn, and what a person attached to the
// task, once. Whatever it reads for that is decided by policy as a call of read_file
// would be, without asking anybody, and opened as read_file opens it. What is left out
// or cut is told to the model and, as a Source, to the person. kxd agent calls it.
package prompt

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/kxtools/kx/internal/gate/judge"
	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/internal/model/tokens"
)

// Source is one thing that a model is told: where it comes from and how much it is.
type Source struct {
	Source string `json:"source"`
	Kind   string `json:"kind"`
	Bytes  int    `json:"bytes"` // as it lies on disk
	Tokens int    `json:"tokens"`
	SHA256 string `json:"sha256,omitempty"` // of what the model sees
	Lost   string `json:"lost,omitempty"`   // what of it the model does not see, and why
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

// Builder makes them for one session.
type Builder struct {
	// Open returns what reading is decided by, as it stands now. It sees the files
	// of the machine: /tmp is not that of a session.
	Open func() (*judge.Judge, error)
	Home string
	Now  func() time.Time
	// Hide takes known secrets out of what is read, which a model has no use for;
	// nil for none.
	Hide func([]byte) []byte

	tools Source // once they are counted
}

// source describes what the model sees of something.
func source(name, kind, text string) Source {
	sum := sha256.Sum256([]byte(text))
	return Source{Source: name, Kind: kind, Bytes: len(text), Tokens: tokens.Of(text), SHA256: hex.EncodeToString(sum[:])}
}

// count is the source that the tools are; a run has the same ones all the time.
func (b *Builder) count(list []model.Tool) Source {
	if b.tools.Source != "" {
		return b.tools
	}
	text := ""
	for _, t := range list {
		text += t.Name + "\n" + t.Description + "\n" + string(t.InputSchema) + "\n"
	}
	b.tools = source("tools", KindTools, text)
	return b.tools
}
