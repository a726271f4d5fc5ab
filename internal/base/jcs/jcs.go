// Package jcs writes JSON in its canonical form (RFC 8785), so that equal values
// have equal bytes and can be hashed. One deviation: an integer that a double
// can't hold keeps its digits, because two such integers must not hash alike.
package jcs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/kxtools/kx/pkg/wire"
)

// maxExact is the largest integer that a double holds exactly with all before it.
const maxExact = 1 << 53

// Encode returns the canonical form of v, which is marshalled first.
func Encode(v any) ([]byte, error) {
	raw, err := wire.Marshal(v)
	if err != nil {
		return nil, err
	}
	return Canonical(raw)
}

// Canonical returns the canonical form of a JSON text. Of a key that stands
// twice the last one counts, as for everything else that reads it.
func Canonical(raw []byte) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if dec.More() {
		return nil, fmt.Errorf("there is something after the JSON")
	}
	var b bytes.Buffer
	if err := write(&b, v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func write(b *bytes.Buffer, v any) error {
	switch v := v.(type) {
	case json.Number:
		return writeNumber(b, v)
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := write(b, item); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		sort.Slice(keys, func(i, j int) bool { return before(keys[i], keys[j]) })
		b.WriteByte('{')
		for i, k := range keys {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := write(b, k); err != nil {
				return err
			}
			b.WriteByte(':')
			if err := write(b, v[k]); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	default: // string, bool, nil
		raw, err := wire.Marshal(v)
		if err != nil {
			return err
		}
		text := string(raw)
		if strings.Contains(text, `\u202`) {
			text = unescape.Replace(text)
		}
		b.WriteString(text)
	}
	return nil
}

// Go escapes these two for JavaScript's sake; the canonical form does not. The
// pairs of backslashes come first, so that an escaped backslash before u2028
// stays what it is.
var unescape = strings.NewReplacer(`\\`, `\\`, `\u2028`, "\u2028", `\u2029`, "\u2029")

func writeNumber(b *bytes.Buffer, n json.Number) error {
	if i, err := strconv.ParseInt(n.String(), 10, 64); err == nil {
		b.WriteString(strconv.FormatInt(i, 10))
		return nil
	}
	f, err := n.Float64()
	if err != nil {
		return fmt.Errorf("the number %s is too large", n)
	}
	if f > maxExact || f < -maxExact {
		b.WriteString(n.String())
		return nil
	}
	raw, err := json.Marshal(f)
	if err != nil {
		return err
	}
	if f == 0 {
		raw = []byte("0")
	}
	b.Write(raw)
	return nil
}

// before orders keys by their UTF-16 code units.
func before(a, b string) bool {
	x, y := utf16.Encode([]rune(a)), utf16.Encode([]rune(b))
	for i := 0; i < len(x) && i < len(y); i++ {
		if x[i] != y[i] {
			return x[i] < y[i]
		}
	}
	return len(x) < len(y)
}
