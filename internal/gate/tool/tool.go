// Package tool is the shape of a tool: what it is called, what it takes, how it
// is run. A tool knows nothing of policy, approvals or the record; the gate
// wraps it from outside, so that no tool can forget or bypass it. What a name
// may do to the world (its effects) stands in pkg/policy's catalogue, not here.
package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"time"

	"github.com/kxtools/kx/internal/base/redact"
	"github.com/kxtools/kx/internal/gate/sandbox"
	"github.com/kxtools/kx/internal/record/config"
	"github.com/kxtools/kx/pkg/wire"
)

// Spec describes a tool to a model and to the gate.
type Spec struct {
	Name        string
	Family      string          // file, shell, work, ...
	Description string          // for the model, from NAME.md
	Schema      json.RawMessage // JSON Schema of the input, in the subset of Check
	Timeout     time.Duration   // clamped by the limit max_timeout_ms
	Serial      bool            // never runs beside another call of its batch
	Off         string          // why it is switched off: no model sees it, and a call is unavailable
	Spawns      bool            // starts programs, which may try to answer for a person
}

// Env is where a call runs. The gate fills it; paths in the input of the call
// are already absolute and canonical, and allowed.
type Env struct {
	Workspace string // canonical root
	Cwd       string // canonical, inside the workspace
	Home      string

	// Judged are the paths that stand inside a text of the input (a patch), as
	// they are written, and the absolute and canonical path that each was judged
	// as. A tool opens these and no others.
	Judged map[string]string

	// MayRead says whether a file that the tool meets by itself (in a listing,
	// a glob, a search) may be opened or named. The path is absolute and
	// canonical. Tools leave out the others and count them as "skipped".
	MayRead func(path string) bool

	// MayWrite says the same of a file that the input does not name and the tool
	// would change. A tool that may not change all that it must changes nothing.
	MayWrite func(path string) bool

	// Real is where a path of the call lies: /tmp and /var/tmp may be a folder of
	// the session. Nil where every path is what it says.
	Real func(path string) string

	// Secrets takes known secrets out of a text. The gate does so with every output;
	// a tool that cuts texts does it before, or half of one may stay. Nil knows
	// none.
	Secrets *redact.Redactor

	// Confine says where a program of the call runs; argv[0] is its path. Nil
	// where there is nothing but the machine itself.
	Confine func(argv []string, dir string) (*sandbox.Cell, error)

	// Standing is what a resident has to know that works for the call.
	Standing Standing
}

// Standing is what residents are told of where a call stands: they start programs
// for it that outlive it.
type Standing struct {
	Config *config.Config
	Hidden func() []string // patterns of files that no program may read
	Code   bool            // code of the project may run
}

// Handler runs a call. It returns its output, an error that says why there is
// none, or both (a command that exited 1 has output too). An error that is a
// *fail.Error keeps its code and hint; its exit status picks the status of the
// result. Handlers end when ctx ends.
type Handler func(ctx context.Context, env *Env, input json.RawMessage) (wire.Output, error)

// Tool is a Spec that can be run, or asked: a tool with Ask runs nothing, its
// questions go to a person and the answers are its result.
type Tool struct {
	Spec
	Run Handler
	Ask func(input json.RawMessage) ([]wire.Question, error)
}

// Registry is the set of the tools that are loaded.
type Registry struct {
	byName map[string]*Tool
	names  []string
}

// NewRegistry returns a registry of the given tools. Two tools of one name are
// a programming error. Schemas are read by the call that needs one, since most
// processes check one input or none; Verify reads them all.
func NewRegistry(families ...[]Tool) (*Registry, error) {
	r := &Registry{byName: map[string]*Tool{}}
	for _, family := range families {
		for _, t := range family {
			if r.byName[t.Name] != nil {
				return nil, fmt.Errorf("two tools are named %q", t.Name)
			}
			r.byName[t.Name] = &t
			r.names = append(r.names, t.Name)
		}
	}
	sort.Strings(r.names)
	return r, nil
}

// Verify says which tool has a schema that Check does not understand. The test of
// a tool calls it: such a schema is a programming error.
func (r *Registry) Verify() error {
	for _, name := range r.names {
		if _, err := parseSchema(r.byName[name].Schema); err != nil {
			return fmt.Errorf("schema of %s: %w", name, err)
		}
	}
	return nil
}

// Get returns the tool of that name, or nil.
func (r *Registry) Get(name string) *Tool { return r.byName[name] }

// Names returns the names of all tools, sorted.
func (r *Registry) Names() []string { return r.names }
