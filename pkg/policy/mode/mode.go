// Package mode is the five permission modes: how each transforms a decision, and
// which may follow which without widening.
package mode

import (
	"strings"

	"github.com/kxtools/kx/pkg/wire"
)

// The modes. A mode is a transform of the base decision, applied once.
const (
	Default     = "default"
	AcceptEdits = "acceptEdits"
	Bypass      = "bypassPermissions"
	Plan        = "plan"
	DontAsk     = "dontAsk"
)

// All lists the modes in the order in which they are shown.
var All = []string{Default, AcceptEdits, Bypass, Plan, DontAsk}

// Parse reads a mode in camelCase or kebab-case.
func Parse(s string) (string, bool) {
	for _, m := range All {
		if s == m || s == kebab(m) {
			return m, true
		}
	}
	return "", false
}

func kebab(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('-')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// narrower says which modes may follow a mode without widening it. dontAsk does
// not reach plan: plan would ask where dontAsk denies.
var narrower = map[string][]string{
	Bypass:      {Bypass, AcceptEdits, Default, Plan, DontAsk},
	AcceptEdits: {AcceptEdits, Default, DontAsk, Plan},
	Default:     {Default, DontAsk, Plan},
	Plan:        {Plan},
	DontAsk:     {DontAsk},
}

// Narrows reports whether a session in mode from may run a call in mode to.
func Narrows(from, to string) bool {
	for _, m := range narrower[from] {
		if m == to {
			return true
		}
	}
	return false
}

// What a mode did to a decision.
const (
	effectEdits    = "accept_edits_auto_allowed_edit_approval"
	effectBypass   = "bypass_permissions_auto_allowed_approval"
	effectDontAsk  = "dont_ask_denied_approval"
	effectPlanOK   = "plan_mode_allowed_read_only_or_coordination_tool"
	effectPlanDeny = "plan_mode_denied_non_whitelisted_tool"
)

// KeptMandatory says that neither the mode nor a hook gave an approval that only a
// person can give.
const KeptMandatory = "kept_mandatory_approval"

// Apply returns what the mode makes of a base decision, and the name of
// what it did ("" if it had nothing to say).
func Apply(mode, tool string, plan bool, base wire.Verdict, mandatory bool) (wire.Verdict, string) {
	if base == wire.Deny {
		return base, ""
	}
	switch mode {
	case Plan:
		switch {
		case !plan:
			return wire.Deny, effectPlanDeny
		case base == wire.Allow:
			return base, effectPlanOK
		}
	case DontAsk:
		if base == wire.Ask {
			return wire.Deny, effectDontAsk
		}
	case Bypass:
		if base == wire.Ask && mandatory {
			return base, KeptMandatory
		}
		if base == wire.Ask {
			return wire.Allow, effectBypass
		}
	case AcceptEdits:
		if base == wire.Ask && isEdit(tool) {
			if mandatory {
				return base, KeptMandatory
			}
			return wire.Allow, effectEdits
		}
	}
	return base, ""
}

// isEdit is for the tools whose approvals acceptEdits gives: never bash, whose
// redirects are judged as write_file but are not lifted with it.
func isEdit(tool string) bool {
	return tool == "write_file" || tool == "edit_file" || tool == "apply_patch"
}
