// Package lint looks at a set of rules as a whole: what does nothing, because no
// call can meet it or another rule always decides before it, and what allows far
// more than it seems to. It reports only what it can prove; a rule without a
// finding may still be of no use. It does no I/O.
package lint

import (
	"fmt"
	"strings"

	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/policy/pattern"
	"github.com/kxtools/kx/pkg/wire"
)

// The codes of findings.
const (
	Shadowed    = "shadowed"     // another rule always decides before it
	Duplicate   = "duplicate"    // another rule says all that it says
	Dead        = "dead"         // no call can meet it
	AllowAll    = "allow_all"    // it allows everything, or whatever its arguments say
	RunsFiles   = "runs_files"   // it allows whatever files of the workspace say
	UnknownTool = "unknown_tool" // it names a tool that does not exist
)

// Finding is something to say of a rule.
type Finding struct {
	Code   string
	Rule   policy.Rule
	Detail string // what is the matter
	Remedy string // what to do
}

// rule is a rule whose conditions can be compared.
type rule struct {
	policy.Rule
	conditions int
	command    pattern.Command
	path       pattern.Path
	url        pattern.URL
}

func parse(from policy.Rule) (r rule, err error) {
	r = rule{Rule: from, conditions: len(from.Input)}
	if r.Tool == "" {
		r.Tool = "*"
	}
	if r.Command != "" {
		r.conditions++
		r.command, err = pattern.ParseCommand(r.Command)
	}
	if r.Path != "" && err == nil {
		r.conditions++
		r.path, err = pattern.ParsePath(r.Path)
	}
	if r.URL != "" && err == nil {
		r.conditions++
		r.url, err = pattern.ParseURL(r.URL)
	}
	return r, err
}

// Rules returns what is to be said of the rules of a compiled set, in their order.
func Rules(all []policy.Rule) []Finding {
	var out []Finding
	list := make([]rule, 0, len(all))
	for _, from := range all {
		if r, err := parse(from); err == nil && from.Scope != policy.Builtin {
			list = append(list, r)
		}
	}
	idx, names := newIndex(list), known()
	for i := range list {
		r := &list[i]
		add := func(code, remedy, format string, args ...any) {
			out = append(out, Finding{Code: code, Rule: r.Rule, Detail: fmt.Sprintf(format, args...), Remedy: remedy})
		}
		lintName(r, names, add)
		broad := false
		if r.Decision == wire.Allow {
			if code, detail, remedy := tooMuch(r, names); code != "" {
				add(code, remedy, "%s", detail)
				broad = true
			}
		}
		if detail, remedy := neverMet(r, names); detail != "" && !broad {
			add(Dead, remedy, "%s", detail)
			continue
		}
		if code, detail, remedy := idx.useless(r); code != "" {
			add(code, remedy, "%s", detail)
		}
	}
	return out
}

// known returns the built-in tools.
func known() []catalogue.Entry {
	var list []catalogue.Entry
	for _, name := range catalogue.Names() {
		if entry, ok := catalogue.Lookup(name); ok {
			list = append(list, entry)
		}
	}
	return list
}

// lintName looks for names that nothing has.
func lintName(r *rule, names []catalogue.Entry, add func(code, remedy, format string, args ...any)) {
	prefix, isPrefix := strings.CutSuffix(r.Tool, "*")
	if !isPrefix {
		if _, ok := catalogue.Lookup(r.Tool); ok {
			return
		}
		if near := catalogue.Suggest(r.Tool); near != "" {
			add(UnknownTool, fmt.Sprintf("write tool = %q, or remove the rule", near), "no tool is called %s; did you mean %s?", r.Tool, near)
			return
		}
		add(UnknownTool, "kx tool list --all names the tools there are", "no tool is called %s", r.Tool)
		return
	}
	if strings.HasPrefix("mcp__", prefix) || catalogue.IsMCP(prefix) {
		return
	}
	for i := range names {
		if strings.HasPrefix(names[i].Name, prefix) {
			return
		}
	}
	add(UnknownTool, "kx tool list --all names the tools there are", "no built-in tool starts with %s", prefix)
}
