package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// known are the fields of calls and of tool records. Whatever else a record has
// goes through untouched.
var known = map[string]bool{
	"type": true, "v": true, "id": true, "tool": true, "input": true, "mode": true, "session": true, "approval_id": true,
	"name": true, "family": true, "effects": true, "default": true, "timeout_ms": true, "allows_parallel": true,
	"plan": true, "state": true, "reason": true, "description": true, "input_schema": true,
}

// ParseCall reads a call from one line of JSON. A tool record counts as a call
// of that tool without an input.
func ParseCall(line []byte) (*Call, error) {
	if !utf8.Valid(line) {
		return nil, errors.New("it is not valid UTF-8")
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(line, &fields); err != nil || fields == nil {
		return nil, errors.New("it is not a JSON object")
	}
	var c struct {
		Call
		Name string `json:"name"`
	}
	if err := json.Unmarshal(line, &c); err != nil {
		var te *json.UnmarshalTypeError
		if errors.As(err, &te) {
			return nil, fmt.Errorf("%s must be a string", te.Field)
		}
		return nil, errors.New("it is not a call")
	}
	call := c.Call
	switch {
	case call.Type == "tool" && call.Tool == "":
		call.Tool = c.Name
	case call.Type != "" && call.Type != "call":
		return nil, fmt.Errorf("its type is %q, not call", call.Type)
	}
	if call.Tool == "" {
		return nil, errors.New("it names no tool")
	}
	if in := bytes.TrimSpace(call.Input); len(in) > 0 && in[0] != '{' {
		return nil, errors.New("its input is not a JSON object")
	}
	for k, v := range fields {
		if !known[k] {
			if call.Extra == nil {
				call.Extra = Extra{}
			}
			call.Extra[k] = v
		}
	}
	return &call, nil
}
