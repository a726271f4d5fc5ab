package policy

import (
	"github.com/kxtools/kx/pkg/wire"
)

// loser is a rule that speaks for a point and does not decide it.
type loser struct {
	*rule
	to  *rule // the rule that decides, nil if none does
	why string
}

func (l *loser) wire() *wire.Rule {
	w := l.Wire()
	if l.Scope == Builtin {
		return w // that one always loses
	}
	if w.Lost = l.why; l.to != nil {
		w.LostTo = l.to.Source()
	}
	return w
}

// stands says which scope a rule lost to.
var stands = [scopes]string{
	User:    "the user's rules stand above it",
	Project: "the project's rules stand above it",
	Session: "the session's rules stand above it",
}

// loses says why l did not decide where w did; w is nil if no rule did. It follows
// the order of better.
func loses(l, w *candidate) string {
	switch {
	case l.missed:
		return "an allow needs the path as it is written and as it leads"
	case w == nil:
		return ""
	case w.Final && !l.Final:
		return "a final deny stands above every rule"
	case l.Origin != Static && w.Decision == wire.Deny:
		return "what is allowed for a while lifts no deny"
	case w.Scope > l.Scope:
		return stands[w.Scope]
	case l.oneForm && l.Decision == wire.Ask && w.Decision == wire.Deny:
		return "it matches one form of the path only"
	case l.conditions < w.conditions:
		return "it has fewer conditions"
	case l.conditions == 0 && l.Effect == "" && w.Effect != "":
		return "it names no effect"
	case l.conditions == 0 && l.exactness() < w.exactness():
		return "its tool is less exact"
	case l.Decision != w.Decision:
		return string(w.Decision) + " comes before " + string(l.Decision)
	case l.exactness() < w.exactness():
		return "its tool is less exact"
	}
	return "it says the same"
}
