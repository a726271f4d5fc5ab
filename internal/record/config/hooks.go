package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

const tableOfHooks = "hooks"

// The events that hooks are run at.
const (
	PreToolUse        = "pre_tool_use"
	PermissionRequest = "permission_request"
	PermissionDenied  = "permission_denied"
	PostToolUse       = "post_tool_use"
)

// HookEvents are all of them, in the order in which one call meets them.
var HookEvents = []string{PreToolUse, PermissionRequest, PermissionDenied, PostToolUse}

const (
	// defaultHookTimeout is what a hook may take: somebody waits for the call.
	defaultHookTimeout = 10 * time.Second
	// maxHookTimeout keeps a hook below what other agents wait for theirs.
	maxHookTimeout = 60 * time.Second
)

// Hook is a program or a server that is told of calls, and may have a say.
type Hook struct {
	Event   string
	Name    string            // the event and a number, if the user gives none
	Tool    string            // exact, a prefix with *, or *
	Input   map[string]string // what fields of the input must be, exact or with a last *
	Command string            // a line of sh, or
	URL     string            // where the call is posted
	Timeout time.Duration
	Source  string // file:line
}

// takeHooks reads the tables of hooks, and returns the entries of all others.
func takeHooks(f *File, entries []entry) (hooks []Hook, rest []entry, err error) {
	count := map[string]int{}
	var of map[string]any // the table of the hook that is being read
	for _, e := range entries {
		switch {
		case e.path[0] != tableOfHooks:
			rest = append(rest, e)
		case len(e.path) == 1 && e.table:
		case len(e.path) < 2 || !slices.Contains(HookEvents, e.path[1]):
			return nil, nil, f.wrong(e, "expected [[hooks.EVENT]], with an event of %s", strings.Join(HookEvents, ", "))
		case len(e.path) == 2 && e.each:
			event := e.path[1]
			list, _ := e.value.([]any)
			if count[event] >= len(list) {
				return nil, nil, f.wrong(e, "expected [[%s]]", e.name())
			}
			of, _ = list[count[event]].(map[string]any)
			count[event]++
			h := Hook{Event: event, Name: fmt.Sprintf("%s %d", event, count[event]), Tool: "*", Timeout: defaultHookTimeout, Source: fmt.Sprintf("%s:%d", f.Path, e.line)}
			if _, command := of["command"]; command == (of["url"] != nil) {
				return nil, nil, f.wrong(e, "a hook has a command or a url")
			}
			hooks = append(hooks, h)
		case len(e.path) == 2 || len(hooks) == 0 || hooks[len(hooks)-1].Event != e.path[1]:
			return nil, nil, f.wrong(e, "expected [[hooks.%s]]", e.path[1])
		default:
			if why := hooks[len(hooks)-1].set(e, lookup(of, e.path[2:])); why != "" {
				return nil, nil, f.wrong(e, "%s", why)
			}
		}
	}
	return hooks, rest, nil
}

// list shows hooks among the settings.
func (c *Config) list(hooks []Hook) {
	for _, h := range hooks {
		c.Values = append(c.Values, Value{Key: tableOfHooks + "." + h.Event, Value: h.Name + ": " + h.Command + h.URL, Source: h.Source})
	}
}

// set takes over one key of a hook.
func (h *Hook) set(e entry, value any) (why string) {
	key := strings.Join(e.path[2:], ".")
	s, isText := value.(string)
	isText = isText && s != "" && !strings.ContainsRune(s, 0)
	switch {
	case key == "matcher" || key == "matcher.input":
		if !e.table {
			return expected("a table", value)
		}
		return ""
	case key == "timeout_ms":
		n, ok := value.(int64)
		if !ok || n <= 0 || n > maxHookTimeout.Milliseconds() {
			return expected(fmt.Sprintf("a number from 1 to %d", maxHookTimeout.Milliseconds()), value)
		}
		h.Timeout = time.Duration(n) * time.Millisecond
		return ""
	case len(e.path) == 5 && strings.HasPrefix(key, "matcher.input."):
		switch i := strings.IndexByte(s, '*'); {
		case !isText:
			return expected("text", value)
		case i >= 0 && i != len(s)-1:
			return "a * stands only at the end"
		case h.Input == nil:
			h.Input = map[string]string{}
		}
		h.Input[e.path[4]] = s
		return ""
	}
	to, known := map[string]*string{"name": &h.Name, "command": &h.Command, "url": &h.URL, "matcher.tool": &h.Tool}[key]
	switch {
	case !known:
		return "unknown key; a hook has name, matcher, command, url and timeout_ms"
	case !isText:
		return expected("text", value)
	case key == "matcher.tool" && strings.Contains(s[:len(s)-1], "*"):
		return "a * stands only at the end"
	case key == "url":
		u, err := url.Parse(s)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
			return "expected an http or https address without a password in it"
		}
	}
	*to = s
	return ""
}
