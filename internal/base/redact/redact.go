// Package redact takes known secrets out of text: each place where one stands
// gets a marker with its name. A secret is found as it is, in base64 (either
// alphabet, whatever stands before it, also over several lines), with any of its
// bytes percent-encoded, and as JSON writes it in a string.
//
// Invariants: text without a secret comes back as it was, byte for byte; what
// comes back holds none. A nil *Redactor knows no secrets and costs nothing. The
// gate, the records and the streams of a process stand on it.
package redact

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
	"unsafe"
)

const (
	// MinChars is the shortest secret that is looked for: what is shorter stands
	// in ordinary text, too.
	MinChars = 8
	// minLine is the shortest line of a secret of several lines that is a secret
	// of its own: a listing with line numbers has no more of it in one piece.
	minLine = 16
)

// Secret is a value and what it is called.
type Secret struct{ Name, Value string }

// Redactor knows secrets. Any number of goroutines may use it.
type Redactor struct {
	plain   *finder // the values
	base64  *finder // what base64 makes of them
	spaces  bool    // a value has a space, which a query writes as +
	longest int     // bytes that an encoded value may have
}

// New returns a redactor of the secrets that are long enough, nil if none is.
func New(secrets []Secret) *Redactor {
	r := &Redactor{}
	var plain, coded []pattern
	for _, s := range named(secrets) {
		lines := strings.Contains(s.Value, "\n")
		plain = append(plain, pattern{s.Value, s.Name, part(s.Value, lines)})
		for _, c := range base64Cores(s.Value) {
			coded = append(coded, pattern{c, s.Name, part(c, lines)})
		}
		r.spaces = r.spaces || strings.Contains(s.Value, " ")
		r.longest = max(r.longest, longestForm*len(s.Value))
	}
	if len(plain) == 0 {
		return nil
	}
	r.plain, r.base64 = newFinder(plain), newFinder(coded)
	return r
}

// longestForm is how many bytes an encoding makes of one: \u00e9 stands for a
// letter of two, \u0041 for one of one.
const longestForm = 6

// named returns what is looked for: the values, and the long lines of those that
// have several. A marker that has a value in it has no name.
func named(secrets []Secret) []Secret {
	var all []Secret
	for _, s := range secrets {
		s.Name = "[secret " + s.Name + "]"
		if utf8.RuneCountInString(s.Value) >= MinChars {
			all = append(all, s)
		}
		if !strings.Contains(s.Value, "\n") {
			continue
		}
		for line := range strings.Lines(s.Value) {
			line = strings.TrimSpace(line)
			if utf8.RuneCountInString(line) >= minLine && !strings.HasPrefix(line, "-----") { // the frame of a key is no secret
				all = append(all, Secret{s.Name, line})
			}
		}
	}
	for i := range all {
		for _, s := range all {
			if strings.Contains(all[i].Name, s.Value) {
				all[i].Name = nameless
			}
		}
	}
	return all
}

const nameless = "[secret]"

// maxRounds bounds how often a text is gone through: a marker and what stands
// beside it could come to a secret again, but hardly twice.
const maxRounds = 4

// String returns s without secrets.
func (r *Redactor) String(s string) string {
	if r == nil {
		return s
	}
	b := unsafe.Slice(unsafe.StringData(s), len(s)) // only read
	if found := r.find(b); len(found) > 0 {
		return string(r.replace(b, found))
	}
	return s
}

// Bytes returns b without secrets: b itself if it has none.
func (r *Redactor) Bytes(b []byte) []byte {
	if r == nil {
		return b
	}
	if found := r.find(b); len(found) > 0 {
		return r.replace(b, found)
	}
	return b
}

// Has reports whether a secret stands in s.
func (r *Redactor) Has(s string) bool {
	return r != nil && len(r.find(unsafe.Slice(unsafe.StringData(s), len(s)))) > 0
}

// replace puts markers in place of what was found, until nothing is.
func (r *Redactor) replace(b []byte, found []span) []byte {
	for round := 1; len(found) > 0; round++ {
		out := put(b, found)
		switch {
		case bytes.Equal(out, b): // a secret that looks like its marker
			return out
		case round == maxRounds:
			return []byte(nameless)
		}
		b = out
		found = r.find(b)
	}
	return b
}

func put(b []byte, found []span) []byte {
	out, at := make([]byte, 0, len(b)), 0
	for _, f := range found {
		out = append(append(out, b[at:f.start]...), f.name...)
		at = f.end
	}
	return append(out, b[at:]...)
}

// JSON returns a JSON text whose strings, and names of fields, have no secrets:
// raw itself if they have none.
func (r *Redactor) JSON(raw []byte) []byte {
	if r == nil {
		return raw
	}
	var out []byte
	done := 0
	for at := 0; at < len(raw); {
		open := bytes.IndexByte(raw[at:], '"')
		if open < 0 {
			break
		}
		open += at
		end := closing(raw, open+1)
		if end < 0 {
			break
		}
		if text, ok := r.literal(raw[open:end]); ok {
			out = append(append(out, raw[done:open]...), text...)
			done = end
		}
		at = end
	}
	if out == nil {
		return raw
	}
	return append(out, raw[done:]...)
}

// closing returns the offset behind the quote that ends a string which began
// before at, or -1.
func closing(raw []byte, at int) int {
	for {
		next := bytes.IndexAny(raw[at:], `"\`)
		switch {
		case next < 0:
			return -1
		case raw[at+next] == '"':
			return at + next + 1
		}
		if at += next + 2; at > len(raw) {
			return -1
		}
	}
}

// literal returns a JSON string without secrets, and whether it had any.
func (r *Redactor) literal(quoted []byte) ([]byte, bool) {
	if len(quoted) < MinChars+2 {
		return nil, false
	}
	text := string(quoted[1 : len(quoted)-1])
	if strings.Contains(text, `\`) && json.Unmarshal(quoted, &text) != nil {
		text = string(quoted[1 : len(quoted)-1])
	}
	clean := r.String(text)
	if clean == text {
		return nil, false
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(clean) != nil { // a string always can be
		return []byte(`"` + nameless + `"`), true
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), true
}
