// Package catalogue is the table of tool names that policy knows: what each may
// do to the world, where its path or address stands, and whether plan mode lets
// it through. A name stands here from the day that rules can speak of it, which
// may be before the tool exists, so the matrix needs no running tool.
package catalogue

import (
	"encoding/json"
	"slices"
	"sort"
	"strings"
)

// Entry is what policy knows of a tool name, whether or not the tool is loaded.
type Entry struct {
	Name    string
	Effects []string
	Path    string   // the input field that holds its path
	Default string   // the path if the field is not given
	URL     string   // the input field that holds its address
	Plan    bool     // may be used in plan mode
	Prose   []string // fields that are for people: they don't make it another action
	Dry     string   // the input field that makes a read of it when it is true
}

// For returns the entry as it holds for an input: a dry run only reads, which plan
// mode lets through.
func (e Entry) For(input []byte) Entry {
	if e.Dry == "" || len(input) == 0 {
		return e
	}
	var in map[string]any
	if json.Unmarshal(input, &in) == nil && in[e.Dry] == true {
		return e.Reading()
	}
	return e
}

// Reading returns the entry of a dry run.
func (e Entry) Reading() Entry {
	e.Effects, e.Plan = reads, true
	return e
}

// Effects of a tool.
const (
	Read  = "read"
	Write = "write"
	Exec  = "exec"
	Net   = "net"
)

var (
	none    []string
	reads   = []string{Read}
	writes  = []string{Write}
	nets    = []string{Net}
	readNet = []string{Read, Net}
	// An MCP tool may do anything to files and the network until the user's
	// configuration says less.
	mcpEffects = []string{Read, Write, Net}
	// A tool of another client may do anything at all.
	foreignEffects = []string{Read, Write, Exec, Net}
)

// table lists every built-in name.
var table = entries(
	// Files and the shell.
	Entry{Name: "read_file", Effects: reads, Path: "path", Plan: true},
	Entry{Name: "list_files", Effects: reads, Path: "path", Default: ".", Plan: true},
	Entry{Name: "glob_search", Effects: reads, Path: "path", Default: ".", Plan: true},
	Entry{Name: "grep_search", Effects: reads, Path: "path", Default: ".", Plan: true},
	Entry{Name: "write_file", Effects: writes, Path: "path"},
	Entry{Name: "edit_file", Effects: writes, Path: "path"},
	Entry{Name: "apply_patch", Effects: writes},
	Entry{Name: "bash", Effects: []string{Exec}, Prose: []string{"description", "timeout_ms"}},
	// The web.
	Entry{Name: "web_search", Effects: nets, Plan: true},
	Entry{Name: "web_fetch", Effects: nets, URL: "url", Plan: true},
	// Output, assets, media.
	Entry{Name: "emit_output", Effects: none, Plan: true},
	Entry{Name: "store_asset", Effects: reads, Path: "path"},
	Entry{Name: "generate_image", Effects: nets},
	Entry{Name: "edit_image", Effects: nets},
	Entry{Name: "generate_audio", Effects: nets},
	// People.
	Entry{Name: "ask_user_question", Effects: none, Plan: true},
	Entry{Name: "ask_operator", Effects: none, Plan: true},
	Entry{Name: "notify_operator", Effects: none},
	Entry{Name: "request_parent_clarification", Effects: none, Plan: true},
	// Schedules and tasks.
	Entry{Name: "wake_after", Effects: none},
	Entry{Name: "wake_at", Effects: none},
	Entry{Name: "schedule_create", Effects: none},
	Entry{Name: "schedule_list", Effects: none, Plan: true},
	Entry{Name: "schedule_get", Effects: none, Plan: true},
	Entry{Name: "schedule_pause", Effects: none},
	Entry{Name: "schedule_resume", Effects: none},
	Entry{Name: "schedule_cancel", Effects: none},
	Entry{Name: "schedule_trigger_now", Effects: none},
	Entry{Name: "task_create", Effects: none},
	Entry{Name: "task_get", Effects: none, Plan: true},
	Entry{Name: "task_list", Effects: none, Plan: true},
	Entry{Name: "task_output", Effects: none, Plan: true},
	Entry{Name: "task_update", Effects: none},
	Entry{Name: "task_stop", Effects: none},
	Entry{Name: "task_delete", Effects: none},
	// Agents, skills, goals, plans.
	Entry{Name: "spawn_agent", Effects: none, Plan: true},
	Entry{Name: "message_agent", Effects: none, Plan: true},
	Entry{Name: "wait_agent", Effects: none, Plan: true},
	Entry{Name: "list_agents", Effects: none, Plan: true},
	Entry{Name: "list_agent_summaries", Effects: none, Plan: true},
	Entry{Name: "get_agent", Effects: none, Plan: true},
	Entry{Name: "list_skills", Effects: none, Plan: true},
	Entry{Name: "use_skill", Effects: none},
	Entry{Name: "get_goal", Effects: none, Plan: true},
	Entry{Name: "create_goal", Effects: none},
	Entry{Name: "update_goal", Effects: none},
	Entry{Name: "todo_write", Effects: none, Plan: true},
	Entry{Name: "enter_plan_mode", Effects: none, Plan: true},
	Entry{Name: "exit_plan_mode", Effects: none, Plan: true},
	// Channels.
	Entry{Name: "read_channel_thread", Effects: none, Plan: true},
	Entry{Name: "set_channel_reaction", Effects: none},
	Entry{Name: "create_channel_stimulus", Effects: none},
	// MCP helpers.
	Entry{Name: "list_mcp_resources", Effects: readNet, Plan: true},
	Entry{Name: "list_mcp_resource_templates", Effects: readNet, Plan: true},
	Entry{Name: "read_mcp_resource", Effects: readNet, Plan: true},
	// Code intelligence.
	Entry{Name: "lsp_diagnostics", Effects: reads, Path: "path", Default: ".", Plan: true},
	Entry{Name: "lsp_hover", Effects: reads, Path: "path", Default: ".", Plan: true},
	Entry{Name: "lsp_definition", Effects: reads, Path: "path", Default: ".", Plan: true},
	Entry{Name: "lsp_references", Effects: reads, Path: "path", Default: ".", Plan: true},
	Entry{Name: "lsp_symbols", Effects: reads, Path: "path", Default: ".", Plan: true},
	Entry{Name: "lsp_implementation", Effects: reads, Path: "path", Default: ".", Plan: true},
	Entry{Name: "lsp_type_definition", Effects: reads, Path: "path", Default: ".", Plan: true},
	Entry{Name: "lsp_callers", Effects: reads, Path: "path", Default: ".", Plan: true},
	Entry{Name: "lsp_rename", Effects: writes, Path: "path", Default: ".", Dry: "dry_run"},
	// The browser.
	Entry{Name: "browser_open", Effects: nets, URL: "url"},
	Entry{Name: "browser_snapshot", Effects: nets},
	Entry{Name: "browser_click", Effects: nets},
	Entry{Name: "browser_type", Effects: nets},
	Entry{Name: "browser_fill", Effects: nets},
	Entry{Name: "browser_press", Effects: nets},
	Entry{Name: "browser_select", Effects: nets},
	Entry{Name: "browser_hover", Effects: nets},
	Entry{Name: "browser_scroll", Effects: nets},
	Entry{Name: "browser_back", Effects: nets},
	Entry{Name: "browser_forward", Effects: nets},
	Entry{Name: "browser_reload", Effects: nets},
	Entry{Name: "browser_wait", Effects: nets},
	Entry{Name: "browser_evaluate", Effects: nets},
	Entry{Name: "browser_screenshot", Effects: nets},
	Entry{Name: "browser_upload", Effects: nets},
	Entry{Name: "browser_download", Effects: nets},
	Entry{Name: "browser_console", Effects: nets},
	Entry{Name: "browser_network", Effects: nets},
	Entry{Name: "browser_performance", Effects: nets},
	Entry{Name: "browser_pages", Effects: nets},
	Entry{Name: "browser_close", Effects: nets},
)

