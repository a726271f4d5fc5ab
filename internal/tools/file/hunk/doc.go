package hunk

import (
	"context"
	"strings"

	"github.com/kxtools/kx/pkg/policy/patch"
)

// bom is the byte order mark of UTF-8. It is no part of the first line.
const bom = "\xef\xbb\xbf"

// doc is a file on its way from before to after.
type doc struct {
	ctx   context.Context
	lines []string // without \n; a \r is still there
	end   bool     // the last line has its \n
	bom   bool
	crlf  bool // most lines end with CRLF

	gone   []bool          // lines that are taken out
	put    map[int][]added // lines that are put in, in front of the line of that index
	taken  [][2]int        // what hunks have changed: from, and up to without it
	cursor int             // behind the last of those
	shift  int             // how far the last hunk was from where it says
	noBOM  bool            // the mark is taken out
	forms  [levels][]string
	steps  int
}

func newDoc(ctx context.Context, before []byte) *doc {
	d := &doc{ctx: ctx, end: true, put: map[int][]added{}}
	text, marked := strings.CutPrefix(string(before), bom)
	d.bom = marked
	if text != "" {
		text, d.end = strings.CutSuffix(text, "\n")
		d.lines = strings.Split(text, "\n")
	}
	n := 0
	for _, l := range d.lines {
		if strings.HasSuffix(l, "\r") {
			n++
		}
	}
	d.crlf = 2*n > len(d.lines) || n > 0 && !d.end && 2*n == len(d.lines)
	d.gone = make([]bool, len(d.lines))
	return d
}

// crlfAt reports whether a new line in front of the line i ends with CRLF: as the
// line beside it does.
func (d *doc) crlfAt(i int) bool {
	for _, beside := range []int{i - 1, i} {
		if beside >= 0 && beside < len(d.lines) && (beside < len(d.lines)-1 || d.end) {
			return strings.HasSuffix(d.lines[beside], "\r")
		}
	}
	return d.crlf
}

// The ways in which a line of a patch may be that of a file.
const (
	asRead = iota // byte for byte; the line end does not count where the patch has none
	noTail        // but for white space at its end
	noSpace
	plain // and but for typographic signs
	levels
)

// differs says in a note what a level lets differ.
var differs = [levels]string{"", "white space at the end of lines", "white space", "typographic signs"}

// form is a line as a level compares it.
func form(level int, s string) string {
	switch level {
	case noTail:
		return strings.TrimRight(s, " \t\r")
	case noSpace:
		return strings.TrimSpace(s)
	case plain:
		return strings.TrimSpace(signs.Replace(s))
	}
	return strings.TrimSuffix(s, "\r")
}

// signs are what a model writes for what is on the keyboard, and the other way round.
var signs = strings.NewReplacer(
	"\u2010", "-", "\u2011", "-", "\u2012", "-", "\u2013", "-", "\u2014", "-", "\u2015", "-", "\u2212", "-",
	"\u2018", "'", "\u2019", "'", "\u201a", "'", "\u201b", "'",
	"\u201c", `"`, "\u201d", `"`, "\u201e", `"`, "\u201f", `"`,
	"\u00a0", " ", "\u2002", " ", "\u2003", " ", "\u2009", " ", "\u202f", " ", "\u3000", " ",
)

// all returns the lines of the file in the form of a level.
func (d *doc) all(level int) []string {
	if d.forms[level] == nil {
		d.forms[level] = make([]string, len(d.lines))
		for i, l := range d.lines {
			d.forms[level][i] = form(level, l)
		}
	}
	return d.forms[level]
}

// ctxEvery is how many comparisons are made between two looks at the context.
const ctxEvery = 1 << 16

func (d *doc) step() error {
	if d.steps++; d.steps%ctxEvery == 0 {
		return d.ctx.Err()
	}
	return nil
}

// find returns where the lines of a pattern stand. Literal compares line ends too.
func (d *doc) find(pattern []string, level int, literal bool) ([]int, error) {
	lines := d.lines
	if level != asRead || !literal {
		lines = d.all(level)
		forms := make([]string, len(pattern))
		for i, p := range pattern {
			forms[i] = form(level, p)
		}
		pattern = forms
	}
	var found []int
	for at := 0; at+len(pattern) <= len(lines); at++ {
		fits := true
		for i, p := range pattern {
			if err := d.step(); err != nil {
				return nil, err
			}
			if lines[at+i] != p {
				fits = false
				break
			}
		}
		if fits {
			found = append(found, at)
		}
	}
	return found, nil
}

// side returns the lines of a hunk before or after it, less empty ones at its end.
func (d *doc) side(h *patch.Hunk, drop int, but byte) []string {
	var lines []string
	for _, l := range h.Lines[:len(h.Lines)-drop] {
		if l.Kind == but {
			continue
		}
		text := l.Text
		if d.bom {
			text = strings.TrimPrefix(text, bom)
		}
		lines = append(lines, text)
	}
	return lines
}
