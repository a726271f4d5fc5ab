package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kxtools/kx/internal/record/config/provider"
)

// takeModels returns the lines about models, shows them among the settings, and
// returns the entries of all others. They name slots and variables, never keys: what
// is wrong with them is said before anybody sees them.
func (c *Config) takeModels(f *File, entries []entry) (mine []provider.Line, rest []entry) {
	for _, e := range entries {
		if !slices.Contains(provider.Tables, e.path[0]) {
			rest = append(rest, e)
			continue
		}
		mine = append(mine, provider.Line{Path: e.path, Name: e.name(), N: e.line, Table: e.table, Each: e.each, Value: e.value})
		if len(e.path) > 1 { // a project's role replaces the user's as a whole
			c.Values = slices.DeleteFunc(c.Values, func(v Value) bool {
				return e.path[0] == "roles" && strings.HasPrefix(v.Key, "roles."+e.path[1]+".") && !strings.HasPrefix(v.Source, f.Path+":")
			})
		}
		if e.table || e.each {
			continue
		}
		value := e.value
		if list, ok := value.([]any); ok {
			texts := []string{}
			for _, item := range list {
				texts = append(texts, fmt.Sprint(item))
			}
			value = texts
		}
		c.Values = append(c.Values, Value{Key: e.name(), Value: value, Source: fmt.Sprintf("%s:%d", f.Path, e.line)})
	}
	return mine, rest
}