func entries(list ...Entry) map[string]Entry {
	m := make(map[string]Entry, len(list))
	for _, e := range list {
		m[e.Name] = e
	}
	return m
}

// Names returns every built-in name, sorted.
func Names() []string {
	names := make([]string, 0, len(table))
	for n := range table {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// Lookup returns the entry of a tool name. A well-formed MCP name has one, too, and
// so has CLIENT__NAME; any other name that is not in the catalogue is unknown.
func Lookup(name string) (Entry, bool) {
	if e, ok := table[name]; ok {
		return e, true
	}
	if wellFormedMCP(name) {
		return Entry{Name: name, Effects: mcpEffects}, true
	}
	if IsForeign(name) {
		return Entry{Name: name, Effects: foreignEffects}, true
	}
	return Entry{}, false
}

// Clients are the agents that have a table of names here: what they call a tool
// that kx has no name for is CLIENT__NAME.
var Clients = []string{"claude", "codex", "gemini"}

// IsForeign reports whether the name is a well-formed CLIENT__NAME.
func IsForeign(name string) bool {
	client, own, ok := strings.Cut(name, "__")
	return ok && slices.Contains(Clients, client) && own != "" && len(name) <= maxName && plain(own)
}

// Guessed reports whether nothing is known of a tool but its name: which fields of
// its input are paths can't be told.
func Guessed(name string) bool { return IsMCP(name) || IsForeign(name) }

// maxName is the longest name of an MCP tool. Models take at most 64 bytes; the
// rest is for those who name a server first and shorten later.
const maxName = 128

// wellFormedMCP reports whether the name has the form mcp__SERVER__TOOL.
func wellFormedMCP(name string) bool {
	rest, ok := strings.CutPrefix(name, "mcp__")
	if !ok || len(rest) < 4 || len(name) > maxName {
		return false
	}
	sep := strings.Index(rest[1:], "__") + 1
	return plain(rest) && sep > 0 && len(rest) > sep+len("__")
}

// plain reports whether a name has only characters that a model can call.
func plain(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// IsMCP reports whether the name is one of an MCP server's tools.
func IsMCP(name string) bool { return strings.HasPrefix(name, "mcp__") }

// Suggest returns the known name that is closest to a mistyped one, or "".
func Suggest(name string) string {
	best, bestDistance := "", 3 // further away it is another word
	for _, n := range Names() {
		if d := Distance(name, n); d < bestDistance {
			best, bestDistance = n, d
		}
	}
	return best
}

// Distance is the number of letters to change, add, drop or swap.
func Distance(a, b string) int {
	if len(a)-len(b) > 2 || len(b)-len(a) > 2 {
		return 3
	}
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}
