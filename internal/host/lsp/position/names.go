package position

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Names returns the columns at which a name stands in a line and is not part of a
// longer identifier.
func Names(line, name string) []int {
	if name == "" || !utf8.ValidString(name) {
		return nil
	}
	first, _ := utf8.DecodeRuneInString(name)
	last, _ := utf8.DecodeLastRuneInString(name)
	var columns []int
	column := 1 // of from
	for from := 0; ; {
		i := strings.Index(line[from:], name)
		if i < 0 {
			return columns
		}
		at, end := from+i, from+i+len(name)
		column += utf8.RuneCountInString(line[from:at])
		before, _ := utf8.DecodeLastRuneInString(line[:at])
		after, _ := utf8.DecodeRuneInString(line[end:])
		if !(within(before) && within(first)) && !(within(last) && within(after)) {
			columns = append(columns, column)
		}
		_, size := utf8.DecodeRuneInString(line[at:])
		from, column = at+size, column+1
	}
}

// Identifier returns the identifier at a column of a line, or the one that ends just
// before it, as servers take a cursor behind a name.
func Identifier(line string, column int) (name string, ok bool) {
	if column < 1 {
		return "", false
	}
	at := len(line)
	for i := range line {
		if column--; column == 0 {
			at = i
			break
		}
	}
	if column > 1 {
		return "", false // past the end
	}
	start, end := at, at
	for start > 0 {
		r, size := utf8.DecodeLastRuneInString(line[:start])
		if !within(r) {
			break
		}
		start -= size
	}
	for end < len(line) {
		r, size := utf8.DecodeRuneInString(line[end:])
		if !within(r) {
			break
		}
		end += size
	}
	name = line[start:end]
	first, _ := utf8.DecodeRuneInString(name)
	return name, name != "" && !unicode.IsDigit(first)
}

// within reports whether a rune can be part of an identifier in one of the languages:
// marks are in the names of Python and JavaScript.
func within(r rune) bool {
	return r != utf8.RuneError && (r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}
