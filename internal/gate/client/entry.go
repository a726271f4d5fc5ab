package client

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kxtools/kx/pkg/policy/shell"
)

// Settings is where a client keeps its hooks.
type Settings struct {
	Path string   // absolute
	Keys []string // to the list of its hooks before a tool runs
}

// homes are the folders of the clients' settings: below the home, or where a variable
// of the client's own says.
var homes = map[string]struct{ variable, folder, file, event string }{
	"claude": {"CLAUDE_CONFIG_DIR", ".claude", "settings.json", preToolUse},
	"codex":  {"CODEX_HOME", ".codex", "hooks.json", preToolUse},
	"gemini": {"", ".gemini", "settings.json", beforeTool},
}

// Settings returns where the hooks of the client stand, for its user.
func (c *Client) Settings(home string, getenv func(string) string) Settings {
	h := homes[c.Name]
	return Settings{filepath.Join(c.Folder(home, getenv), h.file), []string{"hooks", h.event}}
}

// Folder is where the client keeps its settings.
func (c *Client) Folder(home string, getenv func(string) string) string {
	h := homes[c.Name]
	if h.variable != "" {
		if dir := getenv(h.variable); filepath.IsAbs(dir) {
			return dir
		}
	}
	return filepath.Join(home, h.folder)
}

// group is one entry of the list: which tools it is for, and what runs.
type group struct {
	Matcher string    `json:"matcher"`
	Hooks   []program `json:"hooks"`
}

type program struct {
	Type      string   `json:"type"`
	Name      string   `json:"name,omitempty"`
	Command   string   `json:"command"`
	Args      []string `json:"args,omitempty"`
	Timeout   int64    `json:"timeout,omitempty"`
	OnFailure string   `json:"onFailure,omitempty"`
}

// Limit is how long kx may take to answer, beside the time that it holds a call for a
// person; slack is what the client waits instead. One that stops waiting may let the
// call run.
const (
	Limit = 20 * time.Second
	slack = 30 * time.Second
)

// Entry is the entry that asks kx, by the words of argv, before every call. wait is
// how long kx may hold one, 0 for no time at all.
func (c *Client) Entry(argv []string, wait time.Duration) any {
	p := program{Type: "command"}
	patience := wait + slack
	switch c.Name {
	case "claude": // without a shell, and whatever fails stops the call
		p.Command, p.Args, p.OnFailure = argv[0], argv[1:], "block"
		if wait > 0 {
			p.Timeout = int64(patience / time.Second)
		}
		return group{"*", []program{p}}
	case "codex":
		p.Command, p.Timeout = shellLine(argv), int64(patience/time.Second)
	default: // milliseconds
		p.Name, p.Command, p.Timeout = "kx", shellLine(argv), patience.Milliseconds()
	}
	return group{".*", []program{p}}
}

// words are the arguments of an entry that has been read.
func (p *program) words() []string {
	if len(p.Args) > 0 {
		return append([]string{p.Command}, p.Args...)
	}
	list, err := shell.Words(p.Command)
	if err != nil {
		return nil
	}
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = w.Text
	}
	return words
}

// IsOurs reports whether an entry of the list is one that asks kx for this client and
// does nothing else.
func (c *Client) IsOurs(raw json.RawMessage) bool {
	var g group
	if json.Unmarshal(raw, &g) != nil || len(g.Hooks) != 1 {
		return false
	}
	w := g.Hooks[0].words()
	i := slices.Index(w, "policy")
	return i > 0 && filepath.Base(w[0]) == "kx" && len(w) > i+3 && w[i+1] == "hook" && slices.Equal(w[i+2:i+4], []string{"--client", c.Name})
}

// Line returns how an entry is run: the words of a program, or one line for a shell.
func (c *Client) Line(raw json.RawMessage) (argv []string) {
	var g group
	if json.Unmarshal(raw, &g) != nil || len(g.Hooks) != 1 {
		return nil
	}
	if p := g.Hooks[0]; len(p.Args) > 0 {
		return p.words()
	}
	return []string{"/bin/sh", "-c", g.Hooks[0].Command}
}

// Everywhere reports whether an entry is asked for every tool, and stops the call if
// it fails where the client can be told to.
func (c *Client) Everywhere(raw json.RawMessage) bool {
	var g group
	if json.Unmarshal(raw, &g) != nil || len(g.Hooks) != 1 {
		return false
	}
	return slices.Contains([]string{"*", ".*", ""}, g.Matcher) && (c.Name != "claude" || g.Hooks[0].OnFailure == "block")
}

// Probe is a record of a call that no policy allows, made in the folder cwd.
func (c *Client) Probe(cwd string) ([]byte, error) {
	tool, event := "Bash", preToolUse
	if c.Name == "gemini" {
		tool, event = "run_shell_command", beforeTool
	}
	return json.Marshal(map[string]any{
		"session_id": "kx-doctor", "cwd": cwd, "hook_event_name": event, "permission_mode": "default",
		"tool_name": tool, "tool_input": map[string]string{"command": "rm -rf / # kx policy doctor asks, nothing runs"}, "tool_use_id": "kx-doctor",
	})
}

// Blocks reports whether what a hook said stops the call, as the client reads it.
func (c *Client) Blocks(exit int, stdout, stderr []byte) bool {
	if exit == 2 {
		return len(strings.TrimSpace(string(stderr))) > 0
	}
	var said struct {
		Decision string `json:"decision"`
		Specific struct {
			Event    string `json:"hookEventName"`
			Decision string `json:"permissionDecision"`
		} `json:"hookSpecificOutput"`
	}
	if exit != 0 || json.Unmarshal(stdout, &said) != nil {
		return false
	}
	if c.Name == "gemini" {
		return said.Decision == Deny
	}
	return said.Specific.Event == preToolUse && said.Specific.Decision == Deny
}

// shellLine is argv as a line of a shell; plain words stay as they are.
func shellLine(argv []string) string {
	words := make([]string, len(argv))
	for i, w := range argv {
		if words[i] = w; w == "" || strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,") != "" {
			words[i] = quote(w)
		}
	}
	return strings.Join(words, " ")
}
