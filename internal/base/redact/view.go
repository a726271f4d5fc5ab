package redact

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// view is a text as an encoding has it: what it says, and where the source has
// more bytes than that.
type view struct {
	text []byte
	gaps []gap
	wide bool // a gap belongs to the character before it
}

// gap says that from a place of the text on, the source is so much further.
type gap struct{ at, ahead int }

func (v *view) origin(at int) int {
	i, _ := slices.BinarySearchFunc(v.gaps, at, func(g gap, at int) int {
		if g.at <= at {
			return -1
		}
		return 1
	})
	if i == 0 {
		return at
	}
	return at + v.gaps[i-1].ahead
}

// end is where what ends before at ends in the source.
func (v *view) end(at int) int {
	if v.wide {
		return v.origin(at)
	}
	return v.origin(at-1) + 1
}

// read calls look for each way to read b, with what may be found there.
func (r *Redactor) read(b []byte, look func(*view, *finder)) {
	plain := &view{text: b}
	look(plain, r.plain)
	if bytes.IndexByte(b, '\n') < 0 {
		look(plain, r.base64)
	} else {
		look(decode(b, false, "\n", unwrap), r.base64)
	}
	if bytes.IndexByte(b, '%') >= 0 {
		v := decode(b, true, "%", percent)
		look(v, r.plain)
		look(v, r.base64)
	}
	if r.spaces && bytes.IndexByte(b, '+') >= 0 {
		look(decode(b, true, "%+", percent), r.plain)
	}
	if bytes.IndexByte(b, '\\') >= 0 {
		look(decode(b, true, `\`, escape), r.plain)
		look(decode(b, true, "\\\n", func(out, in []byte) ([]byte, int) {
			if in[0] == '\n' {
				return unwrap(out, in)
			}
			line, n := escape(out, in)
			if end := len(line) - 1; n == 2 && (line[end] == '\n' || line[end] == '\r') {
				return line[:end], n
			}
			return line, n
		}), r.base64)
	}
}

// decode reads b with step, which is called where one of the special characters
// stands: it appends what stands there and says how many bytes that takes.
func decode(b []byte, wide bool, special string, step func(out, in []byte) ([]byte, int)) *view {
	v := &view{text: make([]byte, 0, len(b)), wide: wide}
	next := func(in []byte) int { return bytes.IndexByte(in, special[0]) }
	if len(special) > 1 {
		next = func(in []byte) int { return bytes.IndexAny(in, special) }
	}
	for at := 0; at < len(b); {
		i := next(b[at:])
		if i < 0 {
			v.text = append(v.text, b[at:]...)
			break
		}
		v.text = append(v.text, b[at:at+i]...)
		at += i
		var n int
		v.text, n = step(v.text, b[at:])
		at += n
		if ahead := at - len(v.text); len(v.gaps) == 0 && ahead > 0 || len(v.gaps) > 0 && v.gaps[len(v.gaps)-1].ahead != ahead {
			v.gaps = append(v.gaps, gap{len(v.text), ahead})
		}
	}
	return v
}

// unwrap leaves out the end of a line, and what a listing puts before the next one:
// spaces, or a number and a tab.
func unwrap(out, in []byte) ([]byte, int) {
	blank := func(at int) int {
		for at < len(in) && (in[at] == ' ' || in[at] == '\t') {
			at++
		}
		return at
	}
	n := blank(1)
	digit := n
	for digit < len(in) && in[digit] >= '0' && in[digit] <= '9' {
		digit++
	}
	if digit > n && digit < len(in) && in[digit] == '\t' {
		n = blank(digit)
	}
	return bytes.TrimSuffix(out, []byte("\r")), n
}

// percent reads a byte of a URL.
func percent(out, in []byte) ([]byte, int) {
	if in[0] == '+' {
		return append(out, ' '), 1
	}
	if c, ok := hexadecimal(in[1:], 2); ok {
		return append(out, byte(c)), 3
	}
	return append(out, '%'), 1
}

// escapes are those of JSON that stand for one character.
const (
	escapes    = `"\/bfnrt`
	characters = "\"\\/\b\f\n\r\t"
)

// escape reads a character of a JSON string.
func escape(out, in []byte) ([]byte, int) {
	if len(in) < 2 {
		return append(out, '\\'), 1
	}
	if i := strings.IndexByte(escapes, in[1]); i >= 0 {
		return append(out, characters[i]), 2
	}
	c, ok := hexadecimal(in[2:], 4)
	if in[1] != 'u' || !ok {
		return append(out, '\\'), 1
	}
	if utf16.IsSurrogate(c) && len(in) > 8 && in[6] == '\\' && in[7] == 'u' {
		if low, ok := hexadecimal(in[8:], 4); ok {
			return utf8.AppendRune(out, utf16.DecodeRune(c, low)), 12
		}
	}
	return utf8.AppendRune(out, c), 6
}

// hexadecimal reads n digits.
func hexadecimal(in []byte, n int) (rune, bool) {
	if len(in) < n {
		return 0, false
	}
	var c rune
	for _, d := range in[:n] {
		i := strings.IndexByte("0123456789abcdef0123456789ABCDEF", d)
		if i < 0 {
			return 0, false
		}
		c = c<<4 | rune(i&15)
	}
	return c, true
}
