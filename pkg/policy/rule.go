package policy

import (
	"fmt"
	"strings"

	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/policy/pattern"
	"github.com/kxtools/kx/pkg/wire"
)

// rule is a Rule that can be matched.
type rule struct {
	Rule
	name       string // Tool, "*" for any
	conditions int    // how many of command, path, url and input fields
	command    pattern.Command
	path       pattern.Path
	url        pattern.URL
}

// RuleError says what is wrong with a rule, and with which of its keys.
type RuleError struct {
	Rule *Rule
	Key  string
	Msg  string
}

func (e *RuleError) Error() string {
	if e.Rule.File == "" {
		return e.Msg
	}
	return fmt.Sprintf("%s: %s", e.Rule.Source(), e.Msg)
}

// Check returns a *RuleError if the rule can't be compiled.
func Check(r *Rule) error {
	_, err := compile(r)
	return err
}

func compile(from *Rule) (*rule, error) {
	r := &rule{Rule: *from, name: from.Tool}
	bad := func(key, format string, args ...any) (*rule, error) {
		return nil, &RuleError{Rule: from, Key: key, Msg: fmt.Sprintf(format, args...)}
	}
	if r.name == "" {
		r.name = "*"
	}
	if r.Origin == "" {
		r.Origin = Static
	}
	if i := strings.IndexByte(r.name, '*'); i >= 0 && i != len(r.name)-1 {
		return bad("tool", "tool = %q: a * stands only at the end", r.Tool)
	}
	switch r.Decision {
	case wire.Allow, wire.Ask, wire.Deny:
	default:
		return bad("decision", "decision = %q: expected allow, ask or deny", string(r.Decision))
	}
	if r.Effect != "" && effectIndex(r.Effect) == 0 {
		return bad("effect", "effect = %q: expected read, write, exec or net", r.Effect)
	}
	if r.Final && r.Decision != wire.Deny {
		return bad("final", "final = true: only a deny can be final")
	}
	switch {
	case r.Sandbox != "" && r.Sandbox != "host":
		return bad("sandbox", "sandbox = %q: expected host", r.Sandbox)
	case r.Sandbox != "" && r.Scope != User && r.Origin != Approval:
		return bad("sandbox", "sandbox = %q: only the user's own policy.toml may open the sandbox", r.Sandbox)
	}
	var err error
	if r.Command != "" {
		r.conditions++
		if r.command, err = pattern.ParseCommand(r.Command); err != nil {
			return bad("command", "command = %q: %v", r.Command, err)
		}
		if r.Effect == catalogue.Net && r.URL == "" && r.Path != "" || r.Path != "" && r.URL != "" {
			return bad("command", "no point has both a path and an url")
		}
	}
	if r.Path != "" {
		r.conditions++
		if r.Effect == catalogue.Exec || r.Effect == catalogue.Net {
			return bad("path", "path = %q: a path speaks for read and write, not for %s", r.Path, r.Effect)
		}
		if r.path, err = pattern.ParsePath(r.Path); err != nil {
			return bad("path", "path = %q: %v", r.Path, err)
		}
	}
	if r.URL != "" {
		r.conditions++
		if r.Effect != "" && r.Effect != catalogue.Net {
			return bad("url", "url = %q: a url speaks for net, not for %s", r.URL, r.Effect)
		}
		if r.url, err = pattern.ParseURL(r.URL); err != nil {
			return bad("url", "url = %q: %v", r.URL, err)
		}
	}
	for field, want := range r.Input {
		r.conditions++
		if i := strings.IndexByte(want, '*'); i >= 0 && i != len(want)-1 {
			return bad("input."+field, "input.%s = %q: a * stands only at the end", field, want)
		}
	}
	return r, nil
}

// before reports whether r is the one to name where both say as much: the
// stricter, then the first by file and line.
func (r *rule) before(o *rule) bool {
	if r.Decision != o.Decision {
		return r.Decision.Worse(o.Decision)
	}
	if r.File != o.File {
		return r.File < o.File
	}
	return r.Line < o.Line
}

// exactness orders tool patterns: exact, longer prefix, *.
func (r *rule) exactness() int {
	switch {
	case r.name == "*":
		return 0
	case strings.HasSuffix(r.name, "*"):
		return len(r.name)
	}
	return 1 << 20
}

// fits is Fits for a rule whose name is filled in.
func (r *rule) fits(tool string) bool { return fits(r.name, tool) }

// Fits reports whether the rule's tool pattern fits a name, or everything that
// another pattern fits.
func (r *Rule) Fits(tool string) bool { return r.Tool == "" || fits(r.Tool, tool) }

func fits(pattern, tool string) bool {
	if p, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(tool, p)
	}
	return pattern == tool
}
