// Package hunk puts the hunks of a patch into the text of a file.
//
// A hunk goes where its lines are. Where the file is not quite what the patch says
// (moved lines, other white space) it goes to the one place that fits and a note
// says so; with two such places, or none, nothing is changed. Lines that the patch
// does not change keep their bytes, and new ones get the line ends of the file.
//
// internal/tools/file calls it.
package hunk

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kxtools/kx/pkg/policy/patch"
)

// Mismatch says why a hunk has no place. What stands in the file is apart from the
// rest: not everybody may see it.
type Mismatch struct {
	Hunk   int    // from 1
	Line   int    // of the patch
	Why    string // without the text of the file
	Places []int  // the lines of the file where it would fit, if they are several
	Near   int    // the line of the file where the nearest place differs, 0 if none is near
	Want   string // that line, as the patch has it; where none is near, its first one
	Have   string // and as it is
	Ended  bool   // the file ends before that line
}

func (m *Mismatch) Error() string {
	return fmt.Sprintf("hunk %d (line %d of the patch): %s", m.Hunk, m.Line, m.Why)
}

// New returns the content of a new file.
func New(ctx context.Context, hunks []patch.Hunk) ([]byte, error) {
	for i, h := range hunks {
		if slices.ContainsFunc(h.Lines, func(l patch.Line) bool { return l.Kind != '+' }) {
			return nil, &Mismatch{Hunk: i + 1, Line: h.Line, Why: "the file is new, but not all lines start with +"}
		}
	}
	var notes []string // a new file has nothing to be found in
	return Apply(ctx, nil, hunks, &notes)
}

// Apply returns the content with the hunks in it. Notes get what was not as the
// patch says.
func Apply(ctx context.Context, before []byte, hunks []patch.Hunk, notes *[]string) ([]byte, error) {
	d := newDoc(ctx, before)
	for i := range hunks {
		h := &hunks[i]
		at, err := d.locate(h)
		if err == nil {
			err = d.enter(h, at)
		}
		if m, ok := err.(*Mismatch); ok {
			m.Hunk, m.Line = i+1, h.Line
		}
		if err != nil {
			return nil, err
		}
		if at.note != "" {
			*notes = append(*notes, fmt.Sprintf("hunk %d %s", i+1, at.note))
		}
	}
	after, err := d.text()
	if m, ok := err.(*Mismatch); ok {
		m.Hunk, m.Line = len(hunks), hunks[len(hunks)-1].Line
	}
	return after, err
}

// spot is the place of a hunk.
type spot struct {
	start   int  // the index of its first line
	drop    int  // empty lines at its end that are no part of it
	literal bool // its line ends are those of the file
	note    string
}

// added is a new line.
type added struct {
	text string
	cr   bool // the file has CRLF there
	cut  bool // the file ends behind it without a line end
	ends bool // its hunk says how the file ends
}

// enter marks what a hunk takes from the file and what it puts in.
func (d *doc) enter(h *patch.Hunk, at spot) error {
	lines := h.Lines[:len(h.Lines)-at.drop]
	ends := slices.ContainsFunc(lines, func(l patch.Line) bool { return l.Cut })
	marked := func(kind byte) bool {
		return slices.ContainsFunc(lines, func(l patch.Line) bool { return l.Kind == kind && strings.HasPrefix(l.Text, bom) })
	}
	if d.bom && marked('-') && !marked('+') {
		d.noBOM = true
	}
	foreign := literalEnds(lines) && !at.literal
	first, last, i := -1, -1, at.start
	for _, l := range lines {
		if l.Kind != ' ' {
			if first < 0 {
				first = i
			}
			last = i
		}
		switch l.Kind {
		case '+':
			text := l.Text
			if d.bom {
				text = strings.TrimPrefix(text, bom)
			}
			if foreign {
				text = strings.TrimSuffix(text, "\r")
			}
			cr := !at.literal && !strings.HasSuffix(text, "\r") && d.crlfAt(i)
			d.put[i] = append(d.put[i], added{text, cr, l.Cut, ends})
		case '-':
			d.gone[i] = true
			i++
			last = i
		default:
			i++
		}
	}
	if first >= 0 {
		d.taken = append(d.taken, [2]int{first, last})
		d.cursor = last
	}
	return nil
}

// literalEnds reports whether the hunk itself shows which lines end with CRLF.
func literalEnds(lines []patch.Line) bool {
	return slices.ContainsFunc(lines, func(l patch.Line) bool { return l.Kind != '+' && strings.HasSuffix(l.Text, "\r") })
}

// text puts the file together.
func (d *doc) text() ([]byte, error) {
	var b strings.Builder
	// Whether the last line has its end, whether there is a line, and whether the
	// line end of the last one is ours.
	end, open, cr := d.end, false, false
	emit := func(line string) {
		if open {
			b.WriteByte('\n')
		}
		b.WriteString(line)
		open = true
	}
	stop := false // a line that ends the file was met
	more := &Mismatch{Why: "it says that the file ends without a line end, but more lines follow"}
	for i := range len(d.lines) + 1 {
		for _, n := range d.put[i] {
			if stop {
				return nil, more
			}
			if end = d.end; n.ends {
				end, stop = !n.cut, n.cut
			}
			line := n.text
			end = end || line == "" // without an end it would be no line
			if cr = n.cr; cr {
				line += "\r"
			}
			emit(line)
		}
		if i == len(d.lines) || d.gone[i] {
			continue
		}
		if stop {
			return nil, more
		}
		line := d.lines[i]
		if end, cr = true, false; i == len(d.lines)-1 {
			end = d.end
			if !end && d.crlf && len(d.put[i+1]) > 0 && !strings.HasSuffix(line, "\r") {
				line += "\r"
			}
		}
		emit(line)
	}
	out := b.String()
	switch {
	case open && end:
		out += "\n"
	case cr:
		out = strings.TrimSuffix(out, "\r")
	}
	if d.bom && !d.noBOM && open {
		out = bom + out
	}
	return []byte(out), nil
}
