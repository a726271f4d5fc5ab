// Package guard holds the hard protections: what no call may do, whatever rules,
// modes, scopes and answers say. It looks at a call as policy does, at the files
// that it reads and changes and at the commands that it runs, and compares them
// with a few tables: place/table.go has the files, deed/table.go the commands. A
// protection is added by a row there.
//
// The one invariant: nothing that is configured, said or answered reaches this
// package, but the folders that it protects. It denies liberally: a word that a
// shell would still expand hits where it can become a protected name. It runs
// nothing and judges nothing else. Its caller is internal/gate/judge.
package guard

import (
	"encoding/json"
	"path"

	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/gate/guard/place"
	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/policy/point"
	"github.com/kxtools/kx/pkg/wire"
)

// Guard guards one user and one workspace. It is not changed after New.
type Guard struct {
	places *place.Places
	home   string
}

// MaxHead is how much of a file New's head has to return, in bytes.
const MaxHead = place.MaxHead

// New returns the guard of a workspace. roots are the workspace and the folders that
// the user counts as such. head returns the beginning of a file; it
// is asked about the few files that are protected by what stands in them.
func New(roots []string, dirs paths.Dirs, head func(path string) ([]byte, error)) *Guard {
	return &Guard{places: place.New(roots, dirs, head), home: dirs.Home}
}

// Finding is what the guard says of a call.
type Finding struct {
	// Hit is the protection that the call runs into, nil if there is none.
	Hit *wire.Guard
	// Asks are the leaves of a command that a rule allows only if it names the
	// command.
	Asks []Ask
	// Calls are the calls of tools that a command makes through kx itself.
	Calls []Call
}

// Ask is a leaf that wants a person, or a rule that means it.
type Ask struct {
	Leaf   int // its index
	Reason string
}

// Call is a "kx call" in a command.
type Call struct {
	Leaf  int // the index of its leaf
	Tool  string
	Input json.RawMessage // nil if what it calls can't be told
}

// Check looks at a call, as it is judged in env. The input may be anything.
func (g *Guard) Check(entry *catalogue.Entry, input json.RawMessage, env *point.Env) Finding {
	if len(input) == 0 {
		return Finding{}
	}
	if entry.Name == "bash" {
		return g.command(input, env)
	}
	return Finding{Hit: g.files(entry, input, env)}
}

// files looks at the files of a call of any tool but bash.
func (g *Guard) files(entry *catalogue.Entry, input json.RawMessage, env *point.Env) *wire.Guard {
	for _, p := range env.Points(entry, input) {
		a := place.Read
		switch p.Effect {
		case catalogue.Write:
			a = place.Change
		case catalogue.Read:
		default:
			continue
		}
		for i := range p.Strings {
			if hit := g.places.Both(p.Strings[i].Written, p.Strings[i].Resolved, a); hit != nil {
				return hit
			}
		}
		where := p.Where
		if name := p.Fields[entry.Path]; where == nil && name != "" {
			// It can't be resolved, which does not make it another file.
			w := absolute(env, "", name)
			if hit := g.places.Both(w, w, a); hit != nil {
				return hit
			}
		}
		if where != nil {
			if hit := g.places.Both(where.Written, where.Resolved, a); hit != nil {
				return hit
			}
		}
	}
	return nil
}

// MayRead reports whether a tool that walks may name and open a file. The path
// is absolute and canonical.
func (g *Guard) MayRead(name string) bool { return g.places.Match(name, place.Read) == nil }

// absolute returns a path as it is written, seen from a folder of the call.
func absolute(env *point.Env, dir, name string) string {
	for _, base := range []string{dir, env.Cwd} {
		switch {
		case name == "~" || len(name) > 1 && name[:2] == "~/":
			name = env.Home + name[1:]
		case name == "" || name[0] != '/':
			if base != "" {
				name = base + "/" + name
			}
		}
	}
	return path.Clean(name)
}
