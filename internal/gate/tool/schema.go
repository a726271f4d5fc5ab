package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kxtools/kx/pkg/wire"
)

// schema is the subset of JSON Schema in which built-in tools describe their
// input. What lies outside it is refused by Verify and by every call, so a
// constraint can't be written and then not checked.
type schema struct {
	Type        string             `json:"type"`
	Description string             `json:"description"`
	Properties  map[string]*schema `json:"properties"`
	Required    []string           `json:"required"`
	Additional  *bool              `json:"additionalProperties"`
	Items       *schema            `json:"items"`
	Enum        []string           `json:"enum"`
	Const       *bool              `json:"const"`
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
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something after the JSON")
	}
	if s.Type != "object" {
		return nil, fmt.Errorf("type is %q, not object", s.Type)
	}
	return &s, s.valid("the input")
}

// valid refuses a schema in which something would not be checked: a type that is
// not known, a keyword that its type has no use for, a default or a required
// field that is none. An object that names its fields has no others: Go reads
// the keys of JSON whatever their case is, so a field PATH beside path would be
// judged by one name and used by the other.
func (s *schema) valid(where string) error {
	if s == nil {
		return fmt.Errorf("%s has no schema", where)
	}
	for _, k := range []struct {
		given    bool
		name, of string
	}{
		{s.Properties != nil, "properties", "object"},
		{s.Required != nil, "required", "object"},
		{s.Additional != nil, "additionalProperties", "object"},
		{s.Items != nil, "items", "array"},
		{s.MinItems != nil || s.MaxItems != nil, "minItems or maxItems", "array"},
		{s.Enum != nil, "enum", "string"},
		{s.Const != nil, "const", "boolean"},
		{s.MinLength != nil || s.MaxLength != nil, "minLength or maxLength", "string"},
		{s.Minimum != nil || s.Maximum != nil, "minimum or maximum", "integer number"},
	} {
		if k.given && !slices.Contains(strings.Fields(k.of), s.Type) {
			return fmt.Errorf("%s: %s says nothing of type %q", where, k.name, s.Type)
		}
	}
	switch s.Type {
	case "object":
		if len(s.Properties) > 0 && (s.Additional == nil || *s.Additional) {
			return fmt.Errorf("%s: an object with properties needs additionalProperties false", where)
		}
		for _, name := range s.Required {
			if s.Properties[name] == nil {
				return fmt.Errorf("%s: %q is required and no property", where, name)
			}
		}
	case "string":
		if s.Enum != nil && len(s.Enum) == 0 {
			return fmt.Errorf("%s: an enum of nothing", where)
		}
	case "array", "integer", "number", "boolean":
	default:
		return fmt.Errorf("%s: type %q is not known", where, s.Type)
	}
	for name, p := range s.Properties {
		if err := p.valid(name); err != nil {
			return err
		}
	}
	if s.Items != nil {
		if err := s.Items.valid(where + "[]"); err != nil {
			return err
		}
	}
	if s.Default != nil {
		d, err := parseJSON(s.Default)
		if err != nil {
			return fmt.Errorf("%s: default: %w", where, err)
		}
		if _, why := s.check(where, d); why != "" {
			return fmt.Errorf("default: %s", why)
		}
	}
	return nil
}

// parseJSON reads one JSON value; its numbers keep their digits.
func parseJSON(raw []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("the input is not JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something after the input's JSON")
	}
	return v, nil
}

// Check compares the input of a call with the tool's schema and returns it with
// the defaults filled in, whole numbers written plainly and its keys sorted.
// Fields that the schema does not name are refused: a model that invents one
// should hear of it.
func (t *Tool) Check(input json.RawMessage) (json.RawMessage, error) {
	if !utf8.Valid(input) {
		return nil, Invalid(t.Name, "the input is not valid UTF-8")
	}
	if len(bytes.TrimSpace(input)) == 0 {
		input = json.RawMessage("{}")
	}
	v, err := parseJSON(input)
	if err != nil {
		return nil, Invalid(t.Name, "%s", err)
	}
	s, err := parseSchema(t.Schema)
	if err != nil {
		return nil, err
	}
	v, why := s.check("", v)
	if why != "" {
		return nil, Invalid(t.Name, "%s", why)
	}
	return wire.Marshal(v)
}

