package rulefile

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/kxtools/kx/pkg/policy"
)

// TOML writes a rule as it stands in policy.toml.
func TOML(r *policy.Rule) string {
	var b strings.Builder
	b.WriteString("[[rule]]\n")
	line := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s = %s\n", key, tomlString(value))
		}
	}
	line("tool", r.Tool)
	line("effect", r.Effect)
	line("command", r.Command)
	line("path", r.Path)
	line("url", r.URL)
	for _, k := range slices.Sorted(maps.Keys(r.Input)) {
		line("input."+tomlKey(k), r.Input[k])
	}
	line("decision", string(r.Decision))
	if r.Final {
		b.WriteString("final = true\n")
	}
	line("sandbox", r.Sandbox)
	line("reason", r.Reason)
	return b.String()
}

// tomlKey writes one part of a key, quoted if it has to be.
func tomlKey(s string) string {
	const bare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	if s != "" && strings.Trim(s, bare) == "" {
		return s
	}
	return tomlString(s)
}

// tomlString writes a string as a basic string of TOML.
func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Append returns a policy file with rules behind all that stands in it, which
// stays as it is to the byte.
func Append(data []byte, rules ...policy.Rule) []byte {
	end := "\n"
	if bytes.Contains(data, []byte("\r\n")) {
		end = "\r\n"
	}
	text := slices.Clone(data)
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, end...)
	}
	for i := range rules {
		if len(text) > 0 {
			text = append(text, end...)
		}
		text = append(text, strings.ReplaceAll(TOML(&rules[i]), "\n", end)...)
	}
	return text
}

// Remove returns a policy file without the rule whose [[rule]] stands on a line:
// without that line and its keys, without the lines of comment right above it, and
// without one of the empty lines around it. All else stays as it is to the byte.
func Remove(data []byte, name string, scope policy.Scope, line int) ([]byte, error) {
	before, err := Parse(data, name, scope)
	if err != nil {
		return nil, err
	}
	at, err := positions(data)
	if err != nil {
		return nil, &FileError{File: name, Msg: err.Error()}
	}
	i := slices.IndexFunc(at.rules, func(t table) bool { return t.line == line })
	if i < 0 {
		return nil, &FileError{name, line, "no [[rule]] stands here"}
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	if n := len(lines); len(lines[n-1]) == 0 {
		lines = lines[:n-1]
	}
	empty := func(n int) bool { return len(bytes.TrimSpace(lines[n])) == 0 }
	comment := func(n int) bool { return bytes.HasPrefix(bytes.TrimSpace(lines[n]), []byte("#")) }
	end := line // behind the last line of the last value
	for _, l := range at.rules[i].keys {
		end = max(end, l)
	}
	for end < len(lines) && !whole(bytes.Join(lines[line-1:end], nil)) {
		end++
	}
	start := line - 1
	for start > 0 && comment(start-1) {
		start--
	}
	switch {
	case end < len(lines) && empty(end) && (start == 0 || empty(start-1)):
		end++
	case end == len(lines) && start > 0 && empty(start-1):
		start--
	}
	text := bytes.Join(slices.Concat(lines[:start], lines[end:]), nil)
	after, err := Parse(text, name, scope)
	if err != nil || !same(before, after, i) {
		return nil, &FileError{name, line, "this rule can't be cut out without touching others; remove it by hand"}
	}
	return text, nil
}

// whole reports whether no value of a text goes on behind it.
func whole(text []byte) bool {
	p := unstable.Parser{}
	p.Reset(text)
	for p.NextExpression() {
	}
	return p.Error() == nil
}

// same reports whether after is before without its rule i.
func same(before, after *File, i int) bool {
	rules := slices.Delete(slices.Clone(before.Rules), i, i+1)
	unplaced := func(list []policy.Rule) []policy.Rule {
		out := slices.Clone(list)
		for i := range out {
			out[i].Line = 0
		}
		return out
	}
	tests := func(list []Test) []Test {
		out := slices.Clone(list)
		for i := range out {
			out[i].Line = 0
		}
		return out
	}
	return len(rules) == len(after.Rules) && len(before.Tests) == len(after.Tests) &&
		(len(rules) == 0 || reflect.DeepEqual(unplaced(rules), unplaced(after.Rules))) &&
		(len(before.Tests) == 0 || reflect.DeepEqual(tests(before.Tests), tests(after.Tests)))
}
