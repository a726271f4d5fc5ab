package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/pkg/wire"
)

// schema is the subset of JSON Schema in which built-in tools describe their
// input. A keyword outside it is refused when the registry is made, so a
// constraint can't be written and then not checked.
type schema struct {
	Type        string             `json:"type"`
	Description string             `json:"description"`
	Properties  map[string]*schema `json:"properties"`
	Required    []string           `json:"required"`
	Additional  *bool              `json:"additionalProperties"`
	Items       *schema            `json:"items"`
	Enum        []string           `json:"enum"`
	Default     json.RawMessage    `json:"default"`
	Minimum     *float64           `json:"minimum"`
	Maximum     *float64           `json:"maximum"`
	MinLength   *int               `json:"minLength"`
	MaxLength   *int               `json:"maxLength"`
	MinItems    *int               `json:"minItems"`
	MaxItems    *int               `json:"maxItems"`
}

func parseSchema(raw json.RawMessage) (*schema, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	var s schema
	if err := dec.Decode(&s); err != nil {
		return nil, err
	}
	if s.Type != "object" {
		return nil, fmt.Errorf("type is %q, not object", s.Type)
	}
	return &s, nil
}

// Check compares the input of a call with the tool's schema and returns it with
// the defaults filled in and its keys sorted. Fields that the schema does not
// name are refused: a model that invents one should hear of it.
func (t *Tool) Check(input json.RawMessage) (json.RawMessage, error) {
	if !utf8.Valid(input) {
		return nil, invalid(t.Name, "the input is not valid UTF-8")
	}
	if len(bytes.TrimSpace(input)) == 0 {
		input = json.RawMessage("{}")
	}
	dec := json.NewDecoder(bytes.NewReader(input))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, invalid(t.Name, "the input is not JSON: "+err.Error())
	}
	if dec.More() {
		return nil, invalid(t.Name, "there is something after the input's JSON")
	}
	s, err := parseSchema(t.Schema)
	if err != nil {
		return nil, err
	}
	if why := s.check("", v); why != "" {
		return nil, invalid(t.Name, why)
	}
	return wire.Marshal(v)
}

func invalid(name, why string) error {
	return fail.New("invalid_input", fail.ExitUsage, "%s: %s", name, why).WithHint("kx tool show %s", name)
}

// check returns what is wrong with v, or "". It fills defaults in place.
func (s *schema) check(at string, v any) string {
	where := at
	if where == "" {
		where = "the input"
	}
	switch s.Type {
	case "object":
		m, ok := v.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s is %s, not an object", where, kind(v))
		}
		return s.checkObject(at, m)
	case "array":
		a, ok := v.([]any)
		if !ok {
			return fmt.Sprintf("%s is %s, not an array", where, kind(v))
		}
		if s.MinItems != nil && len(a) < *s.MinItems || s.MaxItems != nil && len(a) > *s.MaxItems {
			return fmt.Sprintf("%s has %d items, allowed are %s", where, len(a), span(s.MinItems, s.MaxItems))
		}
		for i, item := range a {
			if s.Items == nil {
				continue
			}
			if why := s.Items.check(fmt.Sprintf("%s[%d]", at, i), item); why != "" {
				return why
			}
		}
	case "string":
		str, ok := v.(string)
		if !ok {
			return fmt.Sprintf("%s is %s, not a string", where, kind(v))
		}
		if len(s.Enum) > 0 && !slices.Contains(s.Enum, str) {
			return fmt.Sprintf("%s is %q, expected %s", where, str, strings.Join(s.Enum, ", "))
		}
		if n := utf8.RuneCountInString(str); s.MinLength != nil && n < *s.MinLength || s.MaxLength != nil && n > *s.MaxLength {
			return fmt.Sprintf("%s has %d characters, allowed are %s", where, n, span(s.MinLength, s.MaxLength))
		}
	case "integer", "number":
		n, ok := v.(json.Number)
		if !ok {
			return fmt.Sprintf("%s is %s, not a number", where, kind(v))
		}
		f, err := n.Float64()
		if err != nil || s.Type == "integer" && (f != math.Trunc(f) || math.Abs(f) > 1<<53) {
			return fmt.Sprintf("%s is %s, not an integer", where, n)
		}
		if s.Minimum != nil && f < *s.Minimum || s.Maximum != nil && f > *s.Maximum {
			return fmt.Sprintf("%s is %s, allowed are %s", where, n, span(s.Minimum, s.Maximum))
		}
	case "boolean":
		if _, ok := v.(bool); !ok {
			return fmt.Sprintf("%s is %s, not true or false", where, kind(v))
		}
	}
	return ""
}

func (s *schema) checkObject(at string, m map[string]any) string {
	for _, name := range s.Required {
		if _, ok := m[name]; !ok {
			return fmt.Sprintf("%q is missing", strings.TrimPrefix(at+"."+name, "."))
		}
	}
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		p := s.Properties[name]
		if p == nil {
			if s.Additional == nil || *s.Additional {
				continue
			}
			return fmt.Sprintf("there is no field %q", strings.TrimPrefix(at+"."+name, "."))
		}
		if why := p.check(strings.TrimPrefix(at+"."+name, "."), m[name]); why != "" {
			return why
		}
	}
	for name, p := range s.Properties {
		if _, ok := m[name]; ok || p.Default == nil {
			continue
		}
		var d any
		if json.Unmarshal(p.Default, &d) == nil {
			m[name] = d
		}
	}
	return ""
}

func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case []any:
		return "an array"
	}
	return "an object"
}

func span[T int | float64](low, high *T) string {
	switch {
	case low == nil:
		return fmt.Sprintf("at most %v", *high)
	case high == nil:
		return fmt.Sprintf("at least %v", *low)
	}
	return fmt.Sprintf("%v to %v", *low, *high)
}
