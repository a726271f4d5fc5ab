package lint

import (
	"fmt"
	"strings"

	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/wire"
)

// index finds the rules that may cover another one, without comparing all with
// all: those with the very same conditions, and those that are wider, by what they
// are wider in.
type index struct {
	same   map[string][]*rule // by all conditions
	byHead map[string][]*rule // commands that go on in any way
	byTree map[string][]*rule // everything below a folder
	byHost map[string][]*rule // everything below an address
	byTool map[string][]*rule // without any of these conditions
	rest   []*rule            // other globs
	budget int
}

// maxCompared is how many comparisons are worth it: all of 100,000 rules that are
// alike would take minutes, and a person can't read what they find.
const maxCompared = 20_000_000

func newIndex(list []rule) *index {
	x := &index{
		same: map[string][]*rule{}, byHead: map[string][]*rule{}, byTree: map[string][]*rule{}, byHost: map[string][]*rule{}, byTool: map[string][]*rule{},
		budget: maxCompared,
	}
	for i := range list {
		r := &list[i]
		if r.Origin != policy.Static && r.Origin != "" {
			continue // what a person or a hook adds for a while proves nothing
		}
		put := func(m map[string][]*rule, k string) { m[k] = append(m[k], r) }
		put(x.same, key(r))
		tree, isTree := r.path.Tree()
		host, isHost := r.url.Tree()
		switch {
		case len(r.command.Words) > 0 && r.command.Rest:
			put(x.byHead, r.command.Heads()[0])
		case len(r.command.Words) > 0:
		case r.Path != "" && isTree:
			put(x.byTree, tree)
		case r.URL != "" && isHost:
			put(x.byHost, host)
		case r.Path == "" && r.URL == "":
			put(x.byTool, r.Tool)
		case !strings.ContainsAny(r.Path+r.URL, "*?[{"):
		default:
			x.rest = append(x.rest, r)
		}
	}
	return x
}

// candidates returns the rules that may cover r.
func (x *index) candidates(r *rule) [][]*rule {
	lists := [][]*rule{x.same[key(r)], x.byTool[r.Tool]}
	for i := range r.Tool {
		lists = append(lists, x.byTool[r.Tool[:i]+"*"])
	}
	for _, h := range r.command.Heads() {
		lists = append(lists, x.byHead[h])
	}
	if r.Path != "" {
		for _, t := range r.path.Within() {
			lists = append(lists, x.byTree[t])
		}
	}
	if r.URL != "" {
		for _, h := range r.url.Within() {
			lists = append(lists, x.byHost[h])
		}
	}
	if r.Path != "" || r.URL != "" {
		lists = append(lists, x.rest)
	}
	return lists
}

func key(r *rule) string {
	return fmt.Sprintf("%s %s %q %q %q %v", r.Tool, r.Effect, r.Command, r.Path, r.URL, r.Input)
}

// useless says which rule makes r do nothing, if one does.
func (x *index) useless(r *rule) (code, detail, remedy string) {
	for _, list := range x.candidates(r) {
		for _, o := range list {
			if x.budget--; x.budget < 0 {
				return "", "", ""
			}
			if o == r || o.File == r.File && o.Line == r.Line || !covers(o, r) {
				continue
			}
			if why := beats(o, r); why != "" {
				remedy = "remove one of the two, or narrow the other"
				if r.Decision == wire.Deny && o.Scope > r.Scope {
					remedy = "write final = true to make this deny stand above every scope"
				}
				return Shadowed, fmt.Sprintf("the rule at %s decides before it every time: %s", o.Source(), why), remedy
			}
			if repeats(o, r) {
				return Duplicate, fmt.Sprintf("the rule at %s says the same", o.Source()), "remove this one"
			}
		}
	}
	return "", "", ""
}

