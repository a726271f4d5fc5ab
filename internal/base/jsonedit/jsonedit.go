// Package jsonedit changes one list inside of a JSON file that somebody else keeps,
// and leaves every other byte as it is: order, spaces and line ends stay.
//
// A file with anything but JSON in it, such as comments, is an error.
package jsonedit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// span is where a value stands.
type span struct{ from, to int }

// member is a key of an object with its value.
type member struct {
	name  string
	at    int // of the key
	value span
}

// Add appends a value to the list that the keys lead to. Objects and the list are
// made if they are not there. The data may be empty.
func Add(data []byte, keys []string, value any) ([]byte, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{}\n")
	}
	doc, err := check(data)
	if err != nil {
		return nil, err
	}
	style := styleOf(data, doc)
	at := doc
	for depth, key := range keys {
		m, err := members(data, at)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where(keys[:depth]), err)
		}
		i := find(m, key)
		if i < 0 {
			var v any = []any{value}
			for d := len(keys) - 1; d > depth; d-- {
				v = map[string]any{keys[d]: v}
			}
			text, err := style.render(v, depth+1)
			if err != nil {
				return nil, err
			}
			name, err := json.Marshal(key)
			if err != nil {
				return nil, err
			}
			return style.append(data, at, len(m) == 0, string(name)+": "+text, depth), nil
		}
		at = m[i].value
	}
	items, err := elements(data, at)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where(keys), err)
	}
	text, err := style.render(value, len(keys)+1)
	if err != nil {
		return nil, err
	}
	return style.append(data, at, len(items) == 0, text, len(keys)), nil
}

// List returns the elements of the list that the keys lead to, nil if it is not there.
func List(data []byte, keys []string) ([]json.RawMessage, error) {
	_, items, err := locate(data, keys)
	var list []json.RawMessage
	for _, s := range items {
		list = append(list, data[s.from:s.to])
	}
	return list, err
}

// locate returns the objects on the way to the list, and its elements.
func locate(data []byte, keys []string) (way [][]member, items []span, err error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil, nil
	}
	at, err := check(data)
	if err != nil {
		return nil, nil, err
	}
	for depth, key := range keys {
		m, err := members(data, at)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", where(keys[:depth]), err)
		}
		i := find(m, key)
		if i < 0 {
			return nil, nil, nil
		}
		way, at = append(way, m), m[i].value
	}
	items, err = elements(data, at)
	if err != nil {
		err = fmt.Errorf("%s: %w", where(keys), err)
	}
	return way, items, err
}

// Remove takes the elements out of the list for which is says so. A list that is
// empty then goes, too, and so does an object that held nothing else.
func Remove(data []byte, keys []string, is func(json.RawMessage) bool) ([]byte, error) {
	for {
		way, items, err := locate(data, keys)
		if err != nil {
			return nil, err
		}
		found := -1
		for i, s := range items {
			if is(data[s.from:s.to]) {
				found = i
			}
		}
		if found < 0 {
			return data, nil
		}
		list := items
		depth := len(keys)
		for len(list) == 1 && depth > 0 {
			depth--
			list = nil
			for _, m := range way[depth] {
				list = append(list, span{m.at, m.value.to})
			}
			found = find(way[depth], keys[depth])
		}
		data = cut(data, list, found)
	}
}

// cut takes one of several neighbours out, with the comma that belongs to it.
func cut(data []byte, list []span, i int) []byte {
	from, to := list[i].from, list[i].to
	switch {
	case i > 0:
		from = list[i-1].to
	case len(list) > 1:
		to = list[1].from
	default: // nothing is left between the brackets
		for from > 0 && isSpace(data[from-1]) {
			from--
		}
		for to < len(data) && isSpace(data[to]) {
			to++
		}
	}
	return append(append([]byte{}, data[:from]...), data[to:]...)
}

func where(keys []string) string {
	if len(keys) == 0 {
		return "the file"
	}
	return strings.Join(keys, ".")
}

// find returns the index of the member of a name, -1 if there is none.
func find(m []member, name string) int {
	return slices.IndexFunc(m, func(m member) bool { return m.name == name })
}

// check returns where the value of a document stands.
func check(data []byte) (span, error) {
	if !json.Valid(data) {
		var v any
		err := json.Unmarshal(data, &v)
		return span{}, fmt.Errorf("it is not JSON: %v", err)
	}
	return span{skip(data, 0), len(bytes.TrimRight(data, " \t\r\n"))}, nil
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func skip(data []byte, i int) int {
	for i < len(data) && isSpace(data[i]) {
		i++
	}
	return i
}

// end returns where the value that begins at i ends. The data is valid.
func end(data []byte, i int) int {
	depth := 0
	for ; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			for i++; data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
			if depth < 0 {
				return i
			}
		case depth == 0 && (c == ',' || isSpace(c)):
			return i
		}
	}
	return i
}

func members(data []byte, at span) (list []member, err error) {
	if data[at.from] != '{' {
		return nil, errors.New("it is not an object")
	}
	for i := skip(data, at.from+1); data[i] == '"'; {
		m := member{at: i}
		stop := end(data, i)
		if err := json.Unmarshal(data[i:stop], &m.name); err != nil {
			return nil, err
		}
		i = skip(data, skip(data, stop)+1) // behind the colon
		m.value = span{i, end(data, i)}
		if find(list, m.name) >= 0 {
			return nil, fmt.Errorf("%q stands in it twice", m.name)
		}
		list = append(list, m)
		if i = skip(data, m.value.to); data[i] == ',' {
			i = skip(data, i+1)
		}
	}
	return list, nil
}

func elements(data []byte, at span) (list []span, err error) {
	if data[at.from] != '[' {
		return nil, errors.New("it is not a list")
	}
	for i := skip(data, at.from+1); data[i] != ']'; {
		s := span{i, end(data, i)}
		list = append(list, s)
		if i = skip(data, s.to); data[i] == ',' {
			i = skip(data, i+1)
		}
	}
	return list, nil
}

// style is how a file is laid out.
type style struct {
	lines  bool   // on several lines
	indent string // of one level
	end    string // of a line
}

// styleOf looks at the first member of the document. An empty file gets two spaces.
func styleOf(data []byte, doc span) style {
	s := style{lines: true, indent: "  ", end: "\n"}
	if bytes.Contains(data, []byte("\r\n")) {
		s.end = "\r\n"
	}
	m, err := members(data, doc)
	if err != nil || len(m) == 0 {
		return s
	}
	before := string(data[doc.from+1 : m[0].at])
	i := strings.LastIndexByte(before, '\n')
	if s.lines = i >= 0; s.lines {
		s.indent = before[i+1:]
	}
	return s
}

// render writes a value that stands so deep.
func (s style) render(v any, depth int) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if s.lines {
		enc.SetIndent(strings.Repeat(s.indent, depth), s.indent)
	}
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\n", s.end), nil
}

// append puts text behind the last part of an object or a list.
func (s style) append(data []byte, at span, empty bool, text string, depth int) []byte {
	closing := at.to - 1
	last := closing // behind the last part
	for isSpace(data[last-1]) {
		last--
	}
	var b bytes.Buffer
	b.Write(data[:last])
	if !empty {
		b.WriteByte(',')
	}
	switch {
	case s.lines:
		b.WriteString(s.end + strings.Repeat(s.indent, depth+1) + text)
		if empty || last == closing {
			b.WriteString(s.end + strings.Repeat(s.indent, depth))
			last = closing
		}
	case !empty:
		b.WriteString(" " + text)
	default:
		b.WriteString(text)
	}
	b.Write(data[last:])
	return b.Bytes()
}
