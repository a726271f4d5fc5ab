package translate

import (
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/kxtools/kx/internal/gate/client"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/wire"
)

var geminiDecisions = map[string]wire.Verdict{"allow": wire.Allow, "deny": wire.Deny, "ask_user": wire.Ask}

// geminiKnown are the keys of a rule that are looked at. Any other one narrows the
// rule in a way that ours can't.
var geminiKnown = map[string]bool{"name": true, "toolName": true, "commandPrefix": true, "mcpName": true, "decision": true, "priority": true, "denyMessage": true}

// Gemini reads the rules of a policy file of Gemini CLI. Their priorities are left
// out: here a deny comes first.
func Gemini(data []byte) ([]Item, error) {
	var f struct {
		Rule []map[string]any `toml:"rule"`
	}
	if err := toml.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("it is not TOML as expected: %v", strings.TrimPrefix(err.Error(), "toml: "))
	}
	c, err := client.Of("gemini")
	if err != nil {
		return nil, err
	}
	var l list
	for i, r := range f.Rule {
		l.gemini(c, fmt.Sprintf("rule %d", i+1), r)
	}
	return l, nil
}

func (l *list) gemini(c *client.Client, from string, r map[string]any) {
	tools, ok := texts(r["toolName"])
	if ok && len(tools) > 0 {
		from += ": " + strings.Join(tools, ", ")
	}
	for key := range r {
		if !geminiKnown[key] {
			l.note(from, "a rule here has no %s", key)
			return
		}
	}
	decision, _ := r["decision"].(string)
	d, known := geminiDecisions[decision]
	prefixes, fine := texts(r["commandPrefix"])
	server, isText := r["mcpName"].(string)
	if !known || !ok || !fine || r["mcpName"] != nil && !isText {
		l.note(from, "it is not understood")
		return
	}
	reason, _ := r["denyMessage"].(string)
	var rules []policy.Rule
	switch {
	case len(prefixes) > 0:
		for _, p := range prefixes {
			words, ok := command(p, true)
			if !ok {
				l.note(from, "the words of %q can't stand in a rule", p)
				return
			}
			rules = append(rules, policy.Rule{Tool: "bash", Command: words, Decision: d, Reason: reason})
		}
	case server != "":
		for _, t := range tools {
			rules = append(rules, policy.Rule{Tool: "mcp__" + server + "__" + t, Decision: d, Reason: reason})
		}
		if len(tools) == 0 {
			rules = append(rules, policy.Rule{Tool: "mcp__" + server + "__*", Decision: d, Reason: reason})
		}
	default:
		for _, t := range tools {
			ours := "*"
			if t != "*" {
				if ours, ok = tool(c, t); !ok || strings.Contains(t, "*") || strings.HasPrefix(t, "mcp_") {
					l.note(from, "no rule can name the tool %s; an MCP server is named by mcpName", t)
					return
				}
			}
			rules = append(rules, policy.Rule{Tool: ours, Decision: d, Reason: reason})
		}
	}
	if len(rules) == 0 {
		l.note(from, "it names no tool")
		return
	}
	l.add(from, rules...)
}

// texts reads a text or a list of texts.
func texts(v any) ([]string, bool) {
	switch v := v.(type) {
	case nil:
		return nil, true
	case string:
		return []string{v}, true
	case []any:
		var list []string
		for _, item := range v {
			s, ok := item.(string)
			if !ok {
				return nil, false
			}
			list = append(list, s)
		}
		return list, true
	}
	return nil, false
}
