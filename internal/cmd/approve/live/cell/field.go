package cell

import (
	"strings"

	"github.com/kxtools/kx/internal/base/term"
)

// maxField is the longest text that is typed: a note and an answer are read by a
// model, and a host refuses more.
const maxField = 8 << 10

// Field is a line that is being typed.
type Field struct {
	text []string // its characters
	at   int      // how many of them are before the cursor
}

func (f *Field) String() string { return strings.Join(f.text, "") }

// Insert puts text at the cursor. Line ends become spaces, what steers a terminal
// becomes visible.
func (f *Field) Insert(s string) {
	s = term.Line(strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' || r == '\t' }), " "))
	if len(f.String())+len(s) > maxField {
		return
	}
	var list []string
	Each(s, func(g string, _ int) { list = append(list, g) })
	f.text = append(f.text[:f.at:f.at], append(list, f.text[f.at:]...)...)
	f.at += len(list)
}

// Edit does what a key does to a line; false if it does nothing.
func (f *Field) Edit(name string) bool {
	cut := func(from, to int) {
		f.text = append(f.text[:from:from], f.text[to:]...)
		f.at = from
	}
	word := f.at // where the word before the cursor begins
	for word > 0 && f.text[word-1] == " " {
		word--
	}
	for word > 0 && f.text[word-1] != " " {
		word--
	}
	switch name {
	case "left", "ctrl+b":
		f.at = max(0, f.at-1)
	case "right", "ctrl+f":
		f.at = min(len(f.text), f.at+1)
	case "home", "ctrl+a":
		f.at = 0
	case "end", "ctrl+e":
		f.at = len(f.text)
	case "backspace", "ctrl+h":
		cut(max(0, f.at-1), f.at)
	case "delete", "ctrl+d":
		cut(f.at, min(len(f.text), f.at+1))
	case "ctrl+w", "alt+backspace":
		cut(word, f.at)
	case "ctrl+u":
		cut(0, f.at)
	case "ctrl+k":
		cut(f.at, len(f.text))
	default:
		return false
	}
	return true
}

// Window is the part of a line around its cursor that fits, and where the cursor is.
func (f *Field) Window(width int) (text string, x int) {
	from := f.at
	for x = 0; from > 0; from-- { // to the left of the cursor, one cell free for it
		w := Width(f.text[from-1])
		if x+w > width-1 {
			break
		}
		x += w
	}
	return strings.Join(f.text[from:], ""), x
}
