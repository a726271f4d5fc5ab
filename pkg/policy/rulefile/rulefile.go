// Package rulefile reads policy.toml: rules and tests, each with the line that it
// stands on, and errors that name file, line and remedy.
package rulefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/policy/mode"
	"github.com/kxtools/kx/pkg/wire"
)

// Test is a [[test]] of a policy file: what a call must come to.
type Test struct {
	Tool   string
	Input  json.RawMessage
	Mode   string
	Expect wire.Verdict
	Line   int
}

// File is a parsed policy file.
type File struct {
	Rules []policy.Rule
	Tests []Test
}

// FileError is what is wrong with a policy file, and where.
type FileError struct {
	File string
	Line int
	Msg  string
}

func (e *FileError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Msg)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg)
}

// tomlRule is a rule as TOML has it.
type tomlRule struct {
	Tool     *string           `toml:"tool"`
	Effect   *string           `toml:"effect"`
	Command  *string           `toml:"command"`
	Path     *string           `toml:"path"`
	URL      *string           `toml:"url"`
	Input    map[string]string `toml:"input"`
	Decision string            `toml:"decision"`
	Final    bool              `toml:"final"`
	Sandbox  string            `toml:"sandbox"`
	Reason   string            `toml:"reason"`
}

type tomlFile struct {
	Rule []tomlRule `toml:"rule"`
	Test []struct {
		Tool   string         `toml:"tool"`
		Input  map[string]any `toml:"input"`
		Mode   string         `toml:"mode"`
		Expect string         `toml:"expect"`
	} `toml:"test"`
}

// Parse reads a policy file. The name is used in messages and in the source of
// its rules. One bad rule makes the whole file bad: a policy that is only half
// in force is worse than one that says so.
func Parse(data []byte, name string, scope policy.Scope) (*File, error) {
	var doc tomlFile
	dec := toml.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&doc); err != nil {
		return nil, parseError(err, name)
	}
	at, err := positions(data)
	if err != nil || len(at.rules) != len(doc.Rule) || len(at.tests) != len(doc.Test) {
		return nil, &FileError{File: name, Msg: "rules are written as [[rule]] and tests as [[test]]"}
	}
	f := &File{Rules: make([]policy.Rule, 0, len(doc.Rule))}
	for i := range doc.Rule {
		t := &doc.Rule[i]
		r := policy.Rule{
			Input: t.Input, Decision: wire.Verdict(t.Decision),
			Final: t.Final, Sandbox: t.Sandbox, Reason: t.Reason, Scope: scope, Origin: policy.Static, File: name, Line: at.rules[i].line,
		}
		for _, c := range []struct {
			key  string
			from *string
			to   *string
		}{
			{"tool", t.Tool, &r.Tool}, {"effect", t.Effect, &r.Effect},
			{"command", t.Command, &r.Command}, {"path", t.Path, &r.Path}, {"url", t.URL, &r.URL},
		} {
			if c.from == nil {
				continue
			}
			if *c.from == "" { // which is not the same as a key that is left out
				return nil, &FileError{name, at.rules[i].key(c.key), fmt.Sprintf("%s = \"\": it would never match", c.key)}
			}
			*c.to = *c.from
		}
		if err := policy.Check(&r); err != nil {
			var re *policy.RuleError
			errors.As(err, &re)
			return nil, &FileError{name, at.rules[i].key(re.Key), re.Msg}
		}
		f.Rules = append(f.Rules, r)
	}
	for i, t := range doc.Test {
		test, msg := Test{Tool: t.Tool, Mode: mode.Default, Expect: wire.Verdict(t.Expect), Line: at.tests[i].line}, ""
		if t.Mode != "" {
			var ok bool
			if test.Mode, ok = mode.Parse(t.Mode); !ok {
				msg = fmt.Sprintf("mode = %q: expected %s", t.Mode, strings.Join(mode.All, ", "))
			}
		}
		switch test.Expect {
		case wire.Allow, wire.Ask, wire.Deny:
		default:
			msg = fmt.Sprintf("expect = %q: expected allow, ask or deny", t.Expect)
		}
		if t.Tool == "" {
			msg = "a test needs a tool"
		}
		if msg != "" {
			return nil, &FileError{name, test.Line, msg}
		}
		if t.Input != nil {
			if test.Input, err = wire.Marshal(t.Input); err != nil {
				return nil, &FileError{name, test.Line, "the input can't be written as JSON"}
			}
		}
		f.Tests = append(f.Tests, test)
	}
	return f, nil
}

