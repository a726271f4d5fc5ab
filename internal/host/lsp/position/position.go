// Package position turns what people call a place of a text (line and column from 1,
// columns in characters) into what language servers call it (from 0, columns in
// units of an encoding), and back. It is pure.
//
// A character is a code point: a tab, a combining mark and a byte order mark at the
// start are one each, as servers count them. A byte that is not UTF-8 is one, too:
// it reaches a server as U+FFFD. Lines end at \n, \r\n and a lone \r, as the protocol
// has it.
package position

import (
	"fmt"
	"unicode/utf8"

	"github.com/sourcegraph/go-lsp"
)

// Encoding is the unit in which a server counts columns.
type Encoding string

// The encodings of the protocol; a server that names none counts in UTF-16.
const (
	UTF8  Encoding = "utf-8"
	UTF16 Encoding = "utf-16"
	UTF32 Encoding = "utf-32"
)

// units is how many units a character has.
func (e Encoding) units(r rune) int {
	switch {
	case e == UTF8:
		return utf8.RuneLen(r)
	case e != UTF32 && r > 0xffff:
		return 2
	}
	return 1
}

// Text is a text whose lines are known. It doesn't change.
type Text struct {
	text  string
	lines []line
	marks map[int][]mark // of long lines that are not ASCII, by index
}

// line is where one begins and ends, without its line end.
type line struct {
	start, end int
	ascii      bool // bytes, characters and units are the same
}

// New finds the lines of a text.
func New(content []byte) *Text {
	t := &Text{text: string(content), marks: map[int][]mark{}}
	l := line{ascii: true}
	for i := 0; i < len(t.text); i++ {
		switch c := t.text[i]; {
		case c == '\n' || c == '\r':
			l.end = i
			t.add(l)
			if c == '\r' && i+1 < len(t.text) && t.text[i+1] == '\n' {
				i++
			}
			l = line{start: i + 1, ascii: true}
		case c >= utf8.RuneSelf:
			l.ascii = false
		}
	}
	l.end = len(t.text)
	t.add(l)
	return t
}

// Lines is how many there are. A text that ends in a line end has an empty last
// line, and an empty text has one line.
func (t *Text) Lines() int { return len(t.lines) }

// Line is a line, counted from 1, without its end; "" if there is none.
func (t *Text) Line(n int) string {
	if n < 1 || n > len(t.lines) {
		return ""
	}
	return t.text[t.lines[n-1].start:t.lines[n-1].end]
}

// ToLSP is what a server calls a place. A column past the end of its line is the
// end; a line that the text doesn't have is an error, as servers differ in what they
// make of it.
func (t *Text) ToLSP(line, column int, enc Encoding) (lsp.Position, error) {
	switch {
	case line < 1 || column < 1:
		return lsp.Position{}, fmt.Errorf("line %d, column %d: lines and columns begin at 1", line, column)
	case line > len(t.lines):
		return lsp.Position{}, fmt.Errorf("line %d is past the end: the file has %d", line, len(t.lines))
	}
	at := lsp.Position{Line: line - 1}
	if l := t.lines[line-1]; l.ascii {
		at.Character = min(column-1, l.end-l.start)
		return at, nil
	}
	m := t.before(line-1, func(m mark) bool { return m.runes < column })
	at.Character, column = m.units(enc), column-m.runes
	for _, r := range t.Line(line)[m.at:] {
		if column--; column == 0 {
			break
		}
		at.Character += enc.units(r)
	}
	return at, nil
}

// FromLSP is the place that a server means. A place before or past the text is its
// start or end, one past a line the end of that line, one inside a character its
// start.
func (t *Text) FromLSP(p lsp.Position, enc Encoding) (line, column int) {
	n, offset, _ := t.find(p, enc)
	l := t.lines[n]
	if l.ascii {
		return n + 1, offset - l.start + 1
	}
	m := t.before(n, func(m mark) bool { return l.start+m.at <= offset })
	return n + 1, m.runes + utf8.RuneCountInString(t.text[l.start+m.at:offset]) + 1
}

// Byte is the byte of a place that the text must have: where something is changed, a
// place that it doesn't have was meant for another text. The line after the last is its
// end: that is how servers name the end of a last line that has no line end.
func (t *Text) Byte(p lsp.Position, enc Encoding) (int, error) {
	if p.Line == len(t.lines) && p.Character == 0 {
		return len(t.text), nil
	}
	_, offset, ok := t.find(p, enc)
	if !ok {
		return 0, fmt.Errorf("line %d, unit %d is no place of the text", p.Line+1, p.Character)
	}
	return offset, nil
}

// find returns the index of the line and the offset of a place, and whether the text
// has exactly that place: a column past the end of a line still counts, as the
// protocol has it.
func (t *Text) find(p lsp.Position, enc Encoding) (n, offset int, exact bool) {
	switch {
	case p.Line < 0:
		return 0, 0, false
	case p.Line >= len(t.lines):
		last := len(t.lines) - 1
		return last, t.lines[last].end, false
	}
	l := t.lines[p.Line]
	switch {
	case p.Character < 0:
		return p.Line, l.start, false
	case l.ascii:
		return p.Line, l.start + min(p.Character, l.end-l.start), true
	}
	m := t.before(p.Line, func(m mark) bool { return m.units(enc) <= p.Character })
	units, start := m.units(enc), l.start+m.at
	for i, r := range t.text[start:l.end] {
		if units >= p.Character {
			return p.Line, start + i, true
		}
		if units += enc.units(r); units > p.Character {
			return p.Line, start + i, false
		}
	}
	return p.Line, l.end, true
}
