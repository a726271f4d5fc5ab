// Package grant makes rules of what a person allowed for longer than once: the
// smallest literal rules that would have allowed exactly this call. Nothing in
// them is a pattern; what a pattern would be needed for can't be granted.
package grant

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/policy/shell"
	"github.com/kxtools/kx/pkg/wire"
)

// Rules returns the rules for a call, without a scope. The error says why the
// call can only be allowed once.
func Rules(tool string, input []byte, env *policy.Env) ([]policy.Rule, error) {
	entry, ok := catalogue.Lookup(tool)
	if !ok {
		return nil, fmt.Errorf("there is no tool %q", tool)
	}
	if tool == "bash" {
		return bashRules(input, env)
	}
	entry = entry.For(input)
	base := policy.Rule{Tool: tool, Decision: wire.Allow}
	if catalogue.Guessed(tool) || len(entry.Effects) == 0 {
		return []policy.Rule{base}, nil
	}
	var list []policy.Rule
	for _, p := range env.Points(&entry, input) {
		r := base
		r.Effect = p.Effect
		switch {
		case p.Unknown != "":
			return nil, fmt.Errorf("%s", p.Unknown)
		case p.Where != nil && p.Where.Written != p.Where.Resolved:
			return nil, fmt.Errorf("%s leads through a symbolic link", p.Where.Written)
		case p.Where != nil:
			r.Path = EscapePath(p.Where.Resolved)
		case p.URL != nil:
			u, err := url.Parse(p.Resource)
			if err != nil {
				return nil, err
			}
			r.URL = escapeGlob(u.Scheme+"://"+u.Host) + "/**"
		}
		list = append(list, r)
	}
	return list, nil
}

// bashRules returns a rule for each leaf that needs one, and one for each file
// that a leaf opens or writes.
func bashRules(input []byte, env *policy.Env) ([]policy.Rule, error) {
	var in struct {
		Command string `json:"command"`
		Cwd     string `json:"cwd"`
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, fmt.Errorf("the input is not understood")
	}
	at := *env
	if in.Cwd != "" {
		where, err := env.Locate(env.Cwd, in.Cwd)
		if err != nil {
			return nil, err
		}
		at.Cwd = where.Resolved
	}
	script := shell.Analyze(in.Command)
	if script.Unknown != "" {
		return nil, fmt.Errorf("%s", script.Unknown)
	}
	var list []policy.Rule
	for i := range script.Leaves {
		rules, err := leafRules(&script.Leaves[i], &at)
		if err != nil {
			return nil, err
		}
		list = append(list, rules...)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("the command needs no rule")
	}
	return list, nil
}

func leafRules(leaf *shell.Leaf, env *policy.Env) ([]policy.Rule, error) {
	if leaf.Unknown != "" {
		return nil, fmt.Errorf("%s", leaf.Unknown)
	}
	var words []string
	for _, w := range leaf.Words {
		if !w.Literal {
			return nil, fmt.Errorf("%s would be expanded by the shell, each time anew", w.Text)
		}
		words = append(words, quote(w.Text))
	}
	command := strings.Join(words, " ")
	var list []policy.Rule
	if leaf.Kind == shell.Command {
		if command == "" {
			return nil, fmt.Errorf("a redirect without a command has no words to compare")
		}
		list = append(list, policy.Rule{Tool: "bash", Command: command, Decision: wire.Allow})
	}
	for _, p := range env.Bash(leaf, nil)[1:] {
		r := policy.Rule{Tool: "bash", Command: command, Effect: p.Effect, Decision: wire.Allow}
		switch {
		case p.Unknown != "":
			return nil, fmt.Errorf("%s", p.Unknown)
		case p.Where != nil && p.Where.Written != p.Where.Resolved:
			return nil, fmt.Errorf("%s leads through a symbolic link", p.Where.Written)
		case p.Where != nil && p.Effect == catalogue.Read && env.Inside(p.Where):
			continue // reading in the workspace needs no rule
		case p.Where != nil:
			r.Path = EscapePath(p.Where.Resolved)
		case p.URL != nil:
			u, err := url.Parse(p.Resource)
			if err != nil {
				return nil, err
			}
			r.URL = escapeGlob(u.Scheme+"://"+u.Host) + "/**"
		}
		list = append(list, r)
	}
	return list, nil
}

// quote writes a word so that it is read as exactly this word.
func quote(s string) string {
	plain := s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:=,+@%^", r))
	}) < 0
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// EscapePath writes an absolute path so that it is read as exactly this path.
func EscapePath(p string) string { return escapeGlob(p) }

// Words writes the words of one command so that they are read as exactly these.
// The words of a shell that it would expand can't be.
func Words(command string) (text string, glob bool, err error) {
	words, err := shell.Words(command)
	if err != nil {
		return "", false, err
	}
	var list []string
	for _, w := range words {
		if !w.Literal && !w.Glob || strings.ContainsAny(w.Text, "\x00") {
			return "", false, fmt.Errorf("%q would be expanded by the shell; only literal words can be compared", w.Text)
		}
		glob = glob || w.Glob
		list = append(list, quote(w.Text))
	}
	return strings.Join(list, " "), glob, nil
}

// EscapeURL is EscapePath for an address.
func EscapeURL(u string) string { return escapeGlob(u) }

func escapeGlob(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune(`*?[]{}\`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