var ruleKeys = []string{"tool", "effect", "command", "path", "url", "input", "decision", "final", "sandbox", "reason"}

func parseError(err error, name string) error {
	var missing *toml.StrictMissingError
	if errors.As(err, &missing) && len(missing.Errors) > 0 {
		row, _ := missing.Errors[0].Position()
		key := missing.Errors[0].Key()
		last := key[len(key)-1]
		msg := fmt.Sprintf("unknown key %q", strings.Join(key, "."))
		for _, k := range ruleKeys {
			if d := catalogue.Distance(last, k); len(key) > 1 && d < 3 {
				return &FileError{name, row, fmt.Sprintf("%s: did you mean %s?", msg, k)}
			}
		}
		return &FileError{name, row, msg}
	}
	var decode *toml.DecodeError
	if errors.As(err, &decode) {
		row, _ := decode.Position()
		msg := strings.TrimPrefix(decode.Error(), "toml: ")
		// The decoder speaks of a value of another type in terms of Go.
		if rest, ok := strings.CutPrefix(msg, "cannot decode TOML "); ok {
			given, rest, _ := strings.Cut(rest, " into ")
			_, want, _ := strings.Cut(rest, " of type ")
			msg = fmt.Sprintf("%s: a TOML %s can't stand here, expected %s", strings.Join(decode.Key(), "."), given, tomlType(want))
		}
		return &FileError{name, row, msg}
	}
	return &FileError{File: name, Msg: strings.TrimPrefix(err.Error(), "toml: ")}
}

// tomlType is how a person calls a type of Go.
func tomlType(of string) string {
	switch {
	case strings.HasPrefix(of, "[]"):
		return "[[...]] tables"
	case strings.HasPrefix(of, "map"):
		return "a table"
	case of == "bool":
		return "true or false"
	}
	return "a string"
}

// table says where a [[rule]] or [[test]] and its keys stand.
type table struct {
	line int
	keys map[string]int
}

func (t *table) key(name string) int {
	name, _, _ = strings.Cut(name, ".")
	if n, ok := t.keys[name]; ok {
		return n
	}
	return t.line
}

type places struct{ rules, tests []table }

// positions finds the lines of all tables. Lines are counted as the parser goes
// along: asking it for each position anew would be quadratic.
func positions(data []byte) (places, error) {
	var at places
	p := unstable.Parser{}
	p.Reset(data)
	line, seen := 1, 0
	lineOf := func(n *unstable.Node) int {
		raw := n.Raw
		if raw.Length == 0 {
			raw = p.Range(n.Data)
		}
		if off := int(raw.Offset); off > seen {
			line += bytes.Count(data[seen:off], []byte{'\n'})
			seen = off
		}
		return line
	}
	var current *table
	for p.NextExpression() {
		n := p.Expression()
		it := n.Key()
		if !it.Next() {
			continue
		}
		first := it.Node()
		l := lineOf(first)
		switch n.Kind {
		case unstable.ArrayTable:
			list := &at.rules
			if string(first.Data) == "test" {
				list = &at.tests
			}
			*list = append(*list, table{line: l})
			current = &(*list)[len(*list)-1]
		case unstable.KeyValue:
			if current == nil {
				continue
			}
			if current.keys == nil {
				current.keys = make(map[string]int, 4)
			}
			current.keys[string(first.Data)] = l
		case unstable.Table:
			// [rule.input] below a [[rule]] is one more key of it.
			if current != nil && it.Next() {
				if current.keys == nil {
					current.keys = make(map[string]int, 4)
				}
				current.keys[string(it.Node().Data)] = l
			}
		}
	}
	return at, p.Error()
}
