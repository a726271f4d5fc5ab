package fatigue

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/shell/program"
	"github.com/kxtools/kx/pkg/wire"
)

// Cause is what made kx ask: a rule, and what it asked about.
type Cause struct {
	Rule    *wire.Rule // that decided, as it stood last; nil where kx itself asks
	Tool    string
	Command string // of bash: the words that say what is run
	Reason  string // where neither a rule nor a part of the call asked
	Asked   int
	Allowed int
	Denied  int
}

func (c *Cause) count(state string) {
	c.Asked++
	switch state {
	case wire.ApprovalAllowed, wire.ApprovalAnswered:
		c.Allowed++
	case wire.ApprovalDenied:
		c.Denied++
	}
}

// causes are all there are, by what makes them one.
type causes map[string]*Cause

// of returns what made kx ask about a call, each once.
func (all causes) of(d *wire.Decision) []*Cause {
	var list []*Cause
	add := func(c Cause) {
		k := c.key()
		have := all[k]
		if have == nil {
			have = &c
			all[k] = have
		}
		have.Rule = c.Rule
		if !slices.Contains(list, have) {
			list = append(list, have)
		}
	}
	points := func(points []wire.Point, command string) {
		for _, p := range points {
			if p.Decision == wire.Ask {
				add(Cause{Rule: written(p.Rule), Tool: d.Tool, Command: command})
			}
		}
	}
	points(d.Points, "")
	for _, l := range d.Leaves {
		points(l.Points, Words(l.Argv))
	}
	if len(list) == 0 {
		add(Cause{Tool: d.Tool, Reason: d.Reason})
	}
	return list
}

// written is a rule that somebody wrote, nil for kx's own.
func written(r *wire.Rule) *wire.Rule {
	if r == nil || r.Scope == policy.Builtin.String() {
		return nil
	}
	return r
}

// key is the same for the same rule, also where it moved to another line.
func (c *Cause) key() string {
	parts := []string{c.Tool, c.Command, c.Reason}
	if r := c.Rule; r != nil {
		file := r.Source
		if i := strings.LastIndexByte(file, ':'); i >= 0 {
			file = file[:i]
		}
		parts = append(parts, file, r.Tool, r.Effect, string(r.Decision))
		for _, k := range slices.Sorted(maps.Keys(r.When)) {
			parts = append(parts, k, r.When[k])
		}
	}
	return strings.Join(parts, "\x00")
}

// sorted returns those that asked, the most frequent first.
func (all causes) sorted() []Cause {
	var list []Cause
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if all[k].Asked > 0 {
			list = append(list, *all[k])
		}
	}
	slices.SortStableFunc(list, func(a, b Cause) int { return cmp.Compare(b.Asked, a.Asked) })
	return list
}

// actions are programs whose next word says what they do, with the words after
// which that is said by one more.
var actions = map[string]string{
	"apt": "", "apt-get": "", "aws": "", "az": "", "brew": "", "bun": "run x", "bundle": "exec", "cargo": "",
	"composer": "", "deno": "run task", "docker": "compose", "dotnet": "", "gcloud": "", "gem": "", "gh": "pr issue repo run api",
	"git": "remote stash submodule worktree", "go": "run tool", "gradle": "", "helm": "", "just": "", "kubectl": "",
	"kx": "policy approve audit config agent call", "make": "", "mix": "", "mvn": "", "npm": "run exec", "npx": "", "pip": "", "pip3": "",
	"pnpm": "run exec dlx", "podman": "compose", "poetry": "run", "rake": "", "systemctl": "", "terraform": "", "uv": "run pip", "yarn": "run exec dlx",
}

// Words are the first words of a command that say what it does: git push, npm run
// test, python x.py, rm.
func Words(argv []string) string {
	if len(argv) == 0 {
		return ""
	}
	name := argv[0][strings.LastIndexByte(argv[0], '/')+1:]
	more, known := actions[name]
	n := 1
	switch {
	case !known && !program.Reads(name):
	case len(argv) > 1 && argv[1] != "" && argv[1][0] != '-':
		if n = 2; len(argv) > 2 && slices.Contains(strings.Fields(more), argv[1]) && argv[2] != "" && argv[2][0] != '-' {
			n = 3
		}
	}
	return strings.Join(argv[:n], " ")
}