// beats says why o decides before r wherever both speak, "" if it does not.
func beats(o, r *rule) string {
	switch {
	case r.Final:
		return ""
	case o.Final:
		return "it is a final deny"
	case o.Scope > r.Scope:
		return fmt.Sprintf("it stands in the %s scope", o.Scope)
	case o.Scope < r.Scope || o.conditions != r.conditions || !o.Decision.Worse(r.Decision):
		return ""
	case o.conditions == 0 && (o.Tool != r.Tool || o.Effect != r.Effect):
		return "" // the more exact one decides
	case key(o) == key(r):
		return "it has the same conditions and is stricter"
	}
	return "it covers the same and is stricter"
}

// repeats reports whether r could go and nothing would change. Of two that say the
// same it is the one behind.
func repeats(o, r *rule) bool {
	switch {
	case o.Scope != r.Scope || o.Decision != r.Decision || o.Final != r.Final || o.Sandbox != r.Sandbox || o.conditions != r.conditions:
		return false
	case key(o) == key(r):
		return o.File == r.File && o.Line < r.Line
	}
	return r.conditions > 0 && !covers(r, o)
}

// covers reports whether o surely speaks for every point that r speaks for.
func covers(o, r *rule) bool {
	switch {
	case !o.Fits(r.Tool):
		return false
	case o.Command != "" && (r.Command == "" || !o.command.Covers(&r.command, o.Decision, r.Decision)):
		return false
	case o.Path != "" && (r.Path == "" || !o.path.Covers(&r.path, o.Decision, r.Decision)):
		return false
	case o.URL != "" && (r.URL == "" || !o.url.Covers(&r.url)):
		return false
	}
	for field, want := range o.Input {
		have, ok := r.Input[field]
		if p, wide := strings.CutSuffix(want, "*"); !ok || !(have == want || wide && strings.HasPrefix(have, p)) {
			return false
		}
	}
	return speaksWhere(o, r)
}

// speaksWhere compares what kinds of points two rules speak for at all.
func speaksWhere(o, r *rule) bool {
	have, want := effectsOf(o), effectsOf(r)
	for e, speaks := range want {
		if speaks && !have[e] {
			return false
		}
	}
	onlyRuns := len(want) == 1 && (want[catalogue.Exec] || want[catalogue.Net])
	switch {
	case o.Decision == wire.Allow && r.Decision != wire.Allow:
		// An allow compares exactly and does not reach out of the workspace.
		return r.conditions == 0 && onlyRuns
	case o.Decision == wire.Allow && !o.path.Absolute && !onlyRuns && r.path.Absolute:
		return false
	case r.Decision == wire.Deny && o.Decision != wire.Deny && r.conditions > 0:
		return false // a deny that can't be ruled out asks whatever else is decided
	case r.Decision != wire.Allow && r.Path != "" && r.Effect != "" && o.Path == "" && o.Effect != "":
		return false // a path counts wherever it stands in the input of an MCP tool
	}
	// What a command reads, writes and reaches is spoken of by rules for bash only
	// where they say so.
	narrow := r.Fits("bash") || strings.HasPrefix("bash", strings.TrimSuffix(r.Tool, "*"))
	if narrow && !(len(want) == 1 && want[catalogue.Exec]) && o.Tool != "*" {
		return o.Effect != "" || o.Path != "" || o.URL != ""
	}
	return true
}

// effectsOf returns the effects of the points that a rule speaks for; "" stands
// for those of tools that have none.
func effectsOf(r *rule) map[string]bool {
	all := map[string]bool{"": true, catalogue.Read: true, catalogue.Write: true, catalogue.Exec: true, catalogue.Net: true}
	switch {
	case r.Effect != "":
		all = map[string]bool{r.Effect: true}
	case r.Command != "" || r.Tool == "bash" && r.Path == "" && r.URL == "":
		all = map[string]bool{catalogue.Exec: true}
	case r.URL != "":
		all = map[string]bool{catalogue.Net: true}
	case r.Path != "":
		all = map[string]bool{catalogue.Read: true, catalogue.Write: true}
	}
	entry, known := catalogue.Lookup(r.Tool)
	if !known || r.Tool == "bash" || catalogue.IsMCP(r.Tool) {
		return all
	}
	own := map[string]bool{}
	for _, e := range entry.Effects {
		own[e] = all[e]
	}
	if len(entry.Effects) == 0 {
		own[""] = all[""]
	}
	return own
}
