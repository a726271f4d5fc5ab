package translate

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kxtools/kx/internal/gate/client"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/wire"
)

// Claude reads the permissions of a settings.json of Claude Code.
func Claude(data []byte) ([]Item, error) {
	var s struct {
		Permissions struct {
			Allow, Ask, Deny []string
			DefaultMode      string   `json:"defaultMode"`
			Directories      []string `json:"additionalDirectories"`
		} `json:"permissions"`
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("it is not JSON as expected: %v", err)
	}
	c, err := client.Of("claude")
	if err != nil {
		return nil, err
	}
	var l list
	for _, group := range []struct {
		rules    []string
		decision wire.Verdict
	}{{s.Permissions.Deny, wire.Deny}, {s.Permissions.Ask, wire.Ask}, {s.Permissions.Allow, wire.Allow}} {
		for _, r := range group.rules {
			l.claude(c, r, group.decision)
		}
	}
	if m := s.Permissions.DefaultMode; m != "" && m != "default" {
		l.note("defaultMode "+m, "modes are set by mode in config.toml, and hooks get none that is wider than default")
	}
	for _, dir := range s.Permissions.Directories {
		l.note("additionalDirectories "+dir, "folders beside the workspace are listed in [sandbox] writable of config.toml")
	}
	return l, nil
}

func (l *list) claude(c *client.Client, from string, d wire.Verdict) {
	name, spec, has := strings.Cut(from, "(")
	if has {
		if !strings.HasSuffix(spec, ")") {
			l.note(from, "it is not understood")
			return
		}
		spec = strings.TrimSuffix(spec, ")")
	}
	ours, ok := tool(c, name)
	if !ok {
		l.note(from, "no rule can name this tool")
		return
	}
	all := !has || spec == "" || spec == "*" || spec == ":*"
	switch {
	case all && effectOf(name) != "":
		l.add(from, policy.Rule{Tool: "*", Effect: effectOf(name), Decision: d})
	case all:
		l.add(from, policy.Rule{Tool: ours, Decision: d})
	case ours == "bash":
		l.claudeCommand(from, spec, d)
	case effectOf(name) != "":
		l.claudePath(from, effectOf(name), spec, d)
	case name == "WebFetch" && strings.HasPrefix(spec, "domain:"):
		host := strings.TrimPrefix(spec, "domain:")
		l.add(from, policy.Rule{Tool: ours, URL: "https://" + host + "/**", Decision: d}, policy.Rule{Tool: ours, URL: "http://" + host + "/**", Decision: d})
	default:
		l.note(from, "a rule here has no such condition; write one with input.FIELD")
	}
}

// effectOf is for the tools whose rules speak for all tools that do the same.
func effectOf(name string) string {
	switch name {
	case "Read":
		return catalogue.Read
	case "Edit", "Write", "MultiEdit":
		return catalogue.Write
	}
	return ""
}

func (l *list) claudeCommand(from, spec string, d wire.Verdict) {
	text, more := strings.CutSuffix(spec, ":*")
	if !more {
		text, more = strings.CutSuffix(spec, " *")
	}
	words, ok := command(text, more)
	if !ok {
		l.note(from, "a * stands only at the end of a command here, behind a whole word")
		return
	}
	l.add(from, policy.Rule{Tool: "bash", Command: words, Decision: d})
}

// claudePath reads a path in the manner of gitignore.
func (l *list) claudePath(from, effect, spec string, d wire.Verdict) {
	path := strings.TrimPrefix(spec, "./")
	dotted := path != spec
	switch {
	case strings.HasPrefix(path, "//"):
		path = path[1:]
	case strings.HasPrefix(path, "~/"):
	case strings.HasPrefix(path, "/"):
		l.note(from, "it counts from the folder of the settings; write it with // or ~/ in front")
		return
	case !dotted && !strings.Contains(strings.TrimSuffix(path, "/"), "/"):
		path = "**/" + path // a bare name is meant at any depth
	}
	if strings.HasSuffix(path, "/") {
		path += "**"
	}
	rules := []policy.Rule{{Tool: "*", Effect: effect, Path: path, Decision: d}}
	if d != wire.Allow && !strings.HasSuffix(path, "*") { // a folder is meant with what is in it
		rules = append(rules, policy.Rule{Tool: "*", Effect: effect, Path: path + "/**", Decision: d})
	}
	l.add(from, rules...)
}
