package patch

import (
	"strconv"
	"strings"
)

// header reads a line that starts with @@: the numbers of a unified diff, or an
// anchor.
func (h *Hunk) header(line string) (after int, ranged bool) {
	text := strings.TrimRight(strings.TrimPrefix(line, "@@"), " \t\r")
	if at, old, n, ok := numbers(text); ok {
		h.At, h.Old = at, old
		return n, true
	}
	if a := strings.TrimRight(strings.TrimSuffix(text, "@@"), " \t"); strings.Trim(a, ". \t") == "" {
		text = a // "@@ @@" and "@@ ... @@" say nothing
	}
	text = strings.TrimPrefix(text, " ")
	if strings.Trim(text, ". \t") != "" {
		h.Anchors = append(h.Anchors, text)
	}
	return 0, false
}

// numbers reads " -1,2 +3,4 @@ heading". What stands behind is for people: git cuts
// it, and takes it from the old file.
func numbers(text string) (at, old, after int, ok bool) {
	ranges, _, ok := strings.Cut(text, "@@")
	if !ok {
		return 0, 0, 0, false
	}
	parts := strings.Fields(ranges)
	if len(parts) != 2 {
		return 0, 0, 0, false
	}
	at, old, ok1 := span(parts[0], "-")
	_, after, ok2 := span(parts[1], "+")
	return at, old, after, ok1 && ok2
}

// maxNumber is more lines than any file has that is read whole.
const maxNumber = 1 << 30

// span reads -1,2 or -1, which is -1,1.
func span(s, sign string) (at, n int, ok bool) {
	s, ok = strings.CutPrefix(s, sign)
	if !ok || s == "" || strings.ContainsAny(s, "+-") {
		return 0, 0, false
	}
	first, second, two := strings.Cut(s, ",")
	at, err := strconv.Atoi(first)
	if err != nil || at > maxNumber {
		return 0, 0, false
	}
	if !two {
		return at, 1, true
	}
	n, err = strconv.Atoi(second)
	return at, n, err == nil && n <= maxNumber
}

// take adds a line to the hunk. It reports whether it is a line of a hunk at all.
func (h *Hunk) take(line string) bool {
	kind, text := byte(' '), line
	switch {
	case line == "" || line == "\r": // an editor took the blank of an empty line
	case line[0] == '\\':
		if len(h.Lines) == 0 {
			return false
		}
		h.Lines[len(h.Lines)-1].Cut = true
		return true
	case line[0] == ' ', line[0] == '+', line[0] == '-':
		kind, text = line[0], line[1:]
	case line[0] == '\t': // the blank in front of a line of context was forgotten
	default:
		return false
	}
	h.Lines = append(h.Lines, Line{Kind: kind, Text: text})
	return true
}

// blanks counts the empty lines at the end of the hunk that have no mark of their
// own: they may only stand between it and what follows.
func (r *reader) blanks(h *Hunk) {
	for n := len(h.Lines); h.Blank < n && r.peek(-1-h.Blank) == ""; {
		h.Blank++
	}
}

// headers reads the lines with @@ above a hunk.
func (r *reader) headers(h *Hunk) (after int, ranged bool) {
	h.Line, h.At = r.number(), -1
	for strings.HasPrefix(r.peek(0), "@@") && !ranged {
		after, ranged = h.header(r.peek(0))
		r.at++
	}
	return after, ranged
}
