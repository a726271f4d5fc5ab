package term

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMarks is how many combining marks a character may carry. Living languages
// need four; a hundred paint over the lines around them.
const maxMarks = 6

// Sanitize makes visible what would steer a terminal or hide from the eye:
// control bytes, bidirectional and zero-width characters, what else shows as
// nothing, marks without a character below them or too many of them, broken
// UTF-8. Line ends and tabs stay. It is the one rule for what a person reads;
// what is visible already stays as it is.
func Sanitize(s string) string { return sanitize(s, "\n\t") }

// Line is Sanitize for text that must stay on one line: line ends and tabs
// become visible too.
func Line(s string) string { return sanitize(s, "") }

func sanitize(s, keep string) string {
	if clean(s, keep) {
		return s
	}
	var b strings.Builder
	e := eye{keep: keep}
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			e = eye{keep: keep}
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case e.sees(r):
			b.WriteString(s[i : i+size])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		i += size
	}
	return b.String()
}

// JSON makes hidden characters of a JSON document visible as \u escapes. It
// stays the same document.
func JSON(doc []byte) []byte {
	if clean(string(doc), "\n\t") {
		return doc
	}
	out := make([]byte, 0, len(doc)+16)
	e := eye{keep: "\n\t"}
	for i := 0; i < len(doc); {
		r, size := utf8.DecodeRune(doc[i:])
		switch {
		case r == utf8.RuneError && size == 1: // which is how everybody reads it
			e = eye{keep: "\n\t"}
			out = append(out, `\ufffd`...)
		case e.sees(r):
			out = append(out, doc[i:i+size]...)
		case r < ' ': // between values: there are none inside strings
			out = append(out, ' ')
		case r <= 0xffff:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		}
		i += size
	}
	return out
}

// clean reports whether s is plain ASCII that needs no work.
func clean(s, keep string) bool {
	for i := range len(s) {
		if c := s[i]; c >= 0x7f || c < ' ' && strings.IndexByte(keep, c) < 0 {
			return false
		}
	}
	return true
}

// eye looks at a text, character by character.
type eye struct {
	keep   string // control characters that the layout has room for
	base   bool   // a character that can carry marks is there
	marks  int    // how many it carries
	symbol bool   // it is a symbol, and nothing stands behind it yet
}

// sees reports whether the next character is one that a person sees, and sees
// for what it is.
func (e *eye) sees(r rune) bool {
	switch {
	case strings.ContainsRune(e.keep, r):
		e.base, e.marks, e.symbol = false, 0, false
		return true
	case unicode.In(r, hidden...):
		// An emoji has a selector behind it that asks for its colours, or for none.
		if e.symbol && (r == 0xfe0e || r == 0xfe0f) {
			e.symbol = false
			return true
		}
		e.base, e.symbol = false, false
		return false
	case unicode.Is(unicode.M, r):
		e.symbol = false
		if !e.base || e.marks == maxMarks {
			return false
		}
		e.marks++
		return true
	}
	e.base, e.marks = r != ' ', 0
	e.symbol = r > unicode.MaxASCII && unicode.In(r, unicode.So, unicode.Sm)
	return true
}

// hidden are the characters that a person would not see, or not see what they
// do: controls, formats (bidirectional, zero-width, tags), line separators, what
// Unicode says to show as nothing, and what has no ink though it says otherwise.
var hidden = []*unicode.RangeTable{
	unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp,
	unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Noncharacter_Code_Point,
	{
		R16: []unicode.Range16{{Lo: 0x2800, Hi: 0x2800, Stride: 1}}, // blank Braille pattern
		R32: []unicode.Range32{
			{Lo: 0x16fe4, Hi: 0x16fe4, Stride: 1}, // Khitan filler
			{Lo: 0x1d159, Hi: 0x1d159, Stride: 1}, // null notehead
		},
	},
}
