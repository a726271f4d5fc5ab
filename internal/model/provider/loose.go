package provider

import (
	"encoding/json"
	"strconv"

	"github.com/kxtools/kx/pkg/wire"
)

// Text is a string of an answer. Some servers write a number instead, or null.
type Text string

// UnmarshalJSON never fails: what is no text is none.
func (t *Text) UnmarshalJSON(raw []byte) error {
	*t = ""
	switch raw[0] {
	case '"':
		var s string
		err := json.Unmarshal(raw, &s)
		*t = Text(s)
		return err
	case 'n', '{', '[':
		return nil
	}
	*t = Text(raw)
	return nil
}

// Number is a whole number of an answer. Some servers write it as a string, or with a
// fraction.
type Number int64

// UnmarshalJSON never fails: what is no number is none.
func (n *Number) UnmarshalJSON(raw []byte) error {
	if len(raw) > 1 && raw[0] == '"' {
		raw = raw[1 : len(raw)-1]
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f < 0 || f > 1<<53 {
		f = 0
	}
	*n = Number(f)
	return nil
}

// Object is an object of an answer of which only some fields are known; the others are
// kept as they came. Anything else is an empty one.
type Object map[string]json.RawMessage

// UnmarshalJSON never fails.
func (o *Object) UnmarshalJSON(raw []byte) error {
	*o = nil
	if raw[0] != '{' {
		return nil
	}
	var m map[string]json.RawMessage
	err := json.Unmarshal(raw, &m)
	*o = m
	return err
}

// Text returns a field that is text.
func (o Object) Text(name string) string {
	var t Text
	if raw := o[name]; len(raw) > 0 {
		t.UnmarshalJSON(raw)
	}
	return string(t)
}

// Number returns a field that is a number, or -1.
func (o Object) Number(name string) int {
	raw := o[name]
	if len(raw) == 0 || raw[0] == 'n' {
		return -1
	}
	var n Number
	n.UnmarshalJSON(raw)
	return int(n)
}

// Arguments returns arguments as text: most servers write them as a string, some as the
// object itself.
func Arguments(raw json.RawMessage) string {
	var s string
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return ""
	case raw[0] == '"' && json.Unmarshal(raw, &s) == nil:
		return s
	}
	return string(raw)
}

// String writes a text as JSON, with no more escaped than must be.
func String(s string) json.RawMessage {
	b, err := wire.Marshal(s)
	if err != nil {
		return json.RawMessage(`""`)
	}
	return b
}
