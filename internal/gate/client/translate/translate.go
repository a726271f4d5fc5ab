// Package translate reads the rules that another agent has, and says them in ours.
// What can't be said, or would come out wider than it was, is a note instead of a
// rule. It reads bytes and writes nothing; kx policy import is its caller.
package translate

import (
	"fmt"
	"strings"

	"github.com/kxtools/kx/internal/gate/client"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/policy/rulefile"
	"github.com/kxtools/kx/pkg/policy/shell"
	"github.com/kxtools/kx/pkg/wire"
)

// Item is one rule of the client: what became of it, or why nothing did.
type Item struct {
	From  string        // as the client has it
	Rules []policy.Rule // none if Note says why
	Note  string
}

// list gathers items.
type list []Item

func (l *list) note(from, format string, args ...any) {
	*l = append(*l, Item{From: from, Note: fmt.Sprintf(format, args...)})
}

// add takes rules that can be compiled. A deny of these clients is above every allow,
// so it becomes final.
func (l *list) add(from string, rules ...policy.Rule) {
	for i := range rules {
		r := &rules[i]
		r.Scope, r.Final = policy.User, r.Decision == wire.Deny
		if err := policy.Check(r); err != nil {
			l.note(from, "%v", err)
			return
		}
	}
	*l = append(*l, Item{From: from, Rules: rules})
}

// TOML writes a rule as it stands in policy.toml.
func TOML(r *policy.Rule) string { return rulefile.TOML(r) }

// tool returns our name of a client's tool, or of all tools of an MCP server.
func tool(c *client.Client, name string) (string, bool) {
	if catalogue.IsMCP(name) {
		server, own, found := strings.Cut(strings.TrimPrefix(name, "mcp__"), "__")
		switch {
		case server == "" || strings.Contains(server, "*"):
			return "", false
		case !found || own == "*":
			return "mcp__" + server + "__*", true
		}
		return name, !strings.Contains(strings.TrimSuffix(own, "*"), "*")
	}
	ours := c.Ours(name)
	return ours, ours != ""
}

// command returns the words of a command as a rule has them; more says that anything
// may follow.
func command(text string, more bool) (string, bool) {
	words, err := shell.Words(text)
	if err != nil || len(words) == 0 {
		return "", false
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		if !w.Literal || strings.Contains(w.Text, "*") {
			return "", false
		}
		if quoted[i] = w.Text; strings.ContainsAny(w.Text, " \t\n'\"\\$`&|;<>()[]{}?!#~") || w.Text == "" {
			quoted[i] = "'" + strings.ReplaceAll(w.Text, "'", `'\''`) + "'"
		}
	}
	if more {
		quoted = append(quoted, "*")
	}
	return strings.Join(quoted, " "), true
}
