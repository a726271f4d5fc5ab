package sheet

import (
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/kxtools/kx/internal/base/term"
)

const (
	// maxCompared and maxComparedLines are the most that is compared: more takes
	// longer than a second.
	maxCompared      = 8 << 20
	maxComparedLines = 500_000 // of both files
	// noEnd is what a diff says of a text whose last line has no end.
	noEnd = `\ No newline at end of file`
)

// diff compares two texts, as diff -u does.
func (w *world) diff(before, after string) []Line {
	if gone, come := count(before), count(after); len(before) > maxCompared || len(after) > maxCompared || gone+come > maxComparedLines {
		list := []Line{line(warning, "replaced as a whole, too large to be compared: %d lines out, %d lines in", gone, come)}
		return append(list, w.all('+', after, true)...)
	}
	var list []Line
	if crlf(before) && crlf(after) {
		list = append(list, line(remark, "(all lines end in CR LF)"))
		before, after = strings.ReplaceAll(before, "\r\n", "\n"), strings.ReplaceAll(after, "\r\n", "\n")
	}
	const header = 3 // "diff", "---" and "+++" name the two
	parts := strings.SplitAfterN(string(diff.Diff("a", []byte(before), "b", []byte(after))), "\n", header+1)
	if len(parts) <= header {
		return list
	}
	rows := strings.Split(strings.TrimSuffix(parts[header], "\n"), "\n")
	alike := lookAlike(rows)
	marked := false
	for i, row := range rows {
		l := w.raw(row)
		if alike[i] {
			l.Text = row[:1] + term.Line(row[1:])
		}
		marked = marked || strings.ContainsAny(l.Text, space+tabs) && !strings.ContainsAny(row, space+tabs)
		list = append(list, l)
	}
	if marked {
		list = append(list, line(remark, "(%s and %s at the end of a line are a space and a tab)", space, tabs))
	}
	return list
}

// crlf reports whether all lines of a text end in CR LF.
func crlf(s string) bool {
	n := strings.Count(s, "\r\n")
	return n > 0 && n == strings.Count(s, "\n")
}

// lookAlike finds changed lines that would be shown as they were before, for they
// differ in tabs and spaces only.
func lookAlike(rows []string) map[int]bool {
	alike := map[int]bool{}
	out := map[string]int{} // the lines that go, since the last one that stays
	for i, row := range rows {
		switch {
		case row == "":
		case row[0] == '-':
			out[text(row[1:])] = i
		case row[0] == '+':
			if j, ok := out[text(row[1:])]; ok && rows[j][1:] != row[1:] {
				alike[i], alike[j] = true, true
			}
		case row[0] != '\\' && len(out) > 0:
			clear(out)
		}
	}
	return alike
}

// The marks for white space that nobody sees.
const (
	space = "·"
	tabs  = "→"
)

// edge is a line of a diff; at the end of an added one, white space is marked.
func (w *world) edge(row string) string {
	body := strings.TrimRight(row, " \t\r")
	if row[0] != '+' || len(body) == len(row) || body == "" {
		return w.cut(row)
	}
	end := strings.NewReplacer(" ", space, "\t", tabs, "\r", `\r`).Replace(row[len(body):])
	return w.cut(body) + end
}

// all shows a text of which every line comes or goes; a file says how it ends.
func (w *world) all(sign byte, s string, file bool) []Line {
	if s == "" {
		return []Line{line(remark, "(empty)")}
	}
	var list []Line
	if crlf(s) {
		list = append(list, line(remark, "(all lines end in CR LF)"))
		s = strings.ReplaceAll(s, "\r\n", "\n")
	}
	for row := range strings.Lines(s) {
		list = append(list, w.raw(string(sign)+strings.TrimSuffix(row, "\n")))
	}
	if file && !strings.HasSuffix(s, "\n") {
		list = append(list, Line{Text: noEnd, Style: remark})
	}
	return list
}

// count is how many lines a text has.
func count(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}

// changes counts, for one line about a change.
func changes(added, removed int) string { return fmt.Sprintf("+%d -%d", added, removed) }
