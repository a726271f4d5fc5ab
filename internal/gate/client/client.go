// Package client knows the agents whose hooks kx answers: how each tells of a call,
// what it calls its tools and their fields, and what it has to hear so that a call
// really stops or goes on.
//
// A new client is a row in clients and a table of names; a new tool of a client is
// a line of its table. Whatever is not understood is an error, and its caller, kx
// policy hook, stops the call then. Nothing here reads or writes anything.
package client

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/lines"
	"github.com/kxtools/kx/pkg/policy/catalogue"
)

// What becomes of a call that needs a person.
const (
	Deny  = "deny"  // it is refused, and allowed when it comes again after the answer
	Wait  = "wait"  // it is held until the answer, and refused when none comes
	Defer = "defer" // the client stops, and makes the call again when it is resumed
)

// Client is one agent.
type Client struct {
	Name  string
	OnAsk []string // what it honours, its default first
	Say   func(event string, a Answer) ([]byte, error)

	events []string
	tools  func() map[string]line
	// mcp returns our names of an MCP tool, several if the client's name can be
	// read in several ways.
	mcp func(r *Record) []string
	// patches says that a command may hold a patch.
	patches bool
}

// clients are all of them. The versions whose tools the tables cover are those of
// testdata.
var clients = []Client{
	{
		Name: "claude", OnAsk: []string{Deny, Wait, Defer}, Say: sayClaude, events: []string{preToolUse, permissionRequest},
		tools: sync.OnceValue(func() map[string]line { return parseTable(claudeTools) }), mcp: plainMCP,
	},
	{
		Name: "codex", OnAsk: []string{Wait, Deny}, Say: sayCodex, events: []string{preToolUse, permissionRequest},
		tools: sync.OnceValue(func() map[string]line { return parseTable(codexTools) }), mcp: plainMCP, patches: true,
	},
	{
		Name: "gemini", OnAsk: []string{Deny, Wait}, Say: sayGemini, events: []string{beforeTool},
		tools: sync.OnceValue(func() map[string]line { return parseTable(geminiTools) }), mcp: geminiMCP,
	},
}

// Names are the names of the clients.
func Names() []string { return catalogue.Clients }

// Of returns a client by its name.
func Of(name string) (*Client, error) {
	i := slices.IndexFunc(clients, func(c Client) bool { return c.Name == name })
	if i < 0 {
		return nil, fail.Usage("unknown client %q: expected %s", name, strings.Join(Names(), ", ")).WithHint("kx policy hook --help")
	}
	return &clients[i], nil
}

// Asked returns what becomes of a call that needs a person: what the user says, if
// the client honours it.
func (c *Client) Asked(how string) (string, error) {
	if how == "" {
		return c.OnAsk[0], nil
	}
	if !slices.Contains(c.OnAsk, how) {
		return "", fail.Usage("--on-ask %s: %s honours %s", how, c.Name, strings.Join(c.OnAsk, " and ")).WithHint("kx policy hook --help")
	}
	return how, nil
}

// Record is what a client tells of a call.
type Record struct {
	Event string
	Tool  string // as the client calls it
	Input map[string]json.RawMessage
	Cwd   string

	server, own string // of an MCP tool, where the client says so apart
}

// MaxRecord is the longest record that is read: an input may have as much, and the
// rest is short.
const MaxRecord = 17 << 20

// Read reads the record of a call that has not begun. Any other one is an error.
func (c *Client) Read(raw []byte) (*Record, error) {
	if err := lines.CheckObject(raw); err != nil {
		return nil, err
	}
	var in map[string]json.RawMessage // a struct would take keys in another case, too
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	r := &Record{}
	for _, f := range []struct {
		key string
		to  any
	}{{"hook_event_name", &r.Event}, {"tool_name", &r.Tool}, {"cwd", &r.Cwd}, {"tool_input", &r.Input}} {
		if json.Unmarshal(in[f.key], f.to) != nil {
			return nil, fail.Usage("the record of %s has no %s that is understood", c.Name, f.key)
		}
	}
	switch {
	case !slices.Contains(c.events, r.Event):
		return nil, fail.Usage("the event %.40q of %s is none that kx answers: expected %s", r.Event, c.Name, strings.Join(c.events, " or "))
	case r.Tool == "":
		return nil, fail.Usage("the record of %s names no tool", c.Name)
	case r.Input == nil:
		return nil, fail.Usage("the record of %s has no tool_input", c.Name)
	case !strings.HasPrefix(r.Cwd, "/"):
		return nil, fail.Usage("the record of %s has no absolute cwd", c.Name)
	}
	var context struct {
		Server string `json:"server_name"`
		Tool   string `json:"tool_name"`
	}
	if raw, ok := in["mcp_context"]; ok && json.Unmarshal(raw, &context) == nil {
		r.server, r.own = context.Server, context.Tool
	}
	return r, nil
}

// Covers reports whether the table of the client has a tool, if only to say that kx
// has no name for it.
func (c *Client) Covers(tool string) bool { _, ok := c.tools()[tool]; return ok }

// plainMCP is for clients that name MCP tools as kx does.
func plainMCP(r *Record) []string {
	if catalogue.IsMCP(r.Tool) {
		return []string{r.Tool}
	}
	return nil
}

// geminiMCP reads mcp_SERVER_TOOL. Where an underscore may be part of either name,
// and the client does not say which, the call is judged under every name.
func geminiMCP(r *Record) []string {
	rest, ok := strings.CutPrefix(r.Tool, "mcp_")
	if !ok {
		return nil
	}
	if r.server != "" && r.own != "" {
		return []string{"mcp__" + r.server + "__" + r.own}
	}
	var names []string
	for i := range len(rest) {
		if rest[i] == '_' && i > 0 && i+1 < len(rest) {
			names = append(names, "mcp__"+rest[:i]+"__"+rest[i+1:])
		}
	}
	if len(names) == 0 || len(names) > maxReadings {
		return []string{r.Tool} // which is no name, and stops the call
	}
	return names
}

// maxReadings is in how many ways one name is read; none that people give has more
// underscores.
const maxReadings = 16

// own is the name of a tool that kx has no name for.
func (c *Client) own(tool string) (string, error) {
	name := c.Name + "__" + tool
	if !catalogue.IsForeign(name) {
		return "", fmt.Errorf("no rule can name the tool %.80q of %s", tool, c.Name)
	}
	return name, nil
}

// Ours returns our name of a tool, CLIENT__NAME if there is none, "" if no rule can
// name it.
func (c *Client) Ours(tool string) string {
	if l := c.tools()[tool]; l.tool != "" {
		return l.tool
	}
	name, err := c.own(tool)
	if err != nil {
		return ""
	}
	return name
}
