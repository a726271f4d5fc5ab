// Package shelf keeps the sheets that the screen of kx approve has read, laid out for
// its width.
//
// Invariant: no more than maxSheets are kept; those that were used last.
package shelf

import (
	"strings"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/approve/live/cell"
	"github.com/kxtools/kx/internal/cmd/approve/sheet"
	"github.com/kxtools/kx/pkg/wire"
)

// maxSheets are those around the cursor, and a few that somebody may go back to. One
// may have thousands of lines.
const maxSheets = 16

// Shelf has sheets by the id of their request.
type Shelf map[string]*read

type read struct {
	a     *wire.Approval
	sheet *sheet.Sheet // nil while it is being read
	turn  int          // counts up: the smallest was used the longest ago
	rows  []cell.Row
	width int
}

// Of returns the sheet of a request, nil if there is none yet.
func (s Shelf) Of(id string) *sheet.Sheet {
	if r := s[id]; r != nil {
		return r.sheet
	}
	return nil
}

// Request is what a sheet was read of, in full: the host cuts what is too long for its
// socket.
func (s Shelf) Request(id string) *wire.Approval { return s[id].a }

// Drop forgets a sheet.
func (s Shelf) Drop(id string) { delete(s, id) }

// Put keeps what was read, unless nobody waits for it any more.
func (s Shelf) Put(a *wire.Approval, sh *sheet.Sheet) {
	if r := s[a.ID]; r != nil {
		r.a, r.sheet, r.rows = a, sh, nil
	}
}

// Want makes room for a request and reports whether it is to be read.
func (s Shelf) Want(id string) bool {
	oldest, last := "", 0
	for k, r := range s {
		last = max(last, r.turn)
		if oldest == "" || r.turn < s[oldest].turn {
			oldest = k
		}
	}
	if r := s[id]; r != nil {
		r.turn = last + 1
		return false
	}
	if len(s) >= maxSheets {
		delete(s, oldest)
	}
	s[id] = &read{turn: last + 1}
	return true
}

// Rows are the lines of a sheet at a width, nil if there is none yet.
func (s Shelf) Rows(id string, width int) []cell.Row {
	r := s[id]
	if r == nil || r.sheet == nil {
		return nil
	}
	if r.rows == nil || r.width != width {
		r.rows, r.width = Layout(r.sheet.Parts, width), width
	}
	return r.rows
}

// margin stands before the lines of a named part.
const margin = 2

// Layout wraps parts of a sheet to a width.
func Layout(parts []sheet.Part, width int) []cell.Row {
	var rows []cell.Row
	for _, p := range parts {
		indent := ""
		if p.Name != "" {
			if len(rows) > 0 {
				rows = append(rows, nil)
			}
			for _, line := range cell.Wrap(p.Name, width, margin) {
				rows = append(rows, cell.Row{{Text: line, Style: out.Bold}})
			}
			indent = strings.Repeat(" ", margin)
		}
		for _, l := range p.Lines {
			for _, line := range cell.Wrap(l.Text, width-len(indent), l.Hang) {
				rows = append(rows, cell.Row{{Text: indent}, {Text: line, Style: l.Style}})
			}
		}
	}
	return rows
}
