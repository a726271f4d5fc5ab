package policy

import (
	"fmt"
	"sort"

	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/policy/mode"
	"github.com/kxtools/kx/pkg/wire"
)

// Matrix explains each tool under every mode, without an input. A cell that an
// input can change is marked conditional, and the row says by which rules.
func (s *Set) Matrix(tools []string, loaded func(string) bool, env *Env) []wire.MatrixRow {
	sorted := append([]string{}, tools...)
	sort.Strings(sorted)
	rows := make([]wire.MatrixRow, 0, len(sorted))
	for _, tool := range sorted {
		entry, ok := catalogue.Lookup(tool)
		if !ok {
			continue
		}
		row := wire.MatrixRow{Type: "matrix_row", V: wire.Version, Tool: tool, Loaded: loaded(tool), Modes: map[string]wire.MatrixCell{}}
		may, notes := s.mayChange(&entry)
		for _, m := range mode.All {
			d := s.Explain(Call{Tool: tool, Loaded: row.Loaded}, m, env)
			cell := wire.MatrixCell{Decision: d.Decision, BaseDecision: d.BaseDecision, ModeEffect: d.ModeEffect}
			for _, base := range may {
				if v, _ := mode.Apply(m, tool, entry.Plan, base, false); v != d.Decision {
					cell.Conditional = true
				}
			}
			if entry.Dry != "" {
				if v, _ := mode.Apply(m, tool, true, s.cell(tool, effectIndex(catalogue.Read)), false); v != d.Decision {
					cell.Conditional = true
				}
			}
			row.Modes[m] = cell
			row.Rule = d.Rule
		}
		if entry.Dry != "" {
			notes = append(notes, "with "+entry.Dry+" it only reads")
		}
		row.Notes = notes
		rows = append(rows, row)
	}
	return rows
}

// mayChange returns the base decisions that rules with conditions may give a
// tool, and a note for each such rule.
func (s *Set) mayChange(entry *catalogue.Entry) (may []wire.Verdict, notes []string) {
	plainScope, final := Builtin, false
	for _, effect := range effectsOf(entry) {
		if r := s.plain(entry.Name, effectIndex(effect)); r != nil {
			plainScope, final = max(plainScope, r.Scope), final || r.Final
		}
	}
	if final {
		return nil, nil
	}
	if entry.Name == "bash" && s.cell("bash", effectIndex(catalogue.Exec)) == wire.Allow {
		may = append(may, wire.Ask)
		notes = append(notes, "what a command reads and writes is judged as read_file and write_file")
	}
	for _, r := range s.rules {
		if r.conditions == 0 || !r.Concerns(entry) {
			continue
		}
		if r.Scope < plainScope && !r.Final {
			continue // a rule of a higher scope always decides before it
		}
		may = append(may, r.Decision)
		notes = append(notes, fmt.Sprintf("%s is %s by %s", conditionText(&r.Rule), past(r.Decision), r.Source()))
	}
	return may, notes
}

// Concerns reports whether a rule with conditions can ever speak for a tool.
func (r *Rule) Concerns(entry *catalogue.Entry) bool {
	bash := entry.Name == "bash"
	has := func(effect string) bool {
		for _, e := range entry.Effects {
			if e == effect {
				return true
			}
		}
		return bash
	}
	switch {
	case r.Effect != "" && !has(r.Effect):
		return false
	case r.Command != "" && !bash:
		return false
	case r.Path != "" && !has(catalogue.Read) && !has(catalogue.Write):
		return false
	case r.URL != "" && !has(catalogue.Net):
		return false
	case r.Fits(entry.Name):
		return true
	}
	for _, e := range []string{catalogue.Read, catalogue.Write, catalogue.Net} {
		fits := (r.Effect == "" || r.Effect == e) && (r.Path == "" || e != catalogue.Net) && (r.URL == "" || e == catalogue.Net)
		if bash && fits && (r.Command == "" || r.Effect != "") && r.Fits(equivalent(e)) {
			return true
		}
	}
	return false
}

func conditionText(r *Rule) string {
	text := ""
	add := func(s string) {
		if s != "" && text != "" {
			text += " and "
		}
		text += s
	}
	add(r.Command)
	add(r.Path)
	add(r.URL)
	fields := make([]string, 0, len(r.Input))
	for k := range r.Input {
		fields = append(fields, k)
	}
	sort.Strings(fields)
	for _, k := range fields {
		add(k + "=" + r.Input[k])
	}
	return text
}

func past(v wire.Verdict) string {
	switch v {
	case wire.Allow:
		return "allowed"
	case wire.Deny:
		return "denied"
	}
	return "asked for"
}