// maxExact is the largest integer that every reader of JSON takes for itself.
const maxExact = 1<<53 - 1

// check returns v as the tool gets it, or what is wrong with it. Of what the
// caller wrote, a message shows no more than the beginning.
func (s *schema) check(at string, v any) (any, string) {
	where := at
	if where == "" {
		where = "the input"
	}
	switch s.Type {
	case "object":
		m, ok := v.(map[string]any)
		if !ok {
			return nil, fmt.Sprintf("%s is %s, not an object", where, kind(v))
		}
		return m, s.checkObject(at, m)
	case "array":
		a, ok := v.([]any)
		if !ok {
			return nil, fmt.Sprintf("%s is %s, not an array", where, kind(v))
		}
		if s.MinItems != nil && len(a) < *s.MinItems || s.MaxItems != nil && len(a) > *s.MaxItems {
			return nil, fmt.Sprintf("%s has %d items, allowed are %s", where, len(a), span(s.MinItems, s.MaxItems))
		}
		for i := range a {
			if s.Items == nil {
				break
			}
			var why string
			if a[i], why = s.Items.check(fmt.Sprintf("%s[%d]", at, i), a[i]); why != "" {
				return nil, why
			}
		}
	case "string":
		str, ok := v.(string)
		if !ok {
			return nil, fmt.Sprintf("%s is %s, not a string", where, kind(v))
		}
		if len(s.Enum) > 0 && !slices.Contains(s.Enum, str) {
			return nil, fmt.Sprintf("%s is %.40q, expected %s", where, str, strings.Join(s.Enum, ", "))
		}
		if n := utf8.RuneCountInString(str); s.MinLength != nil && n < *s.MinLength || s.MaxLength != nil && n > *s.MaxLength {
			return nil, fmt.Sprintf("%s has %d characters, allowed are %s", where, n, span(s.MinLength, s.MaxLength))
		}
	case "integer", "number":
		n, ok := v.(json.Number)
		if !ok {
			return nil, fmt.Sprintf("%s is %s, not a number", where, kind(v))
		}
		f, err := n.Float64()
		if err != nil {
			return nil, fmt.Sprintf("%s is %.40s, a number that is too large", where, n)
		}
		if s.Type == "integer" {
			if f != math.Trunc(f) || math.Abs(f) > maxExact {
				return nil, fmt.Sprintf("%s is %.40s, not an integer", where, n)
			}
			v = json.Number(strconv.FormatInt(int64(f), 10)) // a model may write 10.0
		}
		if s.Minimum != nil && f < *s.Minimum || s.Maximum != nil && f > *s.Maximum {
			return nil, fmt.Sprintf("%s is %.40s, allowed are %s", where, n, span(s.Minimum, s.Maximum))
		}
	case "boolean":
		b, ok := v.(bool)
		if !ok {
			return nil, fmt.Sprintf("%s is %s, not true or false", where, kind(v))
		}
		if s.Const != nil && b != *s.Const {
			return nil, fmt.Sprintf("%s is %t, allowed is only %t", where, b, *s.Const)
		}
	}
	return v, ""
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
			return fmt.Sprintf("there is no field %.80q", strings.TrimPrefix(at+"."+name, "."))
		}
		var why string
		if m[name], why = p.check(strings.TrimPrefix(at+"."+name, "."), m[name]); why != "" {
			return why
		}
	}
	for name, p := range s.Properties {
		if _, ok := m[name]; ok || p.Default == nil {
			continue
		}
		if d, err := parseJSON(p.Default); err == nil {
			m[name], _ = p.check(name, d)
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
