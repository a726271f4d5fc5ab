package position

import "sort"

// every is how far the marks of a line are from each other, in bytes. A line of a program
// that was made smaller is all of it, and has as many places as that has names.
const every = 1 << 10

// mark is a place of a line that need not be counted from its start.
type mark struct{ at, runes, utf16, utf8 int }

func (m mark) units(e Encoding) int {
	switch e {
	case UTF8:
		return m.utf8
	case UTF32:
		return m.runes
	}
	return m.utf16
}

// add appends a line.
func (t *Text) add(l line) {
	if !l.ascii && l.end-l.start > every {
		var list []mark
		var m mark
		next := every
		for i, r := range t.text[l.start:l.end] {
			if m.at = i; i >= next {
				list, next = append(list, m), i+every
			}
			m.runes, m.utf16, m.utf8 = m.runes+1, m.utf16+UTF16.units(r), m.utf8+UTF8.units(r)
		}
		t.marks[len(t.lines)] = list
	}
	t.lines = append(t.lines, l)
}

// before returns the last mark of a line that is not past a place, its start if there is
// none.
func (t *Text) before(n int, ok func(mark) bool) mark {
	list := t.marks[n]
	if i := sort.Search(len(list), func(i int) bool { return !ok(list[i]) }); i > 0 {
		return list[i-1]
	}
	return mark{}
}
