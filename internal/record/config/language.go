package config

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

const tableOfServers = "lsp_servers"

// KnownServers are the language servers that kx knows: a table of the user's with
// such a name changes one of them.
var KnownServers = []string{"gopls", "tsc", "typescript-language-server", "pyright", "basedpyright", "rust-analyzer"}

// LanguageServer is a server that the user adds to those that kx knows, or puts in
// the place of one: [lsp_servers.NAME].
type LanguageServer struct {
	Name       string            `json:"name"`
	Command    []string          `json:"command"`              // the program, found on PATH, and its arguments
	Extensions map[string]string `json:"extensions,omitempty"` // ".c" = "c": what the protocol calls the language of such a file
	Options    map[string]any    `json:"options,omitempty"`    // initializationOptions
	Settings   map[string]any    `json:"settings,omitempty"`   // what workspace/configuration is answered with, by section
	Env        []string          `json:"env,omitempty"`        // NAME=value
	RunsCode   *bool             `json:"runs_code,omitempty"`  // it runs code of the project; not said, one that kx does not know does
	Source     string            `json:"-"`                    // file:line
}

// takeServers reads the tables of language servers, shows them among the settings,
// and returns the entries of all others.
func (c *Config) takeServers(f *File, entries []entry) (rest []entry, err error) {
	var heads []entry
	var list []string // the array of tables that is being read: it was taken as a whole
	for _, e := range entries {
		switch {
		case e.path[0] != tableOfServers:
			rest = append(rest, e)
			continue
		case len(e.path) == 1 && e.table || list != nil && within(list, e.path):
			continue
		case len(e.path) == 1 || len(e.path) == 2 && !e.table:
			return nil, f.wrong(e, "expected [%s.NAME]", tableOfServers)
		case strings.Trim(e.path[1], bare) != "" || e.path[1] == "":
			return nil, f.wrong(e, "a name has letters, digits, - and _")
		}
		if list = nil; e.each {
			list = e.path
		}
		i := slices.IndexFunc(c.LanguageServers, func(s LanguageServer) bool { return s.Name == e.path[1] })
		if i < 0 {
			i = len(c.LanguageServers)
			c.LanguageServers = append(c.LanguageServers, LanguageServer{Name: e.path[1], Source: fmt.Sprintf("%s:%d", f.Path, e.line)})
			heads = append(heads, e)
		}
		if len(e.path) == 2 {
			continue
		}
		shown, why := c.LanguageServers[i].set(e)
		if why != "" {
			return nil, f.wrong(e, "%s", why)
		}
		if !e.table {
			c.Values = append(c.Values, Value{Key: e.name(), Value: shown, Source: fmt.Sprintf("%s:%d", f.Path, e.line)})
		}
	}
	for i, s := range c.LanguageServers {
		switch {
		case s.Command == nil:
			return nil, f.wrong(heads[i], "a server has a command")
		case s.Extensions == nil && !slices.Contains(KnownServers, s.Name):
			return nil, f.wrong(heads[i], "a server has extensions, unless it takes the place of %s", strings.Join(KnownServers, ", "))
		}
	}
	return rest, nil
}

// within reports whether a key stands in a table.
func within(table, key []string) bool {
	return len(key) >= len(table) && slices.Equal(table, key[:len(table)])
}

// set takes over one key of a server, and returns it as it is shown.
func (s *LanguageServer) set(e entry) (shown any, why string) {
	key, deep := e.path[2], len(e.path) > 3
	switch {
	case slices.Contains([]string{"extensions", "options", "settings"}, key):
		if !deep && !e.table {
			return nil, expected("a table", e.value)
		}
	case !slices.Contains([]string{"command", "env", "runs_code"}, key) || deep:
		return nil, "unknown key; a server has command, extensions, options, settings, env and runs_code"
	case e.table:
		return nil, "it is no table"
	}
	switch key {
	case "command":
		s.Command, why = command(e.value)
		return s.Command, why
	case "env":
		s.Env, why = variables(e.value)
		names := []string{}
		for _, v := range s.Env { // the value may be a secret
			name, _, _ := strings.Cut(v, "=")
			names = append(names, name+"=...")
		}
		return names, why
	case "runs_code":
		on, ok := e.value.(bool)
		if !ok {
			return nil, expected("true or false", e.value)
		}
		s.RunsCode = &on
	case "extensions":
		if s.Extensions == nil {
			s.Extensions = map[string]string{}
		}
		if !deep {
			return nil, ""
		}
		id, ok := e.value.(string)
		switch name := e.path[3]; {
		case len(e.path) > 4 || !ok || id == "":
			return nil, expected("what the protocol calls the language", e.value)
		case name == "" || name == "." || strings.ContainsAny(name, "/*\x00"):
			return nil, `expected the end of a file's name (".c") or all of it`
		default:
			s.Extensions[name] = id
		}
	default:
		into := &s.Options
		if key == "settings" {
			into = &s.Settings
		}
		if _, err := json.Marshal(e.value); err != nil {
			return nil, fmt.Sprintf("it can't be said in JSON: %v", err)
		}
		put(into, e.path[3:], e)
	}
	return e.value, ""
}

// put puts a key into a table of tables.
func put(into *map[string]any, path []string, e entry) {
	if *into == nil {
		*into = map[string]any{}
	}
	if len(path) == 0 {
		return
	}
	at := *into
	for _, name := range path[:len(path)-1] {
		at = inner(at, name)
	}
	if name := path[len(path)-1]; e.table {
		inner(at, name)
	} else {
		at[name] = e.value
	}
}

// inner is a table inside of another one.
func inner(at map[string]any, name string) map[string]any {
	m, ok := at[name].(map[string]any)
	if !ok {
		m = map[string]any{}
		at[name] = m
	}
	return m
}

// command reads a program and its arguments.
func command(value any) (list []string, why string) {
	list, ok := stringsOf(value)
	switch {
	case !ok || len(list) == 0 || list[0] == "":
		return nil, expected("a list of texts, the program first", value)
	case strings.ContainsRune(list[0], '/') && !filepath.IsAbs(list[0]):
		return nil, expected("a program on PATH or an absolute path", list[0])
	}
	return list, ""
}

// variables reads NAME=value.
func variables(value any) (list []string, why string) {
	list, ok := stringsOf(value)
	if !ok || slices.ContainsFunc(list, func(v string) bool { return strings.IndexByte(v, '=') < 1 }) {
		return nil, `expected a list of "NAME=value"`
	}
	return list, ""
}

// stringsOf reads a list of texts that can be handed to a program.
func stringsOf(value any) ([]string, bool) {
	items, ok := value.([]any)
	list := []string{}
	for _, item := range items {
		s, is := item.(string)
		if ok = ok && is && !strings.ContainsRune(s, 0); ok {
			list = append(list, s)
		}
	}
	return list, ok
}
