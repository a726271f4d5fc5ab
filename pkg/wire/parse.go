package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// callFields and toolFields are what the records have. Whatever else a record
// carries goes through untouched.
var (
	callFields = []string{"type", "v", "id", "tool", "input", "mode", "session", "approval_id"}
	toolFields = []string{
		"type", "v", "name", "family", "effects", "default", "timeout_ms", "allows_parallel", "plan", "state", "reason",
		"description", "input_schema",
	}
)

// ParseCall reads a call from one line of JSON.
func ParseCall(line []byte) (*Call, error) {
	fields, kind, err := object(line)
	if err != nil {
		return nil, err
	}
	if kind != "" && kind != "call" {
		return nil, fmt.Errorf("its type is %q, not call", kind)
	}
	return call(fields, kind)
}

// ParseSubject reads what a decision is asked for: a call, or a tool record,
// which counts as a call of that tool without an input.
func ParseSubject(line []byte) (*Call, error) {
	fields, kind, err := object(line)
	switch {
	case err != nil:
		return nil, err
	case kind == "" || kind == "call":
		return call(fields, kind)
	case kind != "tool":
		return nil, fmt.Errorf("its type is %q, not call or tool", kind)
	}
	c := &Call{Type: kind, Extra: extra(fields, toolFields)}
	if err := text(fields, "name", &c.Tool); err != nil {
		return nil, err
	}
	if c.Tool == "" {
		return nil, errors.New("it names no tool")
	}
	return c, nil
}

// object takes a record apart. Its keys count exactly as they are written: what
// another program reads in "tool" is what kx reads, and "Tool" is another field.
func object(line []byte) (fields map[string]json.RawMessage, kind string, err error) {
	if !utf8.Valid(line) {
		return nil, "", errors.New("it is not valid UTF-8")
	}
	if err := json.Unmarshal(line, &fields); err != nil || fields == nil {
		if in := bytes.TrimSpace(line); err != nil && json.Valid(in) && in[0] == '[' {
			return nil, "", errors.New("it is an array, not a JSON object a line")
		}
		return nil, "", errors.New("it is not a JSON object")
	}
	return fields, kind, text(fields, "type", &kind)
}

func call(fields map[string]json.RawMessage, kind string) (*Call, error) {
	c := &Call{Type: kind, Extra: extra(fields, callFields)}
	for _, f := range []struct {
		name string
		to   *string
	}{{"id", &c.ID}, {"tool", &c.Tool}, {"mode", &c.Mode}, {"session", &c.Session}, {"approval_id", &c.ApprovalID}} {
		if err := text(fields, f.name, f.to); err != nil {
			return nil, err
		}
	}
	if c.Tool == "" {
		return nil, errors.New("it names no tool")
	}
	if in, ok := fields["input"]; ok {
		if in[0] != '{' {
			return nil, errors.New("its input is not a JSON object")
		}
		c.Input = in
	}
	return c, nil
}

// text reads a field that is a string if it is there; null counts as absent.
func text(fields map[string]json.RawMessage, name string, to *string) error {
	if raw, ok := fields[name]; ok && json.Unmarshal(raw, to) != nil {
		return fmt.Errorf("%s must be a string", name)
	}
	return nil
}

// extra returns the fields that are none of the known ones.
func extra(fields map[string]json.RawMessage, known []string) Extra {
	var e Extra
	for k, v := range fields {
		if !slices.Contains(known, k) {
			if e == nil {
				e = Extra{}
			}
			e[k] = v
		}
	}
	return e
}
