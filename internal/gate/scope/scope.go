// Package scope is what a session may see and use at all, apart from policy:
// the capability scope hides tools (they are not found, as if absent), the
// credential scope keeps visible ones from being used with a server's
// credentials. Both are data; they only ever narrow.
//
// A list that is absent allows anything, an empty one nothing: the two must
// never be confused, or narrowing two lists that share nothing would widen.
package scope

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/kxtools/kx/internal/base/fail"
)

// List is a set of names. "*" stands for all.
type List []string

// holds reports whether the list names one of the names.
func (l List) holds(name string) bool { return slices.Contains(l, "*") || slices.Contains(l, name) }

// permits is the rule for a pair of lists: not denied, and allowed if there is
// an allow list.
func permits(allow, deny List, name string) bool {
	return !deny.holds(name) && (allow == nil || allow.holds(name))
}

// Capability decides what is visible.
type Capability struct {
	ToolAllow      List `json:"tool_allow"`
	ToolDeny       List `json:"tool_deny"`
	MCPServerAllow List `json:"mcp_server_allow"`
	MCPServerDeny  List `json:"mcp_server_deny"`
	MCPToolAllow   List `json:"mcp_tool_allow"`
	MCPToolDeny    List `json:"mcp_tool_deny"`
	SkillAllow     List `json:"skill_allow"`
	SkillDeny      List `json:"skill_deny"`
}

// Credential decides whose credentials are usable.
type Credential struct {
	RouteAllow               List `json:"route_allow"`
	RouteDeny                List `json:"route_deny"`
	MCPServerAllow           List `json:"mcp_server_allow"`
	MCPServerDeny            List `json:"mcp_server_deny"`
	ConnectorAllow           List `json:"connector_allow"`
	ConnectorDeny            List `json:"connector_deny"`
	ConnectorCredentialAllow List `json:"connector_credential_allow"`
	ConnectorCredentialDeny  List `json:"connector_credential_deny"`
}

// Scope is both. The zero value allows everything.
type Scope struct {
	Capability Capability `json:"capability"`
	Credential Credential `json:"credential"`
}

// Parse reads a capabilities file. A name that is misspelt must not become a
// scope that allows everything, so unknown fields are errors, and so are null,
// which is neither any nor none, and patterns, which would match nothing.
func Parse(data []byte, name string) (Scope, error) {
	var s Scope
	if hasNull(data) {
		return s, fail.Config("%s: null is neither any nor none; leave the field out or write []", name).WithHint("man kx-json")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return s, fail.Config("%s: %v", name, err).WithHint("man kx-json")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return s, fail.Config("%s: there is something after the JSON", name)
	}
	for _, l := range s.lists() {
		for i, entry := range *l {
			entry = strings.TrimSpace(entry)
			if entry == "" || entry != "*" && strings.Contains(entry, "*") {
				return s, fail.Config("%s: %.80q: expected a whole name or *", name, entry).WithHint("man kx-json")
			}
			(*l)[i] = entry
		}
	}
	return s, nil
}

// hasNull reports whether there is a null before the JSON ends or breaks.
func hasNull(data []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(data))
	for {
		t, err := dec.Token()
		if err != nil || t == nil {
			return err == nil
		}
	}
}

// Narrow returns what both scopes permit.
func (s Scope) Narrow(o Scope) Scope {
	a, b := s.lists(), o.lists()
	for i := range a {
		if i%2 == 0 {
			*a[i] = intersect(*a[i], *b[i])
		} else {
			*a[i] = union(*a[i], *b[i])
		}
	}
	return s
}

// lists returns all lists, each allow followed by its deny.
func (s *Scope) lists() []*List {
	c, k := &s.Capability, &s.Credential
	return []*List{
		&c.ToolAllow, &c.ToolDeny, &c.MCPServerAllow, &c.MCPServerDeny, &c.MCPToolAllow, &c.MCPToolDeny, &c.SkillAllow, &c.SkillDeny,
		&k.RouteAllow, &k.RouteDeny, &k.MCPServerAllow, &k.MCPServerDeny, &k.ConnectorAllow, &k.ConnectorDeny,
		&k.ConnectorCredentialAllow, &k.ConnectorCredentialDeny,
	}
}

func intersect(a, b List) List {
	switch {
	case a == nil:
		return slices.Clone(b)
	case b == nil:
		return slices.Clone(a)
	case a.holds("*"):
		return slices.Clone(b)
	case b.holds("*"):
		return slices.Clone(a)
	}
	out := List{}
	for _, name := range a {
		if b.holds(name) {
			out = append(out, name)
		}
	}
	return out
}

func union(a, b List) List {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

// helpers are the tools that reach any MCP server. The lists of MCP tools speak
// of them by these names.
var helpers = []string{"list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource"}

// Sees reports whether a tool is visible.
func (s *Scope) Sees(tool string) bool {
	c := &s.Capability
	if !permits(c.ToolAllow, c.ToolDeny, tool) {
		return false
	}
	server, ok := mcpServer(tool)
	if ok && !permits(c.MCPServerAllow, c.MCPServerDeny, server) {
		return false
	}
	return !ok && !slices.Contains(helpers, tool) || permits(c.MCPToolAllow, c.MCPToolDeny, tool)
}

// Uses reports whether a visible tool may use the credentials that it needs.
func (s *Scope) Uses(tool string) bool {
	server, ok := mcpServer(tool)
	return !ok || permits(s.Credential.MCPServerAllow, s.Credential.MCPServerDeny, server)
}

// mcpServer returns the server in mcp__SERVER__TOOL.
func mcpServer(tool string) (string, bool) {
	rest, ok := strings.CutPrefix(tool, "mcp__")
	if !ok {
		return "", false
	}
	server, _, ok := strings.Cut(rest, "__")
	return server, ok
}
