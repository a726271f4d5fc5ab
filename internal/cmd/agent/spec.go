package agent

import (
	"time"

	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/handover"
	"github.com/kxtools/kx/internal/gate/scope"
)

// Spec is what kx hands to kxd agent: what to run, and how the command line that
// asked for it was set.
type Spec struct {
	Globals app.Globals `json:"globals"`

	Resume string        `json:"resume,omitempty"` // a session to go on with
	ID     string        `json:"id,omitempty"`     // of a new session, "" to choose one
	Wait   time.Duration `json:"wait,omitempty"`
	Setup  Setup         `json:"setup"` // of a new session
}

// Setup is what a session keeps to go on later: its task, its model, and the
// bounds that it was given.
type Setup struct {
	Prompt   string      `json:"prompt,omitempty"`
	Script   string      `json:"script,omitempty"` // the text of the script
	Exec     string      `json:"exec,omitempty"`   // the command line of the model
	MaxTurns int         `json:"max_turns,omitempty"`
	Cwd      string      `json:"cwd"`
	Caller   string      `json:"caller"`
	Scope    scope.Scope `json:"scope"`
}

// Model names the kind of model.
func (s *Setup) Model() string {
	if s.Script != "" {
		return "script"
	}
	return "exec"
}

// become turns this process into kxd agent with the given spec.
func become(a *app.App, spec *Spec) error {
	spec.Globals = a.Globals
	return handover.Become(a, "agent", spec)
}
